import { writeSync } from "node:fs";
import { systemClock } from "../../../src/model/ports.ts";
import { openLedger } from "../../../src/state/open-ledger.ts";
import { attached, attachOperation, sampleRun } from "./ledger-values.ts";

/**
 * What a test starts as a process of its own: `open LOCATION` prints the lineage; `work LOCATION` begins and finishes
 * operations until it is killed, and prints what it did once the ledger has said that it is stored.
 */
const [task, location = ""] = process.argv.slice(2);
const ledger = await openLedger({ location, clock: systemClock });
if (task === "open") {
  const { lineage } = await ledger.load();
  await ledger.record([{ type: "protection", draftId: process.pid, protect: true }]);
  print(lineage);
  await ledger.close();
} else {
  await ledger.startRun(sampleRun);
  await Promise.all([1, 2, 3, 4].map(work));
}

async function work(worker: number): Promise<never> {
  for (let round = 0; ; round += 1) {
    const fileId = round * 10 + worker;
    const id = String(fileId);
    await ledger.begin(attachOperation(id, fileId));
    print(`begun ${id}`);
    await ledger.finish(id, { outcome: "done", status: 201, attempts: 1 }, [attached(fileId)]);
    print(`finished ${id}`);
  }
}

/** Past any buffer of this process: what was printed before a kill has left it. */
function print(line: string): void {
  writeSync(1, `${line}\n`);
}
