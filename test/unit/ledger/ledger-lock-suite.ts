import { afterEach, describe, expect, test, vi } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { LockHolder, LockRequest } from "../../../src/model/lock.ts";
import { type ProcessTable, systemProcesses } from "../../../src/model/process.ts";
import { wait } from "../../../src/model/wait.ts";
import { attached, attachOperation, sampleRun } from "./ledger-values.ts";

/** One ledger. */
export interface LockPlace {
  /** Opens the ledger as a different process each time; it is closed after the test. */
  open(processes?: ProcessTable): Promise<StateStore>;
  /** Runs a statement on the table `leases`. */
  execute(statement: string): Promise<void>;
}

/** Longer than any test, for locks without a heartbeat. */
const never = 1_000_000_000;

/** A lease of one minute for this user, without a heartbeat. */
export function lockRequest(user: string, other: Partial<LockRequest> = {}): LockRequest {
  const holder: LockHolder = { user, host: "build-7", pid: 4211, command: "apply" };
  return { holder, leaseMs: 60_000, heartbeatMs: never, ...other };
}

/** A process on a separate machine: neither it nor the others know whether the other one runs. */
export function onMachine(boot: string): ProcessTable {
  return { self: { boot, namespace: "", pid: 7, startedAt: "1" }, isAlive: () => undefined };
}

/** A process with this pid on one machine, where the processes in `dead` have ended. */
export function onThisMachine(pid: number, dead: ReadonlySet<number>): ProcessTable {
  const { boot, namespace } = systemProcesses.self;
  return {
    self: { boot, namespace, pid, startedAt: "1" },
    isAlive: (other) => (other.boot === boot ? !dead.has(other.pid) : undefined),
  };
}

/** Statements that make the row of the lock older. */
export const passing = {
  wall: (ms: number) =>
    `update leases set expires_at = expires_at - ${ms}, acquired_at = acquired_at - ${ms}`,
  all: (ms: number) =>
    `update leases set expires_at = expires_at - ${ms}, acquired_at = acquired_at - ${ms}, lease_until = lease_until - ${ms}`,
};

const lost = { name: "LedgerError", code: "lock-lost" };
const day = 86_400_000;

