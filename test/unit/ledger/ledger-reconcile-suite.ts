import { describe, expect, test } from "vitest";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import { attachOperation, sampleRun } from "./ledger-values.ts";

/** What runs of `reconcile` leave in every ledger: notifications, and runs without operations. */
export function describeLedgerRounds(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: the notice`, () => {
    test("is exchanged for the former one, by all who have the ledger open, and taken away", async () => {
      const { ledger, reopen } = await make();
      expect(await ledger.exchangeNotice("ok")).toBeUndefined();
      expect(await (await reopen()).exchangeNotice("failing")).toBe("ok");
      expect(await ledger.exchangeNotice(undefined)).toBe("failing");
      expect(await ledger.exchangeNotice(undefined)).toBeUndefined();
      expect((await ledger.load()).serial).toBe(0);
    });

    test("changes for one alone of many at once", async () => {
      const { ledger, reopen } = await make();
      await ledger.exchangeNotice("ok");
      const other = await reopen();
      const turns = Array.from({ length: 10 }, (_none, at) =>
        (at % 2 === 0 ? ledger : other).exchangeNotice("failing"),
      );
      expect((await Promise.all(turns)).filter((former) => former === "ok")).toHaveLength(1);
    });
  });

  describe(`${name}: quiet runs`, () => {
    test("are forgotten when they are old, of that command, and have sent nothing", async () => {
      const { ledger } = await make();
      const at = (id: string, startedAt: number, command = "reconcile") =>
        ledger.startRun({ ...sampleRun, id, command, startedAt });
      await at(sampleRun.id, 1);
      await ledger.begin(attachOperation("op"));
      await at("quiet", 2);
      await at("of-apply", 3, "apply");
      await at("young", 1_000);
      expect(await ledger.forgetQuietRuns({ command: "reconcile", before: 1_000 })).toBe(1);
      expect((await ledger.runs()).map(({ id }) => id)).toEqual([sampleRun.id, "of-apply", "young"]);
      expect(await ledger.forgetQuietRuns({ command: "reconcile", before: 1_000 })).toBe(0);
    });
  });
}
