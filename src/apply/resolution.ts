import { parseAddress } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import { DraftsyncError } from "../model/errors.ts";
import type { LedgerEffect } from "../model/ports.ts";
import {
  fileResourceOf,
  makesProduct,
  type Provenance,
  productIdOf,
  publicationsInForce,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
} from "../model/recorded.ts";
import { type Attributes, clearedAttributes, type FileTarget, fileResource } from "../model/resource.ts";
import {
  attributesOnceAttached,
  effectsOfAttachment,
  effectsOfUpdates,
  isOfAnother,
  unrecordedFile,
} from "../model/unsettled.ts";

/** What a person found out about an operation in doubt, or about the file of several. */
export type Resolution =
  | { readonly type: "done" }
  /** A publication or duplicate that made this product. */
  | { readonly type: "product"; readonly productId: number }
  | { readonly type: "not_done" }
  /** The file is attached, or is not, whichever calls about it took effect. */
  | { readonly type: "attached" }
  | { readonly type: "not_attached" };

/** A resolution that does not fit the operation. Codes: `resolution-needs-product`, `resolution-needs-no-product`, `resolution-impossible`. */
export class ResolutionError extends DraftsyncError {
  override readonly name = "ResolutionError";
}

type Known = Pick<Recorded, "attachments" | "keptValues" | "publications" | "duplicates">;

