import type { Reporter } from "vitest/node";

/** Prints a line for each reason for skipped tests, which `skipNote` adds to titles. */
export const skippedReporter: Reporter = {
  onTestRunEnd(modules) {
    const counts = new Map<string, number>();
    for (const module of modules)
      for (const { fullName } of module.children.allTests("skipped")) {
        const reason = /\(skipped: (.+?)\)/.exec(fullName)?.[1];
        if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    for (const [reason, count] of counts) process.stdout.write(`Skipped ${count} tests: ${reason}.\n`);
  },
};
