import fc from "fast-check";
import { formatAddress } from "../../../src/model/address.ts";
import type { RefreshTarget } from "../../../src/model/observed.ts";
import type { CallFailure } from "../../../src/model/outcome.ts";
import type {
  RecordedAttachment,
  RecordedDuplicate,
  RecordedOperation,
  RecordedPublication,
  RecordedUpload,
} from "../../../src/model/recorded.ts";
import { makeFileIdFinder } from "../../../src/plan/recorded-index.ts";
import type { detectDrift } from "../../../src/refresh/detect-drift.ts";
import type { RefreshPolicy, SelectTargetsInput } from "../../../src/refresh/select-targets.ts";
import { desiredWith, draftWith, recordedFile, recordedWith, wantedFile } from "../../support/planning.ts";

/** The time of the selection. */
export const now = 1_000_000;

/** A recorded file of a draft, confirmed at a time. */
export function fileAt(draftId: number, fileId: number, at: number): RecordedAttachment {
  return recordedFile(draftId, fileId, { provenance: { by: "post", at } });
}

/** An operation in doubt about a file. */
export function doubtOf(
  kind: RecordedOperation["kind"],
  [draftId, fileId]: readonly [number, number],
  parts: Partial<RecordedOperation> = {},
): RecordedOperation {
  const fileKind = "product_files";
  return {
    id: `${kind}-${draftId}-${fileId}`,
    runId: "run-1",
    address: `drafts/${draftId}/${fileKind}/${fileId}`,
    kind,
    method: "POST",
    path: "/api/…",
    intent: { draftId, fileKind, fileId },
    startedAt: 0,
    ...parts,
  };
}

/** A product that was published. */
export function publicationAt(draftId: number, productId: number, at: number): RecordedPublication {
  return { draftId, revision: 1, productId, provenance: { by: "post", at } };
}

/** A product that was duplicated. */
export function duplicateAt(name: string, productId: number, at: number): RecordedDuplicate {
  const from = { by: "product_id", productId: 1 } as const;
  return { name, from, sourceProductId: 1, productId, provenance: { by: "post", at } };
}

/** A pending upload of a key that was already in storage. */
export function uploadOf(uploadId: string, parts: Partial<RecordedUpload> = {}): RecordedUpload {
  return { uploadId, uploadKey: `in/${uploadId}`, status: "pending", at: 0, ...parts };
}

/** A policy that probes, within 100 calls. */
export function policyOf(parts: Partial<RefreshPolicy> = {}): RefreshPolicy {
  return { mode: "budget", attachments: "probe", maxCalls: 100, maxAgeMs: 0, ...parts };
}

/** Input of the selection: by default nothing is desired or recorded. */
export function inputOf(parts: Partial<SelectTargetsInput> = {}): SelectTargetsInput {
  const recorded = parts.recorded ?? recordedWith();
  return {
    desired: desiredWith(),
    recorded,
    policy: policyOf(),
    now,
    uploadsPerCall: 2,
    fileIdOf: makeFileIdFinder(recorded),
    ...parts,
  };
}

/** A short name of a target. */
export function targetName(target: RefreshTarget): string {
  switch (target.type) {
    case "attachment":
      return `${target.target.draftId}/${target.target.fileId}`;
    case "product":
      return `product ${target.productId}`;
    case "uploads":
      return `uploads ${target.uploadIds.join(" ")}`;
  }
}

const small = fc.integer({ min: 1, max: 6 });
const draftId = fc.integer({ min: 1, max: 4 });
const at = fc.integer({ min: 0, max: 2 * now });

const attachments = fc
  .uniqueArray(fc.tuple(draftId, small, at), {
    maxLength: 12,
    selector: ([draft, file]) => `${draft}/${file}`,
  })
  .map((list) => list.map(([draft, file, when]) => fileAt(draft, file, when)));
const publications = fc
  .uniqueArray(fc.tuple(draftId, small, at), { maxLength: 4, selector: ([draft]) => draft })
  .map((list) => list.map(([draft, product, when]) => publicationAt(draft, product, when)));
const duplicates = fc
  .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c"), small, at), {
    maxLength: 3,
    selector: ([name]) => name,
  })
  .map((list) => list.map(([name, product, when]) => duplicateAt(name, product, when)));
const uploads = fc
  .uniqueArray(fc.tuple(fc.constantFrom("u", "v", "w", "x"), fc.boolean(), small), {
    maxLength: 4,
    selector: ([id]) => id,
  })
  .map((list) => list.map(([id, ended, fileId]) => uploadOf(id, ended ? { status: "success", fileId } : {})));
