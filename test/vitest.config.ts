import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { memoryFolder } from "./support/memory-folder.ts";
import { skippedReporter } from "./support/skipped-reporter.ts";

// The setting of a person wins.
const temporary = process.env.TMPDIR ?? memoryFolder();
const root = fileURLToPath(new URL(".", import.meta.url));

interface Options {
  readonly seconds?: number;
  /** The tests run the compiled binary. */
  readonly compiled?: boolean;
  /** The tests have a PostgreSQL server. */
  readonly postgres?: boolean;
  /** The tests have a browser. */
  readonly chromium?: boolean;
}

function project(name: string, { seconds = 60, compiled, postgres, chromium }: Options = {}) {
  const globalSetup = [
    ...(compiled === true ? ["support/build.ts"] : []),
    ...(postgres === true ? ["support/postgres-server.ts"] : []),
    ...(chromium === true ? ["support/chromium.ts"] : []),
  ];
  return {
    test: {
      name,
      root,
      include: [`${name}/**/*.test.ts`],
      testTimeout: seconds * 1000,
      hookTimeout: seconds * 1000,
      globalSetup,
      // No test mocks a module or changes one's state, so a worker loads each once and not for every file.
      isolate: false,
    },
  };
}

/** One project a kind of test, so that `npm run check` can run the structure tests alone. */
export default defineConfig({
  test: {
    reporters: ["default", skippedReporter],
    // Much of the time goes to processes and clocks that are waited for: more workers than processors pay.
    maxWorkers: availableParallelism() + 1,
    // As the command line sets it: the versions in the lockfile run on the oldest Node that is supported.
    env: {
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
      ...(temporary === undefined ? {} : { TMPDIR: temporary }),
    },
    projects: [
      project("structure"),
      project("unit", { postgres: true }),
      project("scenarios"),
      project("golden"),
      project("model"),
      project("conformance", { seconds: 60, compiled: true }),
      project("crash", { seconds: 120, compiled: true, postgres: true }),
      project("browser", { compiled: true, chromium: true }),
      project("screenshots", { compiled: true, postgres: true, chromium: true }),
      project("e2e", { seconds: 120, compiled: true, postgres: true }),
      project("operations", { seconds: 120, compiled: true, postgres: true }),
      project("faults", { seconds: 120, compiled: true, postgres: true }),
      project("fleet", { seconds: 120, compiled: true, postgres: true }),
      project("pages", { seconds: 120, compiled: true, postgres: true }),
    ],
  },
});
