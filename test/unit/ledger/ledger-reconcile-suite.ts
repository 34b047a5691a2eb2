import { describe, expect, test } from "vitest";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import { attachOperation, sampleRun } from "./ledger-values.ts";

/** Records of `reconcile` in every ledger: notifications, and runs without operations. */
export function describeLedgerReconcile(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: notification state`, () => {
    test("is exchanged for the previous one across processes, and removed", async () => {
      const { ledger, reopen } = await make();
      expect(await ledger.exchangeNotice("ok")).toBeUndefined();
      expect(await (await reopen()).exchangeNotice("failing")).toBe("ok");
      expect(await ledger.exchangeNotice(undefined)).toBe("failing");
      expect(await ledger.exchangeNotice(undefined)).toBeUndefined();
      expect((await ledger.load()).serial).toBe(0);
    });

    test("changes for only one of several simultaneous exchanges", async () => {
      const { ledger, reopen } = await make();
      await ledger.exchangeNotice("ok");
      const other = await reopen();
      const turns = Array.from({ length: 10 }, (_none, at) =>
        (at % 2 === 0 ? ledger : other).exchangeNotice("failing"),
      );
      expect((await Promise.all(turns)).filter((previous) => previous === "ok")).toHaveLength(1);
    });
  });

  describe(`${name}: quiet runs`, () => {
    test("are removed when they are old, belong to the command and have no operations", async () => {
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
