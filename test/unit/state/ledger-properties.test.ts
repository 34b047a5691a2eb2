import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type FileRef, formatAddress } from "../../../src/model/address.ts";
import { type LedgerEffect, systemClock } from "../../../src/model/ports.ts";
import { confirmations, type RecordedAttachment } from "../../../src/model/recorded.ts";
import { fileKinds } from "../../../src/model/resource.ts";
import { openLedger } from "../../../src/state/open-ledger.ts";
import { LedgerModel } from "./ledger-model.ts";
import { freshFolder } from "./samples.ts";

const small = fc.integer({ min: 1, max: 3 });
const provenance = fc.record({ by: fc.constantFrom(...confirmations), at: fc.nat() });
const requiredNone = { requiredKeys: [] };

const attachment: fc.Arbitrary<RecordedAttachment> = fc
  .record({ draftId: fc.integer({ min: 1, max: 2 }), kind: fc.constantFrom(...fileKinds), fileId: small })
  .chain((key) => {
    const ref = fc.constantFrom<FileRef>(
      { by: "file_id", fileId: key.fileId },
      { by: "source", source: "a" },
      { by: "source", source: "b" },
      { by: "upload_key", uploadKey: "k" },
    );
    const address = ref.map((each) => formatAddress({ type: "attachment", ...key, ref: each }));
    const values =
      key.kind === "product_files"
        ? fc.record({ renderer: fc.string({ unit: "binary" }), is_native: fc.boolean() }, requiredNone)
        : fc.record({ description: fc.string({ unit: "binary" }) }, requiredNone);
    return fc
      .tuple(address, values, provenance, fc.constantFrom({}, { sha256: "aa" }, { sha256: "bb" }))
      .map(([each, attributes, by, digest]) => ({
        ...key,
        address: each,
        attributes,
        provenance: by,
        ...digest,
      }));
  });

const effect: fc.Arbitrary<LedgerEffect> = fc.oneof(
  { weight: 4, arbitrary: attachment.map((each): LedgerEffect => ({ type: "attached", attachment: each })) },
  fc
    .tuple(attachment, small)
    .map(([each, replaces]): LedgerEffect => ({ type: "attached", attachment: each, replaces })),
  {
    weight: 2,
    arbitrary: attachment.map((each): LedgerEffect => ({ type: "rerecorded", attachment: each })),
  },
  {
    weight: 2,
    arbitrary: attachment.map(
      ({ draftId, kind, fileId, address, sha256 }): LedgerEffect => ({
        type: "readdressed",
        target: { draftId, kind, fileId },
        address,
        ...(sha256 === undefined ? {} : { sha256 }),
      }),
    ),
  },
  attachment.map(
    ({ draftId, kind, fileId }): LedgerEffect => ({ type: "detached", target: { draftId, kind, fileId } }),
  ),
  fc
    .record({ draftId: small, revision: small, productId: small, provenance })
    .map((each): LedgerEffect => ({ type: "published", ...each })),
  fc
    .record({
      name: fc.constantFrom("x", "y"),
      sourceProductId: small,
      productId: small,
      provenance,
      draftId: small,
    })
    .map(
      ({ draftId, ...each }): LedgerEffect => ({
        type: "duplicated",
        from: { by: "draft", draftId },
        ...each,
      }),
    ),
  fc.constantFrom("x", "y").map((name): LedgerEffect => ({ type: "duplicate_forgotten", name })),
  fc
    .record({ draftId: small, protect: fc.boolean() })
    .map((each): LedgerEffect => ({ type: "protection", ...each })),
  fc
    .record(
      {
        uploadId: fc.constantFrom("u", "v"),
        uploadKey: fc.constantFrom("k", "l"),
        at: fc.nat(),
        size: fc.nat(),
      },
      { requiredKeys: ["uploadId", "uploadKey", "at"] },
    )
    .map((each): LedgerEffect => ({ type: "upload_registered", ...each })),
  fc
    .record({ uploadId: fc.constantFrom("u", "v", "w"), fileId: small })
    .map((each): LedgerEffect => ({ type: "upload_ended", status: "success", ...each })),
);

test("any sequence of effects leaves what the model says, and a refused one leaves everything", async () => {
  const folder = freshFolder();
  let files = 0;
  const batches = fc.array(fc.array(effect, { minLength: 1, maxLength: 3 }), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(batches, async (sequence) => {
      files += 1;
      const ledger = await openLedger({ location: join(folder, `${files}.db`), clock: systemClock });
      const model = new LedgerModel();
      for (const effects of sequence) {
        const accepted = await ledger.record(effects).then(
          () => true,
          () => false,
        );
        expect(model.record(effects)).toBe(accepted);
      }
      const { lineage: _, ...recorded } = await ledger.load();
      await ledger.close();
      expect(recorded).toEqual(model.recorded());
    }),
    { numRuns: 40 },
  );
}, 60_000);

test("an export does not tell the order in which unrelated effects arrived", async () => {
  const folder = freshFolder();
  let files = 0;
  const exported = async (effects: readonly LedgerEffect[]) => {
    files += 1;
    const ledger = await openLedger({ location: join(folder, `${files}.db`), clock: systemClock });
    for (const each of effects) await ledger.record([each]);
    const { lineage: _, ...rest } = await ledger.export();
    await ledger.close();
    return JSON.stringify(rest);
  };
  const unrelated = fc.uniqueArray(effect.filter(standsAlone), { selector: subjectOf, maxLength: 12 });
  const orders = unrelated.chain((effects) =>
    fc.tuple(fc.constant(effects), fc.shuffledSubarray(effects, { minLength: effects.length })),
  );
  await fc.assert(
    fc.asyncProperty(orders, async ([one, other]) => {
      expect(await exported(other)).toBe(await exported(one));
    }),
    { numRuns: 20 },
  );
}, 60_000);

/** Effects that say all there is to say of one thing. */
function standsAlone(each: LedgerEffect): boolean {
  if (each.type === "attached") return each.replaces === undefined && /\/\d+$/.test(each.attachment.address);
  return (
    each.type !== "rerecorded" &&
    each.type !== "readdressed" &&
    each.type !== "upload_ended" &&
    each.type !== "detached"
  );
}

function subjectOf(each: LedgerEffect): string {
  switch (each.type) {
    case "attached":
      return each.attachment.address;
    case "published":
      return `drafts/${each.draftId}/product/${each.revision}`;
    case "duplicated":
    case "duplicate_forgotten":
      return `duplicates/${each.name}`;
    case "protection":
      return `drafts/${each.draftId}`;
    case "upload_registered":
      return `uploads/${each.uploadId}`;
    default:
      return each.type;
  }
}
