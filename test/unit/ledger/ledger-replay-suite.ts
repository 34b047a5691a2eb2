import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { LedgerEffect, NewOperation } from "../../../src/model/ports.ts";
import type { Provenance } from "../../../src/model/recorded.ts";
import type { RecoveryRecord } from "../../../src/model/recovery.ts";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import {
  attached,
  attachment,
  attachOperation,
  copied,
  copyOperation,
  lostResponse,
  publishOperation,
  sampleRun,
} from "./ledger-values.ts";

const done = { outcome: "done", status: 201, attempts: 1 } as const;
/** A call that the service refused. */
export const refused = { outcome: "rejected", status: 422, attempts: 1, failure: lostResponse } as const;
const notSent = { outcome: "not_sent", attempts: 0, failure: lostResponse } as const;
const unknown = { outcome: "unknown", status: 504, attempts: 2, failure: lostResponse } as const;

/** A record of the recovery log: file 1 was attached. */
export function record(other: Partial<RecoveryRecord> = {}): RecoveryRecord {
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

const publication = (productId: number, by: Provenance["by"] = "post"): LedgerEffect => ({
  type: "published",
  draftId: 7,
  revision: 1,
  productId,
  provenance: { by, at: 1 },
});

/** Begins an operation of a run. */
export async function begin(ledger: StateStore, operation = attachOperation("op")): Promise<void> {
  await ledger.startRun(sampleRun);
  await ledger.begin(operation);
}

/** An update of file 1, and what its outcome records. */
export const update = (id: string): NewOperation => ({
  ...attachOperation(id),
  kind: "update",
  path: "/api/drafts/7/product_files/1",
});
const detach = (id: string): NewOperation => ({ ...update(id), kind: "detach" });
const gone: LedgerEffect = { type: "detached", target: attachment(1) };
/** What an update of file 1 records. */
export const updated = (file_format: string): LedgerEffect => ({
  type: "rerecorded",
  attachment: attachment(1, { attributes: { file_format } }),
});

const settle = (ledger: StateStore, outcome: "done" | "not_sent") =>
  ledger.record([{ type: "settled", operationId: "op", outcome }]);

/** Replay of recovery records in every ledger. */
export function describeLedgerReplay(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: recovery records`, () => {
    test("end the operation once", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      const outcome = record({ operation: publishOperation, effects: [publication(5)], productId: 5 });
      expect(await ledger.replay(outcome)).toEqual({ type: "recorded" });
      expect(await ledger.load()).toMatchObject({ inDoubt: [], publications: [{ productId: 5 }] });
      expect(await ledger.replay(outcome)).toEqual({ type: "known" });
      expect(await ledger.operations()).toMatchObject([{ id: "op", outcome: "done" }]);
    });

    test.each<[string, Partial<RecoveryRecord>]>([
      ["an update", { operation: update("op"), effects: [updated("v2")] }],
      ["a detach", { operation: detach("op"), effects: [gone] }],
      ["a refused attachment", { result: refused, effects: [] }],
      ["an update of a file that is gone", { operation: update("op"), result: refused, effects: [gone] }],
    ])("of %s leave what was recorded since, such as by an import", async (_what, other) => {
      const { ledger } = await make();
      await begin(ledger, other.operation);
      const imported = attached(1, {
        attributes: { file_format: "v3" },
        provenance: { by: "import", at: 1 },
      });
      await ledger.record([imported]);
      expect(await ledger.replay(record(other))).toEqual({ type: "in_doubt" });
      expect(await ledger.replay(record(other))).toEqual({ type: "known" });
      expect(await ledger.load()).toMatchObject({
        inDoubt: [{ id: "op" }],
        attachments: [{ attributes: { file_format: "v3" } }],
      });
    });

    test.each<[string, NewOperation, LedgerEffect]>([
      ["an update", update("op"), updated("v2")],
      ["an attachment", attachOperation("op"), attached(1)],
      ["a detach", detach("op"), gone],
    ])(
      "of %s are left in doubt by a ledger that lacks the call, which shows that its draft may be published",
      async (_what, operation, effect) => {
        const { ledger } = await make();
        await ledger.record([attached(1, { attributes: { file_format: "v3" } })]);
        const outcome = record({ operation, effects: [effect] });
        expect(await ledger.replay(outcome)).toEqual({ type: "in_doubt" });
        const recorded = await ledger.load();
        expect(recorded).toMatchObject({
          inDoubt: [{ id: "op" }],
          attachments: [{ attributes: { file_format: "v3" } }],
        });
        expect([...recorded.maybePublished.keys()]).toEqual([7]);
        expect(await ledger.runs()).toMatchObject([{ id: sampleRun.id, command: "apply" }]);
        expect(await ledger.replay(outcome)).toEqual({ type: "known" });
        const publish = { ...publishOperation, id: "publish" };
        await ledger.replay(record({ operation: publish, effects: [publication(5)], productId: 5 }));
        // It may be an older one.
        expect((await ledger.load()).maybePublished.size).toBe(1);
      },
    );

    test("leave an unknown outcome in doubt, and end a refused operation", async () => {
      const { ledger } = await make();
      await begin(ledger);
      const other = { ...publishOperation, id: "other" };
      await ledger.begin(other);
      await ledger.replay(record({ result: unknown, effects: [] }));
      await ledger.replay(record({ operation: other, result: refused, effects: [] }));
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

    test("of a file that took effect are in doubt once more where they were settled as not sent", async () => {
      const { ledger } = await make();
      await begin(ledger);
      await settle(ledger, "not_sent");
      expect(await ledger.replay(record())).toEqual({ type: "in_doubt" });
      expect(await ledger.replay(record())).toEqual({ type: "known" });
      expect(await ledger.load()).toMatchObject({ attachments: [], inDoubt: [{ id: "op" }] });
    });

    test.each([refused, notSent])(
      "of a detach that ended as $outcome are in doubt once more where it was settled as done",
      async (result) => {
        const { ledger } = await make();
        await begin(ledger, detach("op"));
        await settle(ledger, "done");
        const outcome = record({ operation: detach("op"), result, effects: [] });
        expect(await ledger.replay(outcome)).toEqual({ type: "in_doubt" });
        expect(await ledger.replay(outcome)).toEqual({ type: "known" });
        expect((await ledger.load()).inDoubt).toMatchObject([{ id: "op" }]);
      },
    );

    test("stay in the history next to the settlement when the ledger is preferred", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      await settle(ledger, "not_sent");
      const outcome = record({ operation: publishOperation, effects: [publication(5)], productId: 5 });
      expect(await ledger.replay(outcome, "keep-ledger")).toEqual({ type: "noted" });
      expect(await ledger.load()).toMatchObject({ publications: [], inDoubt: [] });
      expect(await ledger.operations()).toMatchObject([{ outcome: "done", settled: { as: "not_sent" } }]);
      expect(await ledger.replay(outcome)).toEqual({ type: "known" });
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

    test("of a publish that the ledger lacks have the time at which they were saved", async () => {
      const { ledger } = await make();
      await ledger.replay(record({ operation: publishOperation, result: unknown, effects: [] }));
      expect((await ledger.load()).inDoubt).toMatchObject([{ startedAt: 1_700_000_000_999 }]);
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

    test("of a refused publish take back what a person said, but no product that a later call has made", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      await ledger.record([
        publication(5, "operator"),
        { type: "settled", operationId: "op", outcome: "done" },
      ]);
      await ledger.begin(copyOperation);
      await ledger.record([copied(6), { type: "settled", operationId: "op-2", outcome: "done" }]);
      for (const operation of [publishOperation, copyOperation]) {
        const outcome = record({ operation, result: refused, effects: [] });
        expect(await ledger.replay(outcome)).toMatchObject({ type: "conflict" });
        expect(await ledger.replay(outcome, "use-recovered")).toEqual({ type: "recorded" });
      }
      expect(await ledger.load()).toMatchObject({ publications: [], duplicates: [{ productId: 6 }] });
    });

    test("of a refused copy take back what a person said, although an earlier copy was made", async () => {
      const { ledger } = await make();
      await begin(ledger, { ...copyOperation, id: "op-1" });
      await ledger.finish("op-1", done, [copied(6)]);
      await ledger.record([{ type: "duplicate_forgotten", name: "a" }]);
      await ledger.begin(copyOperation);
      await ledger.record([copied(7, "get"), { type: "settled", operationId: "op-2", outcome: "done" }]);
      const outcome = record({ operation: copyOperation, result: refused, effects: [] });
      expect(await ledger.replay(outcome, "use-recovered")).toEqual({ type: "recorded" });
      expect((await ledger.load()).duplicates).toEqual([]);
    });

    test.each([{ ...refused, status: 401 }, notSent, { ...unknown, status: 409 }])(
      "of an attachment that ended as $outcome show that its draft may be published where the file is attached",
      async (result) => {
        const { ledger } = await make();
        await begin(ledger);
        await ledger.record([attached(1), { type: "settled", operationId: "op", outcome: "done" }]);
        const outcome = record({ result, effects: [] });
        expect(await ledger.replay(outcome)).toEqual({ type: "known" });
        expect(await ledger.load()).toMatchObject({ attachments: [{ fileId: 1 }], inDoubt: [] });
        expect([...(await ledger.load()).maybePublished.keys()]).toEqual([7]);
      },
    );

    test.each([
      { said: "what a person said, although it is confirmed", isMade: false },
      { said: "nothing of the product that a different call has made", isMade: true },
      { said: "what a person said, when it was not sent", isMade: false, result: notSent },
    ])("of a refused publish take back $said", async ({ isMade, result = refused }) => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      await ledger.record([{ type: "settled", operationId: "op", outcome: "done" }]);
      if (isMade) {
        await ledger.begin({ ...publishOperation, id: "other" });
        await ledger.finish("other", done, [publication(5)]);
      } else await ledger.record([publication(5, "operator")]);
      const confirmation = { by: "get", at: 2 } as const;
      await ledger.record([{ type: "product_confirmed", productId: 5, provenance: confirmation }]);
      const outcome = record({ operation: publishOperation, result, effects: [] });
      expect(await ledger.replay(outcome, "use-recovered")).toEqual({ type: "recorded" });
      expect((await ledger.load()).publications).toHaveLength(isMade ? 1 : 0);
    });

    test.each<[string, Partial<NewOperation>, boolean]>([
      ["a copy of its product", { kind: "duplicate", intent: { draftId: 7, productId: 5 } }, true],
      ["a second revision", { intent: { draftId: 7, revision: 2 } }, true],
      ["a third revision", { intent: { draftId: 7, revision: 3 } }, true],
      ["a first revision", {}, true],
      ["a copy of a different product", { kind: "duplicate", intent: { productId: 5 } }, false],
    ])(
      "of a refused call that the ledger lacks, %s, show that its draft may be published since",
      async (_what, other, isShown) => {
        const operation = { ...publishOperation, ...other };
        for (const known of [[], [publication(4)], [publication(5)]]) {
          const { ledger } = await make();
          await ledger.record(known);
          await ledger.replay(record({ operation, result: refused, effects: [] }));
          expect([...(await ledger.load()).maybePublished.keys()]).toEqual(isShown ? [7] : []);
        }
      },
    );

    test("of a refused attachment leave only its file in doubt, not the values that it sent", async () => {
      const { ledger } = await make();
      const { intent, ...call } = attachOperation("op");
      const operation: NewOperation = { ...call, intent: { ...intent, attributes: { renderer: "x" } } };
      await begin(ledger, operation);
      await ledger.replay(record({ operation, result: refused, effects: [] }));
      const { attributes: _none, ...file } = intent;
      expect((await ledger.load()).inDoubt).toMatchObject([{ id: "op", status: 422 }]);
      expect((await ledger.load()).inDoubt[0]?.intent).toEqual(file);
    });

    test.each([
      { what: "an attachment", status: 401, operation: attachOperation("op") },
      { what: "an update", status: 422, operation: update("op") },
      { what: "a detach", status: 403, operation: detach("op") },
    ])("of $what that was refused with $status leave nothing in doubt", async ({ status, operation }) => {
      const { ledger } = await make();
      await begin(ledger, operation);
      const outcome = record({ operation, result: { ...refused, status }, effects: [] });
      expect(await ledger.replay(outcome)).toEqual({ type: "recorded" });
      expect(await ledger.load()).toMatchObject({ inDoubt: [], attachments: [] });
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

    test("of a file with another call in doubt are left in doubt, like that one", async () => {
      const { ledger } = await make();
      await begin(ledger, update("op"));
      await ledger.record([attached(1)]);
      await ledger.begin(update("other"));
      for (const [id, format] of [
        ["other", "v3"],
        ["op", "v2"],
      ] as const) {
        const outcome = record({ operation: update(id), effects: [updated(format)] });
        expect(await ledger.replay(outcome)).toEqual({ type: "in_doubt" });
        expect(await ledger.replay(outcome)).toEqual({ type: "known" });
      }
      const { inDoubt, attachments } = await ledger.load();
      expect(inDoubt.map(({ id }) => id).sort()).toEqual(["op", "other"]);
      expect(attachments).toEqual([attachment(1)]);
    });

    test("are rejected completely when one effect is invalid", async () => {
      const { ledger } = await make();
      await begin(ledger, publishOperation);
      const operation = publishOperation;
      const wrong = record({
        operation,
        effects: [publication(5), { type: "protection", draftId: 1.5, protect: true }],
      });
      await expect(ledger.replay(wrong)).rejects.toMatchObject({ code: "ledger-invalid-value" });
      expect(await ledger.load()).toMatchObject({ publications: [], inDoubt: [{ id: "op" }] });
    });
  });
}
