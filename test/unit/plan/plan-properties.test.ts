import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatAddress } from "../../../src/model/address.ts";
import type { AttachmentState, Change } from "../../../src/model/change.ts";
import { isProtectChange } from "../../../src/model/change.ts";
import type { Desired, DesiredAttachment } from "../../../src/model/desired.ts";
import type { Recorded, RecordedAttachment } from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import { fileResource, pickAttributes } from "../../../src/model/resource.ts";
import { someAttributes } from "../../support/attributes.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wanted,
} from "../../support/planning.ts";
import { runs } from "../../support/runs.ts";

const text = fc.constantFrom("", "fbx", "2020", "über");
const productAttributes = someAttributes("product_files", text);
const promotionalAttributes = someAttributes("promotional_files", text);

const sources = ["a.glb", "b.glb", "c.glb"];
const contents = ["s1", "s2", "s3", "s4"];

interface Entry {
  readonly ref: DesiredAttachment["address"]["ref"];
  readonly attributes: Attributes;
  readonly content?: { readonly sha256: string; readonly size: number };
}

function entries(attributes: fc.Arbitrary<Attributes>): fc.Arbitrary<Entry[]> {
  const byId = fc.record({
    ref: fc.integer({ min: 1, max: 6 }).map((fileId) => ({ by: "file_id", fileId }) as const),
    attributes,
  });
  const bySource = fc.record({
    ref: fc.constantFrom(...sources).map((source) => ({ by: "source", source }) as const),
    attributes,
    content: fc.constantFrom(...contents).map((sha256) => ({ sha256, size: 3 })),
  });
  return fc.uniqueArray(fc.oneof(byId, bySource), {
    maxLength: 6,
    selector: ({ ref }) => JSON.stringify(ref),
  });
}

const draft = (draftId: number) =>
  fc
    .record({
      product: entries(productAttributes),
      promotional: entries(promotionalAttributes),
      revision: fc.integer({ min: 0, max: 3 }),
      protect: fc.boolean(),
    })
    .map(({ product, promotional, revision, protect }) => {
      const make = (kind: "product_files" | "promotional_files") => (entry: Entry) => ({
        ...wanted(draftId, kind, entry.ref, entry.attributes),
        ...(entry.content === undefined ? {} : { content: entry.content }),
      });
      const attachments = [
        ...product.map(make("product_files")),
        ...promotional.map(make("promotional_files")),
      ];
      return draftWith(draftId, {
        attachments,
        protect,
        ...(revision === 0 ? {} : { publish: { revision, position: 1 } }),
      });
    });

const desiredStates: fc.Arbitrary<Desired> = fc
  .tuple(fc.option(draft(1)), fc.option(draft(2)))
  .map((drafts) => desiredWith({ drafts: drafts.filter((item) => item !== null) }));

/** The reference model: the state of service and ledger after every change of a plan succeeded. */
class Reference {
  readonly attachments = new Map<string, RecordedAttachment>();
  readonly published = new Map<number, number>();
  readonly protectedDrafts = new Set<number>();
  #nextFile = 1000;

  recorded(): Recorded {
    return recordedWith({
      attachments: [...this.attachments.values()],
      protectedDrafts: new Set(this.protectedDrafts),
      publications: [...this.published].map(([draftId, revision]) => ({
        draftId,
        revision,
        productId: 1,
        provenance: { by: "post", at: 0 },
      })),
    });
  }

  apply(changes: readonly Change[]): void {
    for (const change of changes) {
      const [, draft = "", kind] = change.address.split("/");
      const draftId = Number(draft);
      if (isProtectChange(change)) {
        if (change.after.protect) this.protectedDrafts.add(draftId);
        else this.protectedDrafts.delete(draftId);
      } else if (change.action === "publish") this.published.set(draftId, change.after.revision);
      else if (kind === "product_files" || kind === "promotional_files") this.#attach(change, draftId, kind);
    }
  }

