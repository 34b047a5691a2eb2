import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { LedgerError } from "../../../src/ledger/ledger-error.ts";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import { messageOf } from "../../../src/model/errors.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { attached, attachOperation, sampleRun } from "../../unit/ledger/ledger-values.ts";

/**
 * Runs as a separate process: `open LOCATION` prints the lineage; `work LOCATION` begins and finishes operations until it
 * is killed, and prints each step after the ledger has stored it; `hold LOCATION`
 * takes the lock for two seconds and tries one commit for each line of its input.
 */
const [task, location = ""] = process.argv.slice(2);
const ledger = await openLedger({ location, clock: systemClock });
if (task === "open") {
  const { lineage } = await ledger.load();
  await ledger.record([{ type: "protection", draftId: process.pid, protect: true }]);
  print(lineage);
  await ledger.close();
} else if (task === "hold") {
  await hold();
} else {
  await ledger.startRun(sampleRun);
  await Promise.all([1, 2, 3, 4].map(work));
}

async function hold(): Promise<void> {
  const holder = { user: "ann", host: "here", pid: process.pid, command: "apply" };
  const { lock } = await ledger.acquireLock({ holder, leaseMs: 2_000, heartbeatMs: 1_000_000_000 });
  print(`held ${lock.token}`);
  let fileId = 0;
  for await (const _line of createInterface({ input: process.stdin })) {
    fileId += 1;
    print(await ledger.record([attached(fileId)]).then(() => "committed", codeOf));
  }
  await ledger.close();
}

function codeOf(error: unknown): string {
  return error instanceof LedgerError ? error.code : messageOf(error);
}

async function work(worker: number): Promise<never> {
  for (let count = 0; ; count += 1) {
    const fileId = count * 10 + worker;
    const id = String(fileId);
    await ledger.begin(attachOperation(id, fileId));
    print(`begun ${id}`);
    await ledger.finish(id, { outcome: "done", status: 201, attempts: 1 }, [attached(fileId)]);
    print(`finished ${id}`);
  }
}

/** Writes without buffering, so that a kill loses no printed line. */
function print(line: string): void {
  writeSync(1, `${line}\n`);
}