interface ResolutionContext extends Known {
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * The effects of an operator's resolution (provenance `operator`) of the operations at one address, in the order in which they
 * are shown; they settle all of them. What a person says of a file's values is not confirmed, since a call before may have set
 * others: the next apply sends them again. Pure. Throws {@link ResolutionError}.
 */
export function resolutionOfAll(
  operations: readonly RecordedOperation[],
  resolution: Resolution,
  { attachments, keptValues, now, ...products }: ResolutionContext,
): readonly LedgerEffect[] {
  const [shown, ...others] = operations;
  if (shown === undefined) return [];
  const provenance: Provenance = { by: "operator", at: now };
  const isAttached = presenceOf(shown, others, resolution);
  if (isAttached !== undefined)
    return [
      ...(isAttached
        ? attachedEffects(shown, operations, { attachments, keptValues, provenance })
        : [{ type: "detached", target: fileOf(shown) } as const]),
      ...operations.map(({ kind, id }) => settled(id, endWhere(isAttached, kind))),
    ];
  const isDone = resolution.type !== "not_done";
  return [
    ...(isDone ? doneEffects(shown, resolution, { ...products, provenance }) : []),
    ...operations.map(({ id }) => settled(id, isDone ? "done" : "not_sent")),
    ...(shown.kind === "update" ? updateEffects(shown, { isDone, attachments, provenance }) : []),
  ];
}

/** Whether the file of the calls is attached; `undefined` when it is not known, and for a product or an upload. */
function presenceOf(
  shown: RecordedOperation,
  others: readonly RecordedOperation[],
  { type }: Resolution,
): boolean | undefined {
  const { kind, address } = shown;
  if (type === "attached" || type === "not_attached") {
    if (fileResourceOf(shown) !== undefined) return type === "attached";
    throw impossible(
      `${address} is ${kind === "upload" ? "an upload" : `a ${kind}`} in doubt, not a file of a draft`,
      kind === "upload" ? "Say --done or --not-done." : "Say --product-id ID or --not-done.",
    );
  }
  if (type === "product" || fileResourceOf(shown) === undefined) return undefined;
  const other = others.find((each) => !isAnsweredWith(each, shown, type));
  if (other !== undefined) {
    throw impossible(
      `one answer cannot settle both calls in doubt about ${fileResourceOf(shown)}: ${shown.method} (${kind}) and ${other.method} (${other.kind})`,
      "Let apply settle both: with the file's entry in the manifests it is updated, without it, in a list that the document has, it is detached. Or look whether the file is attached, and say --attached or --not-attached.",
    );
  }
  if (kind === "update") return undefined;
  return (kind === "attach") === (type === "done");
}

/** How a call ended, by whether its file is attached: of an update that says nothing. */
function endWhere(isAttached: boolean, kind: RecordedOperation["kind"]): Settled {
  if (kind === "update") return "superseded";
  return (kind === "attach") === isAttached ? "done" : "not_sent";
}

/** Whether what a person says of the call that is shown about a file is enough for another one. */
function isAnsweredWith(
  { kind, address, intent }: RecordedOperation,
  shown: RecordedOperation,
  type: "done" | "not_done",
): boolean {
  if ((kind === "detach") !== (shown.kind === "detach")) return false;
  if (shown.kind !== "update") return true;
  if (address !== shown.address) return false;
  const sent = new Map(Object.entries(shown.intent.attributes ?? {}));
  const own = Object.entries(intent.attributes ?? {});
  if (type === "done") return own.every(([name]) => sent.has(name));
  return own.length === sent.size && own.every(([name, value]) => sent.get(name) === value);
}

interface FileContext {
  readonly attachments: Recorded["attachments"];
  readonly provenance: Provenance;
}

/** One that was recorded before keeps its entry and the values confirmed last. */
function attachedEffects(
  shown: RecordedOperation,
  operations: readonly RecordedOperation[],
  { keptValues, ...context }: FileContext & Pick<Recorded, "keptValues">,
): readonly LedgerEffect[] {
  const { attachments, provenance } = context;
  const record = recordOfFile(shown, attachments);
  const attributes = attributesOnceAttached(operations, { record, keptValues, attachments });
  if (record !== undefined) {
    // Nothing else was sent.
    if (attributes === record.attributes) return [];
    return [{ type: "rerecorded", attachment: { ...record, attributes, provenance } }];
  }
  const attach = operations.find(({ kind }) => kind === "attach");
  if (attach === undefined) return [{ type: "attached", attachment: unrecorded(shown, context, attributes) }];
  return effectsOfAttachment(attach, { ...fileOf(attach), attributes, provenance }, !isOfAnother(attach));
}

function recordOfFile(
  operation: RecordedOperation,
  attachments: Recorded["attachments"],
): RecordedAttachment | undefined {
  const file = fileResourceOf(operation);
  return attachments.find((each) => fileResource(each) === file);
}

function unrecorded(
  operation: RecordedOperation,
  { attachments, provenance }: FileContext,
  attributes: Attributes,
): RecordedAttachment {
  return { ...unrecordedFile(fileOf(operation), operation, attachments), attributes, provenance };
}

/** What an update in doubt leaves of a recorded file: what it sent, or what was confirmed before; and which entry has it. */
function updateEffects(
  operation: RecordedOperation,
  { isDone, attachments, provenance }: FileContext & { readonly isDone: boolean },
): readonly LedgerEffect[] {
  const record = recordOfFile(operation, attachments);
  const { attributes: sent = {} } = operation.intent;
  if (record === undefined) {
    const values = isDone ? sent : clearedAttributes(sent);
    return [{ type: "attached", attachment: unrecorded(operation, { attachments, provenance }, values) }];
  }
  const attributes = { ...record.attributes, ...(isDone ? sent : {}) };
  return effectsOfUpdates(record, { attributes, provenance }, isDone ? operation : undefined, attachments);
}

type Settled = Extract<LedgerEffect, { type: "settled" }>["outcome"];

function settled(operationId: string, outcome: Settled): LedgerEffect {
  return { type: "settled", operationId, outcome };
}

/** Of a product. The next plan uses the result of an upload; what an update leaves is recorded with its file. */
function doneEffects(
  operation: RecordedOperation,
  resolution: Resolution,
  context: ProductContext,
): readonly LedgerEffect[] {
  const { address, kind } = operation;
  if (makesProduct(kind)) {
    if (resolution.type === "product") return productEffects(operation, resolution.productId, context);
    throw new ResolutionError(`${address} is a ${kind} in doubt: if it took effect, it made a product`, {
      code: "resolution-needs-product",
      hint: "Look the product up at the service and give its id with --product-id, or say --not-done.",
    });
  }
  if (resolution.type !== "product") return [];
  throw new ResolutionError(`${address} is an ${kind} in doubt: no product comes of it`, {
    code: "resolution-needs-no-product",
    hint: "Say --done or --not-done.",
  });
}

type ProductContext = Pick<Recorded, "publications" | "duplicates"> & { readonly provenance: Provenance };

/** None if another call has made the product of the same revision or name: one was sent from a ledger that was restored since. */
function productEffects(
  operation: RecordedOperation,
  productId: number,
  { publications, duplicates, provenance }: ProductContext,
): readonly LedgerEffect[] {
  const { draftId, revision, name, productId: sourceProductId } = operation.intent;
  if (operation.kind === "publish" && draftId !== undefined && revision !== undefined) {
    if (publications.some((each) => each.draftId === draftId && each.revision === revision)) return [];
    return [{ type: "published", draftId, revision, productId, provenance }];
  }
  // A duplicate made by `products duplicate` has no name in the ledger.
  if (parseAddress(operation.address)?.type !== "duplicate") return [];
  if (name === undefined || sourceProductId === undefined) throw tooLittle(operation);
  if (duplicates.some((each) => each.name === name)) return [];
  const from =
    draftId === undefined
      ? ({ by: "product_id", productId: sourceProductId } as const)
      : ({ by: "draft", draftId } as const);
  return [{ type: "duplicated", name, from, sourceProductId, productId, provenance }];
}

function fileOf(operation: RecordedOperation): FileTarget {
  const address = parseAddress(operation.address);
  const { fileId } = operation.intent;
  if (address?.type !== "attachment" || fileId === undefined) throw tooLittle(operation);
  return { draftId: address.draftId, kind: address.kind, fileId };
}

function tooLittle({ address, id }: RecordedOperation): ResolutionError {
  return impossible(
    `the ledger holds too little of operation ${id} to record ${address} as done`,
    "Say --not-done; a file that is attached after all is adopted by the next apply.",
  );
}

function impossible(message: string, hint: string): ResolutionError {
  return new ResolutionError(message, { code: "resolution-impossible", hint });
}

/** What a person knows of a product that was made before the ledger. */
export interface EarlierProduct {
  readonly address: string;
  readonly productId: number;
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly provenance: Provenance;
}

/**
 * What the ledger takes of a publication or duplicate that was made before it: a publication counts as of the revision that
 * the manifest asks for. Pure. Throws {@link ResolutionError} `resolution-impossible` for any other address, for one that is
 * recorded already, for a duplicate that no manifest declares, and for the product that it is a copy of.
 */
export function earlierProductEffect(
  product: EarlierProduct,
): Extract<LedgerEffect, { type: "published" | "duplicated" }> {
  const address = parseAddress(product.address);
  if (address?.type === "publication") return publication(product, address.draftId);
  if (address?.type === "duplicate") return duplicate(product, address.name);
  throw impossible(
    `${product.address} is not a publication or a duplicate`,
    "Write `drafts/48213/product` or `duplicates/NAME`, as `draftsync plan` shows it.",
  );
}

function publication({ address, productId, desired, recorded, provenance }: EarlierProduct, draftId: number) {
  const revision = desired.drafts.find((draft) => draft.draftId === draftId)?.publish?.revision ?? 1;
  const known = publicationsInForce(recorded).get(draftId);
  if (known !== undefined && known.revision >= revision)
    throw recordedAlready(address, known.productId, productId);
  return { type: "published", draftId, revision, productId, provenance } as const;
}

function duplicate({ address, productId, desired, recorded, provenance }: EarlierProduct, name: string) {
  const known = recorded.duplicates.find((each) => each.name === name);
  if (known !== undefined) throw recordedAlready(address, known.productId, productId);
  const from = desired.duplicates.find((each) => each.name === name)?.product;
  if (from === undefined) {
    throw impossible(`no manifest declares ${address}`, "Add it to a list of `duplicates` first.");
  }
  const sourceProductId = productIdOf(from, publicationsInForce(recorded));
  if (sourceProductId === undefined) {
    throw impossible(
      `${address} copies the product of a draft that has none in the ledger`,
      `Record that one first: draftsync resolve drafts/${from.by === "draft" ? from.draftId : ""}/product --product-id ID`,
    );
  }
  if (sourceProductId === productId) {
    throw impossible(
      `${address}: product ${productId} is what it is a copy of`,
      "Check the product id at the service again.",
    );
  }
  return { type: "duplicated", name, from, sourceProductId, productId, provenance } as const;
}

function recordedAlready(address: string, productId: number, given: number): ResolutionError {
  return impossible(
    `${address} is recorded already, as product ${productId}`,
    productId === given
      ? "Nothing needs to be done. To publish once more, raise `publish: { revision: … }`."
      : "If that is the wrong product: `draftsync state export > ledger.json`, correct the id in that file, `draftsync state import ledger.json --state NEW`, and use that ledger.",
  );
}
