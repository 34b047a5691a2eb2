import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { LedgerEffect, NewOperation } from "../../../src/model/ports.ts";
import type { RecoveryRecord } from "../../../src/model/recovery.ts";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import { attached, attachment, attachOperation, lostResponse, sampleRun } from "./ledger-values.ts";

const done = { outcome: "done", status: 201, attempts: 1 } as const;
const refused = { outcome: "rejected", status: 422, attempts: 1, failure: lostResponse } as const;
const unknown = { outcome: "unknown", status: 504, attempts: 2, failure: lostResponse } as const;

const publishOperation: NewOperation = {
  ...attachOperation("op"),
  address: "drafts/7/product",
  kind: "publish",
  path: "/api/products",
  intent: { draftId: 7, revision: 1 },
};

function record(other: Partial<RecoveryRecord> = {}): RecoveryRecord {
  return {
    lineage: "any",
    owner: { origin: "https://api.example.com", workspace: "w" },
    command: "apply",
    savedAt: 1_700_000_000_999,
    operation: attachOperation("op"),
    result: done,
    effects: [attached(1)],
    ...other,
  };
}

const publication = (productId: number): LedgerEffect => ({
  type: "published",
  draftId: 7,
  revision: 1,
  productId,
  provenance: { by: "post", at: 1 },
});

async function begin(ledger: StateStore, operation = attachOperation("op")): Promise<void> {
  await ledger.startRun(sampleRun);
  await ledger.begin(operation);
}

/** An update of file 1, and what its outcome records. */
const update = (id: string): NewOperation => ({
  ...attachOperation(id),
  kind: "update",
  path: "/api/drafts/7/product_files/1",
});
const updated = (file_format: string): LedgerEffect => ({
  type: "rerecorded",
  attachment: attachment(1, { attributes: { file_format } }),
});
const source = "drafts/7/product_files/source:a.glb";

/** Begins an operation after all that were begun before. */
async function beginLater(ledger: StateStore, operation: NewOperation): Promise<void> {
  for (const now = Date.now(); Date.now() === now; );
  await ledger.begin(operation);
}

const settle = (ledger: StateStore, outcome: "done" | "not_sent") =>
  ledger.record([{ type: "settled", operationId: "op", outcome }]);

