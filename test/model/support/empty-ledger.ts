import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedger } from "../../../src/ledger/open-ledger.ts";

let made: Promise<string> | undefined;

/** The file of an empty ledger. Copying it is faster than creating one. */
export function emptyLedger(): Promise<string> {
  made ??= make();
  return made;
}

async function make(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "draftsync-model-"));
  mkdirSync(folder, { recursive: true });
  const location = join(folder, "empty.db");
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  await (await openLedger({ location, clock })).close();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return location;
}