const inDoubt = fc
  .uniqueArray(
    fc.tuple(fc.constantFrom("attach", "update", "detach", "publish" as const), draftId, small, at),
    { maxLength: 4, selector: ([kind, draft, file]) => `${kind}/${draft}/${file}` },
  )
  .map((list) =>
    list.map(([kind, draft, file, startedAt]) =>
      doubtOf(kind, [draft, file], {
        startedAt,
        ...(kind === "publish" ? { intent: { draftId: draft, revision: 1 } } : {}),
      }),
    ),
  );
const refreshes = fc
  .uniqueArray(fc.tuple(draftId, small, at), {
    maxLength: 5,
    selector: ([draft, file]) => `${draft}/${file}`,
  })
  .map((list) =>
    list.map(([draft, file, when]) => ({ resource: `drafts/${draft}/product_files/${file}`, at: when })),
  );
const desired = fc
  .uniqueArray(
    fc.tuple(draftId, fc.uniqueArray(small, { maxLength: 5 }), fc.subarray(["u", "v", "w", "x"])),
    { maxLength: 4, selector: ([draft]) => draft },
  )
  .map((drafts) =>
    desiredWith({
      drafts: drafts.map(([draft, files, uploadIds]) =>
        draftWith(draft, {
          attachments: [
            ...files.map((file) => wantedFile(draft, file)),
            ...uploadIds.map((uploadId) => ({
              ...wantedFile(draft, 1),
              address: {
                type: "attachment",
                draftId: draft,
                kind: "product_files",
                ref: { by: "upload_id", uploadId },
              } as const,
            })),
          ],
        }),
      ),
    }),
  );
const policy = fc.record({
  mode: fc.constantFrom("budget", "full" as const),
  attachments: fc.constantFrom("none", "probe" as const),
  maxCalls: fc.integer({ min: 0, max: 12 }),
  maxAgeMs: fc.constantFrom(0, 1, now / 2, 2 * now),
});

/** Any input with few enough resources that lists overlap. */
export const anyInput: fc.Arbitrary<SelectTargetsInput> = fc
  .record({
    desired,
    policy,
    recorded: fc
      .record({ attachments, publications, duplicates, uploads, inDoubt, refreshes })
      .map((parts) => recordedWith(parts)),
    uploadsPerCall: fc.integer({ min: 1, max: 3 }),
  })
  .map((parts) => inputOf(parts));

/** The same input with every list in a random order; `key` returns numbers to sort by. */
export function shuffled(input: SelectTargetsInput, key: () => number): SelectTargetsInput {
  const shuffle = <T>(list: readonly T[]): T[] =>
    list
      .map((item) => ({ item, rank: key() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ item }) => item);
  const { recorded } = input;
  return inputOf({
    ...input,
    desired: desiredWith({
      drafts: shuffle(input.desired.drafts).map((draft) => ({
        ...draft,
        attachments: shuffle(draft.attachments),
      })),
    }),
    recorded: {
      ...recorded,
      attachments: shuffle(recorded.attachments),
      publications: shuffle(recorded.publications),
      duplicates: shuffle(recorded.duplicates),
      uploads: shuffle(recorded.uploads),
      inDoubt: shuffle(recorded.inDoubt),
      refreshes: shuffle(recorded.refreshes),
    },
  });
}

/** Every desired file whose id is known. */
export function desiredFiles({ desired: { drafts }, fileIdOf }: SelectTargetsInput): string[] {
  return drafts.flatMap(({ attachments: list }) =>
    list.flatMap((each) => {
      const fileId = fileIdOf(each);
      return fileId === undefined ? [] : [`${each.address.draftId}/${fileId}`];
    }),
  );
}

/** The address of a file by its id. */
export function addressOf(draft: number, fileId: number): string {
  return formatAddress({
    type: "attachment",
    draftId: draft,
    kind: "product_files",
    ref: { by: "file_id", fileId },
  });
}

/** The failure of an unreadable target. */
export const failure: CallFailure = { code: "timeout", message: "no answer", errors: [], stops: "operation" };

/** A short form of the result of `detectDrift`. */
export function summarize({
  drift,
  confirmations,
  unreadable: unread,
}: ReturnType<typeof detectDrift>): string[] {
  return [
    ...drift.map((item) => [`drift ${item.type}`, ...item.attributes].join(" ")),
    ...confirmations.map((effect) =>
      effect.type === "settled" ? `settled ${effect.operationId} ${effect.outcome}` : effect.type,
    ),
    ...unread.map(() => "unreadable"),
  ];
}
