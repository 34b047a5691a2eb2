import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../../src/model/ports.ts";
import { openLedger, type StateStore } from "../../../src/state/open-ledger.ts";

/** A folder of its own for a test, gone after it. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "draftsync-ledger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens a SQLite ledger that is closed after the test. */
export async function openForTest(location: string, clock: Clock = systemClock): Promise<StateStore> {
  const ledger = await openLedger({ location, clock });
  onTestFinished(() => ledger.close());
  return ledger;
}
