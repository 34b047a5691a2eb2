import { afterEach, describe, expect, test, vi } from "vitest";
import type { LockHolder } from "../../../src/model/lock.ts";
import type { Clock, LockRequest } from "../../../src/model/ports.ts";
import type { StateStore } from "../../../src/state/open-ledger.ts";
import { attached, attachOperation, sampleRun } from "./ledger-values.ts";

/** Opens one ledger, the same with every call, each time as another process would. Closed by whoever made it. */
export type OpenAgain = (clock: Clock) => Promise<StateStore>;

/** Longer than any test: nothing beats unless the test says so. */
const never = 1_000_000_000;

/** A wall clock that a test moves by hand. */
export function virtualClock(): Clock & { pass(ms: number): void } {
  let now = 1_700_000_000_000;
  return {
    now: () => now,
    monotonic: () => performance.now(),
    pass: (ms) => {
      now += ms;
    },
  };
}

/** A minute's lease for a process of this name, without a heartbeat. */
export function lockRequest(user: string, other: Partial<LockRequest> = {}): LockRequest {
  const holder: LockHolder = { user, host: "build-7", pid: 4211, command: "apply" };
  return { holder, leaseMs: 60_000, heartbeatMs: never, ...other };
}

const lost = { name: "LedgerError", code: "lock-lost" };

/** What the lock of every ledger does, whatever database it lives in. */
export function describeLedgerLock(name: string, make: () => Promise<OpenAgain>): void {
  describe(`${name}: the lock`, () => {
    afterEach(() => void vi.useRealTimers());

    async function makeTwo() {
      const open = await make();
      const clock = virtualClock();
      return { clock, ann: await open(clock), bob: await open(clock), open };
    }

    test("is held by one at a time, and tells who that is", async () => {
      const { ann, bob, clock } = await makeTwo();
      expect(await bob.heldLock()).toBeUndefined();
      const url = "https://ci.example/jobs/17";
      const request = lockRequest("ann\n\u001b[31m \u0000 😀");
      const lease = await ann.acquireLock({ ...request, holder: { ...request.holder, url } });
      const held = await bob.heldLock();
      expect(held).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        token: 1,
        holder: { ...request.holder, url },
        acquiredAt: clock.now(),
        expiresAt: clock.now() + 60_000,
      });
      expect(lease).toMatchObject({ lock: held });
      expect(lease.tookOver).toBeUndefined();
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({
        code: "lock-held",
        lock: held,
        hint: expect.stringContaining(`lock release ${held?.id}`),
      });
      await expect(ann.acquireLock(lockRequest("ann"))).rejects.toMatchObject({ code: "lock-held" });
      await lease.release();
      expect(await bob.heldLock()).toBeUndefined();
      expect((await bob.acquireLock(lockRequest("bob"))).lock).toMatchObject({ token: 2 });
    });

    test("is given to one of many that ask at the same time", async () => {
      const open = await make();
      const clock = virtualClock();
      const stores = await Promise.all(Array.from({ length: 8 }, () => open(clock)));
      const ends = await Promise.allSettled(
        stores.map((store, at) => store.acquireLock(lockRequest(`u${at}`))),
      );
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await stores[0]?.heldLock()).toMatchObject({ token: 1 });
    });

    test("is no state: neither it nor its release raises the serial or is exported", async () => {
      const { ann } = await makeTwo();
      const before = await ann.export();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await lease.renew();
      await lease.release();
      expect(await ann.export()).toEqual(before);
    });

    test("is renewed by every commit", async () => {
      const { ann, bob, clock } = await makeTwo();
      await ann.acquireLock(lockRequest("ann"));
      for (let fileId = 1; fileId <= 3; fileId += 1) {
        clock.pass(59_999);
        await ann.record([attached(fileId)]);
      }
      expect(await bob.heldLock()).toMatchObject({ token: 1, expiresAt: clock.now() + 60_000 });
    });

    test("is renewed by the heartbeat, until it is released", async () => {
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
      const { ann, bob, clock } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann", { heartbeatMs: 20_000 }));
      for (let beat = 1; beat <= 5; beat += 1) {
        clock.pass(20_000);
        vi.advanceTimersByTime(20_000);
        const renewed = clock.now() + 60_000;
        await expect.poll(async () => (await bob.heldLock())?.expiresAt).toBe(renewed);
      }
      await lease.release();
      expect(vi.getTimerCount()).toBe(0);
    });

    test("that has expired is taken over, and its holder can commit nothing more", async () => {
      const { ann, bob, clock } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await ann.startRun(sampleRun);
      await ann.begin(attachOperation("op"));
      const before = await bob.export();
      clock.pass(60_000);
      const taken = await bob.acquireLock(lockRequest("bob"));
      expect(taken).toMatchObject({
        lock: { token: 2 },
        tookOver: { id: lease.lock.id, holder: { user: "ann" } },
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
      expect(await bob.heldLock()).toEqual(taken.lock);
      await bob.record([attached(4)]);
    });

    test("that has expired is lost, though nobody took it over", async () => {
      const { ann, bob, clock } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      clock.pass(60_000);
      await expect(ann.record([attached(1)])).rejects.toMatchObject(lost);
      await expect(lease.renew()).rejects.toMatchObject(lost);
      expect(await bob.heldLock()).toEqual(lease.lock);
      expect((await bob.load()).attachments).toEqual([]);
      const again = await ann.acquireLock(lockRequest("ann"));
      expect(again).toMatchObject({ lock: { token: 2 }, tookOver: { id: lease.lock.id } });
      await ann.record([attached(1)]);
    });

    test("is released by force only by its id", async () => {
      const { ann, bob } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      expect(await bob.releaseLock("another")).toBe(false);
      expect(await bob.heldLock()).toEqual(lease.lock);
      expect(await bob.releaseLock(lease.lock.id)).toBe(true);
      expect(await bob.heldLock()).toBeUndefined();
      expect(await bob.releaseLock(lease.lock.id)).toBe(false);
      await expect(ann.record([attached(1)])).rejects.toMatchObject({
        ...lost,
        message: expect.stringContaining("released by force"),
      });
      expect((await bob.load()).attachments).toEqual([]);
    });

    test("lost in the middle of a group of changes fails all of them", async () => {
      const { ann, bob } = await makeTwo();
      const lease = await ann.acquireLock(lockRequest("ann"));
      await bob.releaseLock(lease.lock.id);
      const ends = await Promise.allSettled([1, 2, 3].map((fileId) => ann.record([attached(fileId)])));
      expect(ends).toMatchObject([{ reason: lost }, { reason: lost }, { reason: lost }]);
      expect((await bob.load()).serial).toBe(0);
    });

    test("stays with a process that closed its ledger without releasing it", async () => {
      const { bob, clock, open } = await makeTwo();
      const gone = await open(clock);
      const { lock } = await gone.acquireLock(lockRequest("gone"));
      await gone.close();
      await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held", lock });
    });
  });
}
