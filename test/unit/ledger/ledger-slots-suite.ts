import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { SlotShare, SlotTable } from "../../../src/model/slots.ts";

/** Opens one ledger, the same with every call, each time as another process would. */
type OpenAgain = () => Promise<StateStore>;

function share(owner: string, other: Partial<SlotShare> = {}): SlotShare {
  return {
    owner,
    process: { boot: "a machine", namespace: "", pid: 7, startedAt: "123" },
    slots: 5,
    inFlight: 2,
    wanted: 9,
    windowMs: 1_000,
    holdMs: 30_000,
    timeoutMs: 30_000,
    servedAt: 0,
    renewedAt: 2 ** 40,
    ...other,
  };
}

/** The slots of the rate bound, as every ledger keeps them. */
export function describeLedgerSlots(name: string, make: () => Promise<OpenAgain>): void {
  describe(`${name}: the slots of the rate bound`, () => {
    async function makeTwo(): Promise<readonly [StateStore, StateStore]> {
      const open = await make();
      return [await open(), await open()];
    }

    const read = async (store: StateStore): Promise<SlotTable> => {
      let seen: SlotTable = { shares: [] };
      await store.updateSlots((table) => {
        seen = table;
        return table;
      });
      return seen;
    };

    test("are there for everyone who has the ledger open, as they were put", async () => {
      const [ann, bob] = await makeTwo();
      expect(await read(ann)).toEqual({ shares: [] });
      const shares = [
        share("a"),
        share("b", { endedAt: 17, process: { boot: "é 😀", namespace: "", pid: 1 } }),
      ];
      const pause = { setAt: 3, ms: 60_000 };
      expect(await ann.updateSlots(() => ({ shares, pause }))).toEqual({ shares, pause });
      expect(await read(bob)).toEqual({ shares, pause });
      const [, second = share("b")] = shares;
      const changed = [
        { ...second, slots: 1, inFlight: 1, wanted: 0, renewedAt: 5, servedAt: 4 },
        share("c"),
      ];
      await bob.updateSlots(() => ({ shares: changed, pause: { setAt: 9, ms: 1 } }));
      expect(await read(ann)).toEqual({ shares: changed, pause: { setAt: 9, ms: 1 } });
      await bob.updateSlots(() => ({ shares: [] }));
      expect(await read(ann)).toEqual({ shares: [] });
    });

    test("are decided by one at a time", async () => {
      const stores = await makeTwo();
      const give = (owner: string) => (table: SlotTable) => {
        const given = table.shares.reduce((sum, { slots }) => sum + slots, 0);
        const slots = Math.min(1, 10 - given);
        return { shares: slots === 0 ? table.shares : [...table.shares, share(owner, { slots })] };
      };
      const turns = Array.from({ length: 30 }, (_none, at) =>
        (at % 2 === 0 ? stores[0] : stores[1]).updateSlots(give(`owner-${at}`)),
      );
      await Promise.all(turns);
      expect((await read(stores[0])).shares).toHaveLength(10);
    });

    test("see a clock that both share and that goes on", async () => {
      const [ann, bob] = await makeTwo();
      const times: number[] = [];
      for (const store of [ann, bob, ann, bob]) {
        await store.updateSlots((table, now) => {
          times.push(now);
          return table;
        });
      }
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.every(Number.isSafeInteger)).toBe(true);
      expect(Math.max(...times) - Math.min(...times)).toBeLessThan(60_000);
    });

    test("are no part of what is recorded: no serial rises, and no lock is needed", async () => {
      const [ann, bob] = await makeTwo();
      const holder = { user: "ann", host: "here", pid: 1, command: "apply" };
      await ann.acquireLock({ holder, leaseMs: 60_000, heartbeatMs: 1_000_000_000 });
      const before = await ann.export();
      await bob.updateSlots(() => ({ shares: [share("a")] }));
      expect(await ann.export()).toEqual(before);
    });

    test("stay as they were when a decision fails", async () => {
      const [ann] = await makeTwo();
      await ann.updateSlots(() => ({ shares: [share("a")] }));
      const failed = ann.updateSlots(() => {
        throw new Error("no decision");
      });
      await expect(failed).rejects.toThrow("no decision");
      expect(await read(ann)).toEqual({ shares: [share("a")] });
      await ann.close();
      await expect(ann.updateSlots((table) => table)).rejects.toMatchObject({ code: "ledger-closed" });
    });
  });
}
