import fc from "fast-check";
import { type FileRef, formatAddress } from "../../../src/model/address.ts";
import type { LedgerEffect } from "../../../src/model/ports.ts";
import { confirmations, type RecordedAttachment } from "../../../src/model/recorded.ts";
import { fileKinds } from "../../../src/model/resource.ts";

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

/** Any effect except `settled`, on few resources, so that effects collide. */
export const anyEffect: fc.Arbitrary<LedgerEffect> = fc.oneof(
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
    arbitrary: fc.tuple(attachment, fc.option(small), fc.boolean(), fc.option(attachment)).map(
      ([{ draftId, kind, fileId, address, sha256 }, replaces, takesOver, former]): LedgerEffect => ({
        type: "readdressed",
        target: { draftId, kind, fileId },
        address,
        ...(sha256 === undefined ? {} : { sha256 }),
        ...(replaces === null ? {} : { replaces }),
        ...(takesOver ? { takesOver } : {}),
        ...(former === null ? {} : { formerAddress: former.address }),
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
  attachment.map(({ address }): LedgerEffect => ({ type: "values_forgotten", address })),
  fc.constantFrom("x", "y").map((name): LedgerEffect => ({ type: "duplicate_forgotten", name })),
  fc
    .record({ productId: small, provenance })
    .map((each): LedgerEffect => ({ type: "product_confirmed", ...each })),
  fc
    .record({ resource: fc.constantFrom("drafts/1/product_files/1", "products/1"), at: fc.nat() })
    .map((each): LedgerEffect => ({ type: "refreshed", ...each })),
  fc
    .record({ draftId: small, protect: fc.boolean() })
    .map((each): LedgerEffect => ({ type: "protection", ...each })),
  fc
    .record({ draftId: small, title: fc.constantFrom("Dragon", "海蛇") })
    .map((each): LedgerEffect => ({ type: "titled", ...each })),
  fc
    .record({ draftId: small, at: fc.nat() })
    .map((each): LedgerEffect => ({ type: "maybe_published", ...each })),
  small.map((draftId): LedgerEffect => ({ type: "maybe_published_settled", draftId })),
  fc
    .record({
      uploadKey: fc.constantFrom("k", "l"),
      source: fc.constantFrom("a", "b"),
      sha256: fc.constantFrom("aa", "bb"),
      size: fc.nat(),
      at: fc.nat(),
    })
    .map((each): LedgerEffect => ({ type: "object_stored", ...each })),
  fc.constantFrom("k", "l").map((uploadKey): LedgerEffect => ({ type: "object_forgotten", uploadKey })),
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
  fc
    .record({ uploadId: fc.constantFrom("u", "w"), fileId: small, at: fc.nat() })
    .map((each): LedgerEffect => ({ type: "upload_found", status: "success", ...each })),
);
