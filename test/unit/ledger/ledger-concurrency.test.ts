import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import { openSqlite } from "../../../src/ledger/sqlite/sqlite-database.ts";
import { WorkspaceLock } from "../../../src/ledger/workspace-lock.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { systemProcesses } from "../../../src/model/process.ts";
import { lockRequest } from "./ledger-lock-suite.ts";
import { attached, attachOperation, sampleRun } from "./ledger-values.ts";
import { databases, freshFolder, openForTest } from "./samples.ts";

describe.each(databases)("$name", ({ locate }) => {
  test("creates one lineage when twelve processes open a new ledger simultaneously", async () => {
    const location = locate();
    const opened = await Promise.allSettled(
      Array.from({ length: 12 }, () => openLedger({ location, clock: systemClock })),
    );
    const ledgers = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    onTestFinished(() => Promise.all(ledgers.map((ledger) => ledger.close())).then(() => {}));
    expect(opened.filter(({ status }) => status === "rejected")).toEqual([]);
    const lineages = await Promise.all(ledgers.map(async (ledger) => (await ledger.load()).lineage));
    expect(new Set(lineages).size).toBe(1);
  });

  test("serializes conflicting writers", async () => {
    const location = locate();
    const writers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => openForTest(location)));
    const address = "drafts/7/product_files/source:a.blend";
    const rounds = Array.from({ length: 10 }, (_, round) => round);
    await Promise.all(
      writers.map(async (writer, index) => {
        for (const round of rounds) await writer.record([attached(round * 10 + index + 1, { address })]);
      }),
    );
    const { attachments, serial } = await openForTest(location).then((ledger) => ledger.load());
    expect(serial).toBe(60);
    expect(attachments).toHaveLength(60);
    expect(attachments.filter((each) => each.address === address)).toHaveLength(1);
  });

  test("returns operations with the same time sorted by id", async () => {
    const ledger = await openForTest(locate());
    await ledger.startRun(sampleRun);
    const ids = ["b", "é", "B", "a", "Z", "\u{1f600}", "\uff00"];
    // In one transaction: they have its time.
    await Promise.all(ids.map((id, index) => ledger.begin(attachOperation(id, index + 1))));
    const sorted = ["B", "Z", "a", "b", "é", "\u{1f600}", "\uff00"];
    expect((await ledger.operations()).map(({ id }) => id)).toEqual(sorted);
    expect((await ledger.load()).inDoubt.map(({ id }) => id)).toEqual(sorted);
  });
});

test("holds a lock for other stores of its process while its commit is in flight", async () => {
  const location = `${freshFolder()}/state.db`;
  const other = await openForTest(location);
  const database = await openSqlite({ location, clock: systemClock });
  onTestFinished(() => database.close());
  let states: (string | undefined)[] = [];
  const transaction = database.transaction.bind(database);
  database.transaction = async (mode, work) => {
    const result = await transaction(mode, work);
    states = [...states, (await other.heldLock())?.state];
    return result;
  };
  const lock = new WorkspaceLock(database, {
    processes: systemProcesses,
    commitNothing: async () => {},
  });
  await lock.acquire(lockRequest("ann"));
  lock.stop();
  expect(states).toEqual(["running"]);
});

test("keeps its lock from another copy of its module, such as that of a worker thread", async () => {
  const location = `${freshFolder()}/state.db`;
  const { lock } = await (await openForTest(location)).acquireLock(lockRequest("ann"));
  vi.resetModules();
  const { openLedger: openOther } = await import("../../../src/ledger/open-ledger.ts");
  const other = await openOther({ location, clock: systemClock });
  onTestFinished(() => other.close());
  await expect(other.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
  expect(await other.heldLock()).toMatchObject({ id: lock.id, state: "leased" });
});
