import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The tests of the mutated files themselves; what others of the suite would notice too is not counted. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: [
      "unit/service/{slow-start,journal,rate-limiter*,rate-window,redact,retry-policy}.test.ts",
      "unit/service/{failure-table*,reservations,throttling,unsent}.test.ts",
      "unit/apply/{failures,lock-lost,operation}.test.ts",
      "unit/ledger/sqlite-ledger.test.ts",
    ],
    testTimeout: 20_000,
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
  },
});