/** The lock of a ledger, in every database. */
export function describeLedgerLock(name: string, make: () => LockPlace): void {
  describe(`${name}: lock`, () => {
    afterEach(() => void vi.useRealTimers());

    /** Two processes on separate machines. */
    async function makeTwo() {
      const { open, execute } = make();
      const ann = await open(onMachine("ann's"));
      const bob = await open(onMachine("bob's"));
      return { ann, bob, pass: (ms: number) => execute(passing.all(ms)), open };
    }

    test("has one holder at a time, and names it", async () => {
      const { ann, bob } = await makeTwo();
      expect(await bob.heldLock()).toBeUndefined();
      const url = "https://ci.example/jobs/17";
      const request = lockRequest("ann\n\u001b[31m \u0000 😀");
      const lease = await ann.acquireLock({ ...request, holder: { ...request.holder, url } });
      const held = await bob.heldLock();
      expect(held).toMatchObject({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        token: 1,
        holder: { ...request.holder, url },
        process: onMachine("ann's").self,
        state: "leased",
      });
      expect((held?.expiresAt ?? 0) - (held?.acquiredAt ?? 0)).toBe(60_000);
      expect(lease.lock).toMatchObject({ id: held?.id, token: 1, state: "running" });
      expect(lease.tookOver).toBeUndefined();
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({
        code: "lock-held",
        lock: { id: held?.id },
        hint: expect.stringContaining(`lock release ${held?.id}`),
      });
      await expect(ann.acquireLock(lockRequest("ann"))).rejects.toMatchObject({ code: "lock-held" });
      await lease.release();
      expect(await bob.heldLock()).toBeUndefined();
      expect((await bob.acquireLock(lockRequest("bob"))).lock).toMatchObject({ token: 2 });
    });

    test("is acquired by one of eight simultaneous processes", async () => {
      const { open } = make();
      const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
      const ends = await Promise.allSettled(
        stores.map((store, at) => store.acquireLock(lockRequest(`u${at}`))),
      );
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await stores[0]?.heldLock()).toMatchObject({ token: 1 });
    });

    test("neither changes the serial nor appears in exports", async () => {
      const { ann } = await makeTwo();
      const before = await ann.export();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await lease.renew();
      await lease.release();
      expect(await ann.export()).toEqual(before);
    });

    test("is renewed by every commit", async () => {
      const { ann, bob, pass } = await makeTwo();
      await ann.acquireLock(lockRequest("ann"));
      for (let fileId = 1; fileId <= 3; fileId += 1) {
        await pass(59_000);
        await ann.record([attached(fileId)]);
      }
      expect(await bob.heldLock()).toMatchObject({ token: 1, state: "leased" });
    });

    test("is renewed by the heartbeat until it is released", async () => {
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
      const { ann, bob, pass } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann", { heartbeatMs: 20_000 }));
      for (let beat = 1; beat <= 3; beat += 1) {
        await pass(day);
        expect((await bob.heldLock())?.state).toBe("expired");
        const beaten = async () => {
          vi.advanceTimersByTime(20_000);
          return (await bob.heldLock())?.state;
        };
        await expect.poll(beaten, { timeout: 30_000 }).toBe("leased");
      }
      await lease.release();
      expect(vi.getTimerCount()).toBe(0);
    });

    test("is taken over from a different machine when its lease has expired, and its holder cannot commit any more", async () => {
      const { ann, bob, pass } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await ann.startRun(sampleRun);
      await ann.begin(attachOperation("op"));
      await pass(60_000);
      const taken = await bob.acquireLock(lockRequest("bob"));
      const before = await bob.export();
      expect(taken).toMatchObject({
        lock: { token: 2 },
        tookOver: { id: lease.lock.id, holder: { user: "ann" }, state: "expired" },
      });
      const finished = ann.finish("op", { outcome: "done", attempts: 1 }, [attached(1)]);
      await expect(finished).rejects.toMatchObject({ ...lost, message: expect.stringContaining("bob") });
      const writes = [
        () => ann.begin(attachOperation("other", 2)),
        () => ann.record([attached(3)]),
        () => ann.bind({ origin: "https://elsewhere.example", workspace: "w" }),
        () => ann.finishRun(sampleRun.id, { totals: {}, status: "done" }),
        () => ann.startRun({ ...sampleRun, id: "run-2" }),
        () => lease.renew(),
      ];
      for (const write of writes) await expect(write()).rejects.toMatchObject(lost);
      await lease.release();
      expect(await bob.export()).toEqual(before);
      expect(await bob.heldLock()).toMatchObject({ id: taken.lock.id, token: 2 });
      await bob.record([attached(4)]);
    });

    test("stays held after its lease has expired until it is taken over", async () => {
      const { ann, bob, pass } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await pass(day);
      await ann.record([attached(1)]);
      expect(await bob.heldLock()).toMatchObject({ id: lease.lock.id, token: 1, state: "leased" });
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
    });

    test("is taken over on the same machine when its process has ended, and never by the clock", async () => {
      const { open, execute } = make();
      const dead = new Set<number>();
      const ann = await open(onThisMachine(1, dead));
      const bob = await open(onThisMachine(2, dead));
      await ann.acquireLock(lockRequest("ann"));
      for (const ms of [day, -2 * day]) {
        await execute(passing.all(ms));
        await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({
          code: "lock-held",
          lock: { state: "running" },
        });
      }
      await ann.record([attached(1)]);
      dead.add(1);
      const taken = await bob.acquireLock(lockRequest("bob"));
      expect(taken).toMatchObject({ lock: { token: 2 }, tookOver: { state: "ended" } });
      await expect(ann.record([attached(2)])).rejects.toMatchObject(lost);
    });

    test.each(["taken over", "released by force", "released"])(
      "marks the open operations of its holder as lost when it is %s, once",
      async (how) => {
        const { open, execute } = make();
        const dead = new Set<number>();
        const ann = await open(onThisMachine(1, dead));
        const bob = await open(onThisMachine(2, dead));
        const carl = await open(onThisMachine(3, dead));
        const lease = await ann.acquireLock(lockRequest("ann"));
        const { lock } = lease;
        await ann.startRun(sampleRun);
        await ann.begin(attachOperation("op"));
        const [begun] = (await ann.load()).inDoubt;
        expect(begun).not.toHaveProperty("finishedAt");
        await wait(20);
        // A process that was stopped renews nothing, and keeps its connection.
        await execute(passing.all(600_000));
        const endedAt = Date.now();
        dead.add(1);
        if (how === "released by force") await bob.releaseLock(lock.id);
        // Its outcome could not be stored.
        if (how === "released") await lease.release();
        await bob.acquireLock(lockRequest("bob"));
        const [lost] = (await bob.load()).inDoubt;
        expect(lost).toEqual({ ...begun, finishedAt: lost?.finishedAt });
        expect(lost?.finishedAt).toBeGreaterThanOrEqual(endedAt);
        await wait(20);
        dead.add(2);
        await carl.acquireLock(lockRequest("carl"));
        expect((await carl.load()).inDoubt).toEqual([lost]);
        // The outcome that the first process saved can still be replayed.
        const saved = {
          lineage: (await carl.load()).lineage,
          owner: { origin: "https://api.example.com", workspace: "w" },
          command: "apply",
          savedAt: 1_700_000_000_999,
          operation: attachOperation("op"),
          result: { outcome: "done", status: 201, attempts: 1 },
          effects: [attached(1)],
        } as const;
        expect(await carl.replay(saved)).toEqual({ type: "in_doubt" });
        expect(await carl.replay(saved)).toEqual({ type: "known" });
        expect((await carl.load()).inDoubt).toMatchObject([{ id: "op" }]);
      },
    );

    test("is taken over from a failed run before its lease expires, unless its process runs", async () => {
      const { ann, bob, open } = await makeTwo();
      const { lock } = await ann.acquireLock(lockRequest("ann"));
      const other = lockRequest("bob", { takeOver: { lockIds: ["another"], operationIds: [] } });
      await expect(bob.acquireLock(other)).rejects.toMatchObject({ code: "lock-held" });
      const taken = await bob.acquireLock(
        lockRequest("bob", { takeOver: { lockIds: [lock.id], operationIds: [] } }),
      );
      expect(taken).toMatchObject({ lock: { token: 2 }, tookOver: { id: lock.id } });
      const neighbor = await open({
        self: { ...onMachine("bob's").self, pid: 8 },
        isAlive: () => true,
      });
      const again = lockRequest("carl", { takeOver: { lockIds: [taken.lock.id], operationIds: [] } });
      await expect(neighbor.acquireLock(again)).rejects.toMatchObject({ code: "lock-held" });
    });

    test("is not taken over from a failed run that may have a call in flight", async () => {
      const { ann, bob } = await makeTwo();
      const { lock } = await ann.acquireLock(lockRequest("ann"));
      await ann.startRun(sampleRun);
      for (const id of ["saved", "in-flight"]) await ann.begin(attachOperation(id));
      const of = (operationIds: readonly string[]) =>
        lockRequest("bob", { takeOver: { lockIds: [lock.id], operationIds } });
      await expect(bob.acquireLock(of(["saved"]))).rejects.toMatchObject({ code: "lock-held" });
      await ann.finish("in-flight", { outcome: "unknown", attempts: 1 }, []);
      expect(await bob.acquireLock(of(["saved"]))).toMatchObject({ tookOver: { id: lock.id } });
    });

    test.each([
      ["truncated", `'{"user":"ann"'`],
      ["a list", `'[1,2]'`],
      ["missing its process", `'{"user":"ann","host":"h","pid":1,"command":"apply"}'`],
    ])("depends on its lease when the record of its holder is %s", async (_what, json) => {
      const { open, execute } = make();
      const ann = await open();
      const bob = await open(onMachine("bob's"));
      await ann.acquireLock(lockRequest("ann"));
      await execute(`update leases set holder = ${json}`);
      expect(await bob.heldLock()).toMatchObject({ token: 1, state: "leased" });
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
      await ann.record([attached(1)]);
      await execute(passing.all(60_000));
      expect((await bob.acquireLock(lockRequest("bob"))).tookOver).toMatchObject({ state: "expired" });
    });

    test("is released by force only with its id", async () => {
      const { ann, bob } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      expect(await bob.releaseLock("another")).toBe(false);
      expect(await bob.heldLock()).toMatchObject({ id: lease.lock.id });
      expect(await bob.releaseLock(lease.lock.id)).toBe(true);
      expect(await bob.heldLock()).toBeUndefined();
      expect(await bob.releaseLock(lease.lock.id)).toBe(false);
      await expect(ann.record([attached(1)])).rejects.toMatchObject({
        ...lost,
        message: expect.stringContaining("released by force"),
      });
      expect((await bob.load()).attachments).toEqual([]);
    });

    test("is released by force while a call may be in flight: its holder writes nothing more, and it is free when its lease ends", async () => {
      const { ann, bob, pass } = await makeTwo();
      const { lock } = await ann.acquireLock(lockRequest("ann"));
      await ann.startRun(sampleRun);
      await ann.begin(attachOperation("op"));
      expect(await bob.releaseLock(lock.id)).toBe(true);
      await expect(ann.record([attached(1)])).rejects.toMatchObject({
        ...lost,
        message: expect.stringContaining("released by force"),
      });
      expect(await bob.heldLock()).toMatchObject({ id: lock.id, token: 2, state: "released" });
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
      expect(await bob.releaseLock(lock.id)).toBe(true);
      expect((await bob.load()).inDoubt[0]).not.toHaveProperty("finishedAt");
      await pass(60_000);
      expect((await bob.acquireLock(lockRequest("bob"))).tookOver).toMatchObject({ state: "expired" });
      expect((await bob.load()).inDoubt[0]).toHaveProperty("finishedAt");
    });

    test("that was released by force is kept for no longer than a lease, although the clock of its holder was ahead", async () => {
      const { open, execute } = make();
      const ann = await open(onMachine("ann's"));
      const bob = await open(onMachine("bob's"));
      const { lock } = await ann.acquireLock(lockRequest("ann", { leaseMs: 90_000 }));
      await ann.startRun(sampleRun);
      await ann.begin(attachOperation("op"));
      await execute(passing.all(-day));
      await bob.releaseLock(lock.id);
      const held = await bob.heldLock();
      expect(held).toMatchObject({ state: "released" });
      expect((held?.expiresAt ?? 0) - (held?.readAt ?? 0)).toBeLessThanOrEqual(90_000);
      await execute(passing.all(90_000));
      await bob.acquireLock(lockRequest("bob"));
    });

    test("that was released by force is free once its holder has ended, or releases it itself", async () => {
      const { open } = make();
      const dead = new Set<number>();
      const ann = await open(onThisMachine(1, dead));
      const bob = await open(onThisMachine(2, dead));
      for (const end of ["dies", "ends"]) {
        const lease = await ann.acquireLock(lockRequest("ann"));
        await ann.startRun({ ...sampleRun, id: end });
        await ann.begin({ ...attachOperation(end), runId: end });
        await bob.releaseLock(lease.lock.id);
        expect(await bob.heldLock()).toMatchObject({ state: "released" });
        if (end === "dies") dead.add(1);
        else await lease.release();
        await (await bob.acquireLock(lockRequest("bob"))).release();
        dead.delete(1);
      }
    });

    test("fails all changes of a group when it is lost", async () => {
      const { ann, bob } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await bob.releaseLock(lease.lock.id);
      const ends = await Promise.allSettled([1, 2, 3].map((fileId) => ann.record([attached(fileId)])));
      expect(ends).toMatchObject([{ reason: lost }, { reason: lost }, { reason: lost }]);
      expect((await bob.load()).serial).toBe(0);
    });

    test("is free for its own process when its store is closed", async () => {
      const { open } = make();
      const gone = await open();
      const bob = await open();
      const { lock } = await gone.acquireLock(lockRequest("gone"));
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
      await gone.close();
      const taken = await bob.acquireLock(lockRequest("bob"));
      expect(taken.tookOver).toMatchObject({ id: lock.id, state: "ended" });
    });
  });
}
