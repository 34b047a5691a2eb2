import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { RequestLogEntry } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

test("the compiled library sends calls and stores its rate reservations in the ledger", async () => {
  const arrivals: RequestLogEntry[] = [];
  const key = "canary-key-5b1d";
  const sandbox = await startSandbox({ key, log: (arrival) => void arrivals.push(arrival) });
  const folder = await makeFolder();
  try {
    const given = {
      url: sandbox.url,
      key,
      ledger: join(folder.path, "state.db"),
      rate: { limit: 100, windowMs: 100 },
      calls: 12,
    };
    const caller = join(repository, "test/support/caller.mjs");
    await promisify(execFile)(process.execPath, [caller, JSON.stringify(given)]);
    expect(arrivals.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
  } finally {
    await sandbox.close();
    await folder.dispose();
  }
});