  #attach(change: Change, draftId: number, kind: RecordedAttachment["kind"]): void {
    const before: AttachmentState | null =
      change.before !== null && "file_id" in change.before ? change.before : null;
    if (before?.file_id !== undefined) this.attachments.delete(`${draftId}/${kind}/${before.file_id}`);
    if (change.action === "delete" || change.after === null || !isAttachmentState(change.after)) return;
    const after = change.after;
    const fileId = after.file_id ?? this.#nextFile++;
    // As in the ledger, a file loses its address to another file with that address.
    for (const [key, other] of this.attachments) {
      if (other.address === change.address)
        this.attachments.set(key, { ...other, address: fileResource(other) });
    }
    this.attachments.set(
      `${draftId}/${kind}/${fileId}`,
      recordedFile(draftId, fileId, {
        kind,
        address: change.address,
        attributes: pickAttributes(kind, { ...before, ...after }),
        ...(after.sha256 === undefined ? {} : { sha256: after.sha256 }),
      }),
    );
  }
}

function isAttachmentState(state: object): state is AttachmentState {
  return !("protect" in state) && !("revision" in state) && !("draft_id" in state);
}

/** Applies two plans: one that lifts a protection excludes deletes until the next. */
function converge(reference: Reference, desired: Desired): void {
  for (let times = 0; times < 2; times += 1) reference.apply(planOf(desired, reference.recorded()).changes);
}

/** Whether two desired entries are the same file, which is an error. */
function isAmbiguous(desired: Desired, reference: Reference): boolean {
  return planOf(desired, reference.recorded()).diagnostics.some(({ severity }) => severity === "error");
}

describe("a plan", () => {
  test("is empty after a successful apply, from any state", () => {
    fc.assert(
      fc.property(desiredStates, desiredStates, (first, second) => {
        const reference = new Reference();
        converge(reference, first);
        fc.pre(!isAmbiguous(second, reference));
        converge(reference, second);
        expect(planOf(second, reference.recorded()).changes).toEqual([]);
      }),
      runs(150),
    );
  });

  test("leads to the desired state, from any state", () => {
    fc.assert(
      fc.property(desiredStates, desiredStates, (first, second) => {
        const reference = new Reference();
        converge(reference, first);
        fc.pre(!isAmbiguous(second, reference));
        converge(reference, second);
        const held = new Map([...reference.attachments.values()].map((item) => [item.address, item]));
        const wished = second.drafts.flatMap(({ attachments }) => attachments);
        expect([...held.keys()].sort()).toEqual(wished.map(({ address }) => formatAddress(address)).sort());
        for (const { address, attributes, content } of wished) {
          expect(held.get(formatAddress(address))).toMatchObject({
            attributes,
            ...(content && { sha256: content.sha256 }),
          });
        }
        for (const { draftId, publish, protect } of second.drafts) {
          expect(reference.protectedDrafts.has(draftId)).toBe(protect);
          expect(reference.published.get(draftId) ?? 0).toBeGreaterThanOrEqual(publish?.revision ?? 0);
        }
      }),
      runs(150),
    );
  });

  test("has the same bytes for any order of manifests and ledger records", () => {
    fc.assert(
      fc.property(desiredStates, desiredStates, fc.infiniteStream(fc.nat()), (first, second, stream) => {
        const reference = new Reference();
        converge(reference, first);
        const recorded = reference.recorded();
        const plan = planOf(second, recorded);
        const shuffle = <T>(list: readonly T[]): T[] =>
          list
            .map((item) => ({ item, key: stream.next().value }))
            .sort((a, b) => a.key - b.key)
            .map(({ item }) => item);
        const drafts = shuffle(second.drafts).map((item) => ({
          ...item,
          attachments: shuffle(item.attachments),
        }));
        const shuffled = planOf(
          { ...second, drafts },
          { ...recorded, attachments: shuffle(recorded.attachments) },
        );
        expect(JSON.stringify(shuffled)).toBe(JSON.stringify(plan));
      }),
      runs(150),
    );
  });

  test("leaves its input unchanged", () => {
    fc.assert(
      fc.property(desiredStates, (desired) => {
        const before = JSON.stringify(desired);
        planOf(desired, recordedWith());
        expect(JSON.stringify(desired)).toBe(before);
      }),
      runs(50),
    );
  });
});
