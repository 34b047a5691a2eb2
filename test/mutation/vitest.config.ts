import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The tests that judge the mutated files; those that start processes or servers of their own cannot see a mutant. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: ["unit/service/**/*.test.ts", "unit/apply/**/*.test.ts", "unit/state/sqlite-ledger.test.ts"],
    exclude: ["unit/service/object-storage.test.ts"],
    testTimeout: 20_000,
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
  },
});
