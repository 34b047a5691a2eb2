import { describe, expect, test } from "vitest";
import { newOperationId } from "../../../src/apply/context.ts";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import { type LedgerUnderTest, published } from "./ledger-suite.ts";
import { attached, attachment, attachOperation, lostResponse, sampleRun } from "./ledger-values.ts";

const done = { outcome: "done", status: 201, attempts: 1 } as const;
const unknown = { outcome: "unknown", status: 504, attempts: 2, failure: lostResponse } as const;

/** Operations and runs in every ledger. */
export function describeLedgerJournal(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: operations`, () => {
    test("keeps an operation in doubt from its beginning until it ends", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op"));
      const begun = (await ledger.load()).inDoubt;
      expect(begun).toEqual([{ ...attachOperation("op"), startedAt: expect.any(Number) }]);
      await ledger.finish("op", done, [attached(1)]);
      expect(await ledger.load()).toMatchObject({ inDoubt: [], attachments: [attachment(1)] });
    });

    test("keeps the values of an entry before another one takes its file, until a call has given it one", async () => {
      const { ledger } = await make();
      const source = "drafts/7/product_files/source:a";
      await ledger.record([attached(1, { address: source, attributes: { renderer: "vray" } })]);
      await ledger.startRun(sampleRun);
      const { intent, ...rest } = attachOperation("op-1", 1);
      const attributes = { renderer: "", file_format: "fbx" };
      const taking = { ...intent, attributes, takesOver: true } as const;
      await ledger.begin({
        ...rest,
        kind: "update",
        address: "drafts/7/product_files/source:b",
        intent: taking,
      });
      const kept = async () => [...(await ledger.load()).keptValues];
      const values = [[source, { renderer: "vray", file_format: "" }]];
      expect(await kept()).toEqual(values);
      // What was only observed may be the values of the other entry.
      const seen = attachment(1, { address: source, attributes, provenance: { by: "probe", at: 5 } });
      await ledger.record([{ type: "rerecorded", attachment: seen }]);
      await ledger.record([attached(2, { address: source, provenance: { by: "import", at: 6 } })]);
      expect(await kept()).toEqual(values);
      await ledger.record([attached(3, { address: source })]);
      expect(await kept()).toEqual([]);
    });

    test("releases the values of an entry when the call that was to take its file was refused", async () => {
      const { ledger } = await make();
      const source = "drafts/7/product_files/source:a";
      await ledger.record([attached(1, { address: source, attributes: { renderer: "vray" } })]);
      await ledger.startRun(sampleRun);
      const take = async (id: string) => {
        const { intent, ...rest } = attachOperation(id, 1);
        await ledger.begin({
          ...rest,
          kind: "update",
          path: "/api/drafts/7/product_files/1",
          address: "drafts/7/product_files/source:b",
          intent: { ...intent, takesOver: true },
        });
      };
      const kept = async () => [...(await ledger.load()).keptValues.keys()];
      const refused = { outcome: "rejected", status: 403, attempts: 1 } as const;
      await take("refused");
      await ledger.finish("refused", refused, []);
      expect(await kept()).toEqual([]);
      // A limit refuses a call that is sent later: the values are kept again.
      await ledger.resend("refused");
      expect(await kept()).toEqual([source]);
      await take("lost");
      await ledger.finish("lost", unknown, []);
      await ledger.finish("refused", refused, []);
      expect(await kept()).toEqual([source]);
    });

    test("has a refused operation in doubt after all in one step, with its status and what it may have taken", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      const source = "drafts/7/product_files/source:a";
      await ledger.record([attached(1, { address: source })]);
      const { intent, ...rest } = attachOperation("op", 1);
      await ledger.begin({
        ...rest,
        address: "drafts/7/product_files/b",
        intent: { ...intent, takesOver: true },
      });
      await ledger.finish("op", { outcome: "rejected", status: 422, attempts: 1 }, []);
      await ledger.finish("op", { ...unknown, status: 422 }, []);
      const { inDoubt, keptValues } = await ledger.load();
      expect(inDoubt).toMatchObject([{ id: "op", status: 422 }]);
      expect([...keptValues.keys()]).toEqual([source]);
    });

    test("has a probe in doubt only of a file that is recorded", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      const { intent, ...rest } = attachOperation("probe", 1);
      await ledger.begin({ ...rest, kind: "update", intent: { ...intent, attributes: {}, isProbe: true } });
      expect((await ledger.load()).inDoubt).toEqual([]);
      await ledger.record([attached(1)]);
      expect((await ledger.load()).inDoubt).toMatchObject([{ id: "probe" }]);
    });

    test("keeps an operation with an unknown outcome in doubt, with the reason, until it is settled", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op"));
      await ledger.finish("op", unknown, []);
      const [doubt] = (await ledger.load()).inDoubt;
      expect(doubt).toMatchObject({ id: "op", detail: lostResponse.message, finishedAt: expect.any(Number) });
      await ledger.record([{ type: "settled", operationId: "op", outcome: "not_sent" }]);
      expect((await ledger.load()).inDoubt).toEqual([]);
      expect(await ledger.operations()).toMatchObject([
        {
          id: "op",
          outcome: "unknown",
          status: 504,
          attempts: 2,
          failure: lostResponse,
          settled: { as: "not_sent" },
        },
      ]);
      const again = ledger.record([{ type: "settled", operationId: "op", outcome: "done" }]);
      await expect(again).rejects.toMatchObject({ code: "ledger-conflict" });
    });

    test("finds operations whose lost requests may still arrive", async () => {
      const { ledger } = await make();
      const before = Date.now() - 1;
      await ledger.startRun(sampleRun);
      const ends = [done, { ...done, attempts: 2 }, unknown, undefined, undefined];
      // The clock that dated the fourth was behind.
      const ids = ends.map((_end, at) =>
        at === 3 ? `00000000${newOperationId().slice(8)}` : newOperationId(),
      );
      for (const [at, end] of ends.entries()) {
        await ledger.begin(attachOperation(ids[at] ?? "", at));
        if (end !== undefined) await ledger.finish(ids[at] ?? "", end, []);
      }
      // A crash lost its outcome before.
      await ledger.record([{ type: "settled", operationId: ids[4] ?? "", outcome: "done" }]);
      const lost = async (since: number) => (await ledger.lostWrites(since)).map(({ id }) => id).sort();
      expect(await lost(before)).toEqual(ids.slice(1).sort());
      expect(await lost(Date.now() + 60_000)).toEqual([ids[3]]);
    });

    test("knows when a limited run began something last", async () => {
      const { ledger } = await make();
      const finish = async (id: string, turns: readonly string[]) => {
        await ledger.startRun({ ...sampleRun, id });
        await ledger.finishRun(id, { totals: {}, status: "deferred", turns });
      };
      const many = Array.from({ length: 1500 }, (_none, id) => `drafts/${id + 1}`);
      await finish("run-1", many);
      const first = await ledger.turns();
      expect([...first.keys()].sort()).toEqual(many.toSorted());
      await finish("run-2", ["drafts/1", "duplicates/copy"]);
      const second = await ledger.turns();
      expect([second.size, second.get("drafts/2")]).toEqual([1501, first.get("drafts/2")]);
      expect(second.get("drafts/1")).toBeGreaterThanOrEqual(first.get("drafts/1") ?? Number.NaN);
    });

    test("records the operation that proved another operation's outcome", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("lost"));
      await ledger.begin({ ...attachOperation("probe"), kind: "update", method: "PATCH" });
      await ledger.finish("probe", done, [{ type: "settled", operationId: "lost", outcome: "done" }]);
      expect((await ledger.load()).inDoubt).toEqual([]);
      const [lost] = await ledger.operations();
      expect(lost?.settled).toEqual({ as: "done", by: "probe", at: expect.any(Number) });
    });

    test.each(["done", "not_sent"] as const)(
      "keeps the values that were confirmed when an update is settled as %s",
      async (outcome) => {
        const { ledger } = await make();
        await ledger.startRun(sampleRun);
        await ledger.record([attached(1, { attributes: { renderer: "arnold", file_format: "fbx" } })]);
        const intent = {
          draftId: 7,
          fileKind: "product_files",
          fileId: 1,
          attributes: { renderer: "vray" },
        } as const;
        await ledger.begin({ ...attachOperation("op", 1), kind: "update", intent });
        await ledger.record([{ type: "settled", operationId: "op", outcome }]);
        const attributes = { renderer: "arnold", file_format: "fbx" };
        expect(await ledger.load()).toMatchObject({ inDoubt: [], attachments: [{ attributes }] });
      },
    );

    test("settles earlier updates, detaches and uploads of a file after a success, and nothing else", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      const kinds = ["attach", "update", "detach", "publish", "duplicate", "upload"] as const;
      const pathOf = (fileId: number) => `/api/drafts/7/product_files/${fileId}`;
      for (const kind of kinds) {
        await ledger.begin({ ...attachOperation(kind), kind, path: pathOf(1) });
        await ledger.finish(kind, unknown, []);
      }
      await ledger.begin({ ...attachOperation("elsewhere", 2), kind: "update", path: pathOf(2) });
      const renamed = { address: "drafts/7/product_files/source:a.glb", path: pathOf(1) };
      await ledger.begin({ ...attachOperation("crashed"), kind: "update", ...renamed });
      await ledger.begin(attachOperation("failed"));
      await ledger.finish("failed", { outcome: "rejected", status: 422, attempts: 1 }, []);
      expect((await ledger.load()).inDoubt).toHaveLength(8);
      await ledger.begin(attachOperation("last"));
      await ledger.finish("last", done, [{ type: "attached", attachment: attachment(1) }]);
      const left = (await ledger.load()).inDoubt.map(({ id }) => id).sort();
      expect(left).toEqual(["attach", "duplicate", "elsewhere", "publish"]);
      const settled = (await ledger.operations()).filter((operation) => operation.settled !== undefined);
      expect(settled.map(({ id }) => id).sort()).toEqual(["crashed", "detach", "update", "upload"]);
      expect(settled.every((operation) => operation.settled?.as === "superseded")).toBe(true);
      expect(settled.every((operation) => operation.settled?.by === "last")).toBe(true);
    });

    const impossible: readonly [string, (ledger: StateStore) => Promise<void>, string?][] = [
      ["begun twice", (ledger) => ledger.begin(attachOperation("op"))],
      ["begun in an unknown run", (ledger) => ledger.begin({ ...attachOperation("x"), runId: "none" })],
      [
        "ended without a beginning",
        (ledger) => ledger.finish("none", done, [attached(1)]),
        "Operation none was never begun, or has ended.",
      ],
      [
        "settled that was not in doubt",
        (ledger) => ledger.record([{ type: "settled", operationId: "none", outcome: "not_sent" }]),
        "Operation none is not in doubt.",
      ],
      [
        "ended with an impossible effect",
        (ledger) => ledger.finish("op", done, [attached(1), published(1), published(1)]),
      ],
    ];
    test.each(impossible)("rejects an operation %s without a change", async (_, change, message = "") => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op"));
      const before = await ledger.export();
      await expect(change(ledger)).rejects.toMatchObject({
        code: "ledger-conflict",
        message: expect.stringContaining(message),
      });
      expect(await ledger.export()).toEqual(before);
    });

    test("rejects a second outcome of an operation", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op"));
      await ledger.finish("op", done, []);
      await expect(ledger.finish("op", unknown, [])).rejects.toMatchObject({ code: "ledger-conflict" });
      expect((await ledger.load()).inDoubt).toEqual([]);
    });

    test("filters operations by run and address, and runs by id and plan", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.startRun({
        id: "run-2",
        command: "reconcile",
        planId: "plan-2",
        startedAt: sampleRun.startedAt + 1,
      });
      await ledger.finishRun("run-1", { totals: { done: 1, calls: 3 }, status: "done" });
      await ledger.begin(attachOperation("one", 1));
      await ledger.begin({ ...attachOperation("two", 2), runId: "run-2" });
      const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id);
      expect(ids(await ledger.operations())).toEqual(["one", "two"]);
      expect(ids(await ledger.operations({ runId: "run-2" }))).toEqual(["two"]);
      expect(ids(await ledger.operations({ address: "drafts/7/product_files/1" }))).toEqual(["one"]);
      expect(ids(await ledger.operations({ runId: "run-2", address: "drafts/7/product_files/1" }))).toEqual(
        [],
      );
      expect(ids(await ledger.runs({ planId: "plan-2" }))).toEqual(["run-2"]);
      expect(await ledger.runs({ id: "run-1" })).toEqual([
        { ...sampleRun, finishedAt: expect.any(Number), status: "done", totals: { done: 1, calls: 3 } },
      ]);
      const again = ledger.finishRun("run-1", { totals: null, status: "done" });
      await expect(again).rejects.toMatchObject({
        code: "ledger-conflict",
        message: "Run run-1 was never started, or has ended.",
      });
    });
  });
}
