import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import { openLedger, type StateStore } from "../../src/ledger/open-ledger.ts";
import { type Clock, systemClock } from "../../src/model/ports.ts";
import { type ProcessTable, systemProcesses } from "../../src/model/process.ts";
import { describeLedgerJournal } from "../unit/ledger/ledger-journal-suite.ts";
import { describeLedgerLock } from "../unit/ledger/ledger-lock-suite.ts";
import { describeLedgerState } from "../unit/ledger/ledger-state-suite.ts";
import { describeLedger } from "../unit/ledger/ledger-suite.ts";
import { attached, attachOperation, hurriedClock, sampleRun } from "../unit/ledger/ledger-values.ts";
import { freshFolder, lockPlace } from "../unit/ledger/samples.ts";
import { scriptOf } from "./support/thread-script.ts";

const compiled = new URL("../../dist/ledger/sqlite/commit-worker.cjs", import.meta.url);

/** Every change goes to the thread, however small. */
async function openOnThread(
  location: string,
  {
    clock = systemClock,
    script = compiled,
    processes = systemProcesses,
  }: { readonly clock?: Clock; readonly script?: URL; readonly processes?: ProcessTable | undefined } = {},
): Promise<StateStore> {
  const ledger = await openLedger({ location, clock, processes, commitThread: { script, crowd: 1 } });
  onTestFinished(() => ledger.close());
  return ledger;
}

const name = "SQLite, committed by a thread";

async function makeOnThread() {
  const location = join(freshFolder(), "state.db");
  return { ledger: await openOnThread(location), reopen: () => openOnThread(location) };
}

describeLedger(name, makeOnThread);
describeLedgerJournal(name, makeOnThread);
describeLedgerState(name, makeOnThread);
describeLedgerLock(name, () => {
  const location = join(freshFolder(), "state.db");
  return { ...lockPlace(location), open: (processes) => openOnThread(location, { processes }) };
});

describe("a ledger that a thread commits to", () => {
  test("refuses every change once its file was removed, and makes no other", async () => {
    const location = join(freshFolder(), "state.db");
    const ledger = await openOnThread(location);
    await ledger.record([attached(1)]);
    rmSync(location);
    const refusal = { code: "ledger-replaced", hint: expect.stringContaining("backup") };
    await expect(ledger.record([attached(2)])).rejects.toMatchObject(refusal);
    const early = join(freshFolder(), "state.db");
    const other = await openOnThread(early);
    rmSync(early);
    await expect(other.record([attached(1)])).rejects.toMatchObject(refusal);
    await expect(openLedger({ location: early, clock: systemClock })).resolves.toMatchObject({ isNew: true });
  });

  test("waits for another program's lock, and refuses when it is kept for too long", async () => {
    const location = join(freshFolder(), "state.db");
    const ledger = await openOnThread(location, { clock: hurriedClock() });
    await ledger.record([attached(1)]);
    const other = new Database(location);
    onTestFinished(() => void other.close());
    other.exec("begin immediate");
    await expect(ledger.record([attached(2)])).rejects.toMatchObject({ code: "ledger-busy" });
    other.exec("rollback");
    await ledger.record([attached(3)]);
    expect((await ledger.load()).attachments.map(({ fileId }) => fileId)).toEqual([1, 3]);
  });

  test.each([
    ["cannot be started", () => new URL("http://localhost/worker.js")],
    ["cannot be found", () => new URL("missing.js", import.meta.url)],
    ["ends at once", () => scriptOf("process.exit(1);")],
  ])("is written to by the main one when its script %s", async (_name, locate) => {
    const script = locate();
    const ledger = await openOnThread(join(freshFolder(), "state.db"), { script });
    await Promise.all([ledger.record([attached(1)]), ledger.record([attached(2)])]);
    await ledger.record([attached(3)]);
    expect((await ledger.load()).attachments).toHaveLength(3);
  });

  test("does not know what became of a change that its thread ended with", async () => {
    const script = scriptOf(`
      import { parentPort } from "node:worker_threads";
      let orders = 0;
      parentPort.on("message", () => (orders++ === 0 ? parentPort.postMessage({ type: "committed" }) : process.exit(1)));`);
    const ledger = await openOnThread(join(freshFolder(), "state.db"), { script });
    await ledger.startRun(sampleRun);
    const begun = ledger.begin(attachOperation("op"));
    await expect(begun).rejects.toMatchObject({ code: "ledger-outcome-unknown" });
  });
});
