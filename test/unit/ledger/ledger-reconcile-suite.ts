import { describe, expect, test } from "vitest";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import { attached, attachment, attachOperation, sampleRun } from "./ledger-values.ts";

/** What runs at different times tell each other in every ledger: versions, notifications, and runs without operations. */
export function describeLedgerReconcile(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: versions`, () => {
    const draft = "drafts/7";
    const protect = { type: "protection", draftId: 7, protect: true } as const;

    test("rise with each change of a draft, and not with what only confirms it", async () => {
      const { ledger } = await make();
      await ledger.record([attached(1)], "run-x");
      const version = { address: draft, serial: 1, changedBy: "run-x" };
      expect((await ledger.load()).versions).toEqual(new Map([[draft, version]]));
      const provenance = { by: "get", at: 9 } as const;
      await ledger.record([{ type: "rerecorded", attachment: attachment(1, { provenance }) }], "run-y");
      await ledger.record([{ type: "attached", attachment: attachment(1, { provenance }) }], "run-y");
      await ledger.record([{ type: "refreshed", resource: "products/1", at: 3 }], "run-y");
      expect((await ledger.load()).versions).toEqual(new Map([[draft, version]]));
      const attributes = { renderer: "arnold" };
      await ledger.record([{ type: "rerecorded", attachment: attachment(1, { attributes }) }], "run-y");
      const later = { address: draft, serial: 5, changedBy: "run-y", before: "1:run-x" };
      expect((await ledger.load()).versions).toEqual(new Map([[draft, later]]));
    });

    test("keep the version before the runs of a plan until something else changes the draft", async () => {
      const { ledger } = await make();
      await ledger.record([attached(1)], "run-x");
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op", 2));
      await ledger.finish("op", { outcome: "done", attempts: 1 }, [attached(2)]);
      await ledger.startRun({ ...sampleRun, id: "run-2" });
      await ledger.record([protect], "run-2");
      const { versions } = await ledger.load();
      expect(versions.get(draft)).toMatchObject({ changedBy: "plan-1", before: "1:run-x" });
      await ledger.record([{ ...protect, protect: false }]);
      const last = (await ledger.load()).versions.get(draft);
      expect(last).toMatchObject({ changedBy: "", before: `${versions.get(draft)?.serial}:plan-1` });
    });

    test("rise when an operation in doubt is settled, and are exported", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op"));
      expect((await ledger.load()).versions.size).toBe(0);
      await ledger.record([{ type: "settled", operationId: "op", outcome: "not_sent" }], sampleRun.id);
      const version = { address: draft, serial: 2, changedBy: "plan-1" };
      expect((await ledger.export()).versions).toEqual([version]);
    });
  });

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

  describe(`${name}: the last run that applied a plan`, () => {
    test("is neither one that ended before that nor dated later than now", async () => {
      const { ledger } = await make();
      const at = async (id: string, startedAt: number, status: string, planId: string) => {
        await ledger.startRun({ ...sampleRun, id, startedAt, planId });
        await ledger.finishRun(id, { totals: {}, status });
      };
      await at("a", 20, "deferred", "p1");
      await at("b", 10, "done", "p1");
      await at("refused", 30, "refused", "p1");
      await at("failed", 31, "error", "");
      await at("import", 32, "done", "");
      await at("later", 1_000, "done", "p1");
      expect((await ledger.runs({ lastAppliedUntil: 500 })).map(({ id }) => id)).toEqual(["a"]);
      expect(await ledger.runs({ lastAppliedUntil: 5 })).toEqual([]);
    });
  });
}
