import { describe, expect, test } from "vitest";
import { begin, record, refused, update, updated } from "./ledger-replay-suite.ts";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import { lostResponse } from "./ledger-values.ts";

const owner = { origin: "https://api.example.com", workspace: "w" };

/** Recovery records that show that a ledger was restored from a backup. */
export function describeLedgerRestored(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: recovery records and backups`, () => {
    test("of a call that the ledger lacks make it a new one again: it may lack publications and copies, too", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await ledger.bind(owner);
      await ledger.confirm(1);
      await ledger.replay(record());
      expect((await ledger.load()).isConfirmed).toBe(true);
      await ledger.replay(record({ operation: update("lacking"), effects: [updated("v2")] }));
      expect((await ledger.load()).isConfirmed).toBe(false);
      await ledger.confirm(2);
      await ledger.replay(record({ operation: update("lacking"), effects: [updated("v2")] }));
      expect((await ledger.load()).isConfirmed).toBe(true);
    });

    test.each(["since the call was sent again", "that its run has committed since"])(
      "into a ledger that lacks what was recorded %s make it a new one again, once",
      async (what) => {
        const { ledger } = await make();
        await begin(ledger);
        await ledger.bind(owner);
        await ledger.confirm(1);
        const isResent = what.endsWith("again");
        const failure = { ...lostResponse, code: "rate-limited" };
        if (isResent) await ledger.finish("op", { ...refused, status: 429, failure }, []);
        const { serial } = await ledger.load();
        expect(ledger.committedSerial).toBe(serial);
        const older = record(isResent ? {} : { serial: serial + 1 });
        expect(await ledger.replay(older)).toEqual({ type: "in_doubt" });
        expect(await ledger.load()).toMatchObject({
          isConfirmed: false,
          maybePublished: new Map([[7, expect.any(Number)]]),
        });
        await ledger.confirm(2);
        expect(await ledger.replay(older)).toEqual({ type: "known" });
        expect((await ledger.load()).isConfirmed).toBe(true);
      },
    );

    test("keep the confirmation of a ledger that has all that its run has committed", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await ledger.bind(owner);
      await ledger.confirm(1);
      const serial = ledger.committedSerial ?? 0;
      await ledger.replay(record({ serial }));
      expect(await ledger.load()).toMatchObject({ isConfirmed: true, maybePublished: new Map() });
    });
  });
}
