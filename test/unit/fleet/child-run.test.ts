import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ChildRun, runChild } from "../../../src/fleet/child-run.ts";
import { freshFolder } from "../ledger/samples.ts";

/** Runs `code` as a child. */
async function runOf(code: string, given: Partial<ChildRun> = {}) {
  const main = join(freshFolder(), "main.mjs");
  await writeFile(main, code);
  const usual = { config: "draftsync.yaml", env: {}, memoryMb: 64, deadlineMs: 60_000 };
  return runChild({ main, ...usual, signal: new AbortController().signal, ...given });
}

test("reports a run that is aborted before it listens as interrupted, not as failed", async () => {
  const asleep = "setInterval(() => {}, 1000);";
  expect(await runOf(asleep, { signal: AbortSignal.abort() })).toMatchObject({
    status: "interrupted",
    result: null,
    error: null,
  });
});

test("reports a run that ends without a result as crashed, with its last line of output", async () => {
  const error = { code: "run-crashed", message: "Error: out of luck" };
  expect(await runOf('console.error("Error: out of luck"); process.exit(7);')).toEqual({
    status: "crashed",
    exit_code: 7,
    result: null,
    error,
  });
});