/** Replay of recovery records in every ledger. */
export function describeLedgerReplay(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: recovery records`, () => {
    test("end the operation once", async () => {
      const { ledger } = await make();
      await begin(ledger, { ...attachOperation("earlier"), kind: "update" });
      await ledger.begin(attachOperation("op"));
      expect(await ledger.replay(record())).toEqual({ type: "recorded" });
      expect(await ledger.load()).toMatchObject({ inDoubt: [], attachments: [attachment(1)] });
      await ledger.record([attached(1, { attributes: { file_format: "obj" } })]);
      expect(await ledger.replay(record())).toEqual({ type: "known" });
      expect((await ledger.load()).attachments).toMatchObject([{ attributes: { file_format: "obj" } }]);
      const ends = (await ledger.operations()).map(({ id, outcome, settled }) => [id, outcome, settled?.as]);
      expect(ends.sort()).toEqual([
        ["earlier", undefined, "superseded"],
        ["op", "done", undefined],
      ]);
    });

    test("are replayed into a ledger that is older than the call, with its run", async () => {
      const { ledger } = await make();
      const effects: LedgerEffect[] = [
        { type: "rerecorded", attachment: attachment(1) },
        { type: "settled", operationId: "not-in-this-ledger", outcome: "done" },
      ];
      const update = record({ operation: { ...attachOperation("op"), kind: "update" }, effects });
      expect(await ledger.replay(update)).toEqual({ type: "recorded" });
      expect(
        await ledger.replay(record({ operation: attachOperation("next", 2), effects: [attached(2)] })),
      ).toEqual({
        type: "recorded",
      });
      expect((await ledger.load()).attachments).toEqual([attachment(1), attachment(2)]);
      expect(await ledger.runs()).toMatchObject([{ id: sampleRun.id, command: "apply" }]);
      expect(await ledger.replay(update)).toEqual({ type: "known" });
    });

    test("leave an unknown outcome in doubt, and end a refused operation", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await ledger.begin(attachOperation("other", 2));
      await ledger.replay(record({ result: unknown, effects: [] }));
      await ledger.replay(record({ operation: attachOperation("other", 2), result: refused, effects: [] }));
      expect((await ledger.load()).inDoubt).toMatchObject([{ id: "op", detail: lostResponse.message }]);
    });

    test("add nothing when they agree with an earlier settlement", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await settle(ledger, "done");
      await ledger.record([attached(1, { attributes: { file_format: "obj" } })]);
      expect(await ledger.replay(record())).toEqual({ type: "known" });
      expect((await ledger.load()).attachments).toMatchObject([{ attributes: { file_format: "obj" } }]);
      expect(await ledger.operations()).toMatchObject([{ outcome: "done", settled: { as: "done" } }]);
    });

    test.each([
      { settled: "not_sent", result: done, left: [attachment(1)] },
      { settled: "done", result: refused, left: [] },
    ] as const)(
      "conflict when $result.outcome meets settled as $settled",
      async ({ settled, result, left }) => {
        const { ledger } = await make();
        await begin(ledger);
        await settle(ledger, settled);
        const outcome = record({ result, effects: result.outcome === "done" ? [attached(1)] : [] });
        const before = await ledger.operations();
        expect(await ledger.replay(outcome)).toEqual({
          type: "conflict",
          ledger: expect.stringContaining(`settled as ${settled}`),
        });
        expect(await ledger.operations()).toEqual(before);
        expect((await ledger.load()).attachments).toEqual([]);
        expect(await ledger.replay(outcome, "use-recovered")).toEqual({ type: "recorded" });
        expect((await ledger.load()).attachments).toEqual(left);
        expect(await ledger.operations()).toMatchObject([{ outcome: result.outcome }]);
        expect((await ledger.operations())[0]?.settled).toBeUndefined();
      },
    );

    test("stay in the history next to the settlement when the ledger is preferred", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await settle(ledger, "not_sent");
      expect(await ledger.replay(record(), "keep-ledger")).toEqual({ type: "noted" });
      expect(await ledger.load()).toMatchObject({ attachments: [], inDoubt: [] });
      expect(await ledger.operations()).toMatchObject([{ outcome: "done", settled: { as: "not_sent" } }]);
      expect(await ledger.replay(record())).toEqual({ type: "known" });
    });

    test("name both products when a publish was settled as not sent and repeated", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      await settle(ledger, "not_sent");
      await ledger.record([publication(5)]);
      const outcome = record({ operation: publishOperation, effects: [publication(6)], productId: 6 });
      expect(await ledger.replay(outcome)).toEqual({
        type: "conflict",
        ledger: expect.stringMatching(/settled as not_sent at .*, and product 5 is recorded for it/),
        otherProduct: 5,
      });
      expect(await ledger.replay(outcome, "use-recovered")).toEqual({ type: "recorded", otherProduct: 5 });
      expect((await ledger.load()).publications).toMatchObject([{ productId: 6 }]);
    });

    test("conflict with a different product of a publish, but not with the same one", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      await ledger.record([publication(5), { type: "settled", operationId: "op", outcome: "done" }]);
      const outcome = record({ operation: publishOperation, effects: [publication(6)], productId: 6 });
      expect(await ledger.replay(outcome)).toEqual({
        type: "conflict",
        ledger: expect.stringContaining("product 5"),
        otherProduct: 5,
      });
      expect((await ledger.load()).publications).toMatchObject([{ productId: 5 }]);
      const same = { ...outcome, effects: [publication(5)] };
      expect(await ledger.replay({ ...same, operation: { ...publishOperation, id: "restored" } })).toEqual({
        type: "recorded",
      });
      expect(await ledger.replay(outcome, "use-recovered")).toEqual({ type: "recorded", otherProduct: 5 });
      expect((await ledger.load()).publications).toMatchObject([{ productId: 6 }]);
    });

    test("conflict with a different final outcome until the ledger is preferred", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await ledger.finish("op", refused, []);
      for (const choice of [undefined, "use-recovered"] as const) {
        expect(await ledger.replay(record(), choice)).toMatchObject({ type: "conflict" });
      }
      expect(await ledger.replay(record(), "keep-ledger")).toEqual({ type: "known" });
    });

    test("are recorded in a ledger from before the call was sent again", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      const throttled = { ...refused, status: 429, failure: { ...lostResponse, code: "rate-limited" } };
      await ledger.finish("op", throttled, []);
      const outcome = record({ operation: publishOperation, effects: [publication(5)], productId: 5 });
      expect(await ledger.replay(outcome)).toEqual({ type: "recorded" });
      expect((await ledger.load()).publications).toMatchObject([{ productId: 5 }]);
      expect(await ledger.replay(outcome)).toEqual({ type: "known" });
    });

    test("leave a later call about the file in doubt, until its own outcome is replayed", async () => {
      const { ledger } = await make();
      await begin(ledger, update("op"));
      await ledger.record([attached(1)]);
      await beginLater(ledger, update("later"));
      const [v2, v3] = ["v2", "v3"].map((format) => [updated(format)]);
      expect(await ledger.replay(record({ operation: update("op"), effects: v2 ?? [] }))).toEqual({
        type: "recorded",
      });
      expect((await ledger.load()).inDoubt).toMatchObject([{ id: "later" }]);
      expect(await ledger.replay(record({ operation: update("later"), effects: v3 ?? [] }))).toEqual({
        type: "recorded",
      });
      expect(await ledger.load()).toMatchObject({
        inDoubt: [],
        attachments: [{ attributes: { file_format: "v3" } }],
      });
    });

    test.each<[string, NewOperation, LedgerEffect]>([
      ["an update", update("op"), updated("v2")],
      ["an attachment", attachOperation("op"), attached(1)],
      ["a detach", { ...update("op"), kind: "detach" }, { type: "detached", target: attachment(1) }],
    ])("of %s leave what a later call has done", async (_what, operation, effect) => {
      const { ledger } = await make();
      await ledger.record([attached(1)]);
      await begin(ledger, update("later"));
      await ledger.finish("later", done, [updated("v3")]);
      const outcome = record({ operation, effects: [effect] });
      expect(await ledger.replay(outcome)).toEqual({ type: "outdated" });
      expect((await ledger.load()).attachments).toMatchObject([{ attributes: { file_format: "v3" } }]);
      expect(await ledger.replay(outcome)).toEqual({ type: "known" });
    });

    test("record a file as left over whose entry has another one by now", async () => {
      const { ledger } = await make();
      await begin(ledger, { ...attachOperation("later", 2), address: source });
      await ledger.finish("later", done, [attached(2, { address: source })]);
      const operation = { ...attachOperation("op"), address: source };
      const outcome = record({ operation, effects: [attached(1, { address: source })] });
      expect(await ledger.replay(outcome)).toEqual({ type: "outdated" });
      expect((await ledger.load()).attachments).toMatchObject([
        { fileId: 1, address: "drafts/7/product_files/1", formerAddress: source },
        { fileId: 2, address: source },
      ]);
    });

    test("of a call that the ledger lacks show that its draft may be published, until that is replayed", async () => {
      const { ledger } = await make();
      const outcome = record({ operation: update("op"), effects: [updated("v2")] });
      expect(await ledger.replay(outcome)).toEqual({ type: "recorded" });
      expect([...(await ledger.load()).maybePublished.keys()]).toEqual([7]);
      const operation = { ...publishOperation, id: "publish" };
      await ledger.replay(record({ operation, effects: [publication(5)], productId: 5 }));
      expect((await ledger.load()).maybePublished.size).toBe(0);
    });

    test("are rejected completely when one effect is invalid", async () => {
      const { ledger } = await make();
      await begin(ledger);
      const wrong = record({ effects: [attached(1), { type: "protection", draftId: 1.5, protect: true }] });
      await expect(ledger.replay(wrong)).rejects.toMatchObject({ code: "ledger-invalid-value" });
      expect(await ledger.load()).toMatchObject({ attachments: [], inDoubt: [{ id: "op" }] });
    });
  });
}
