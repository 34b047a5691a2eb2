import { quoteArgument } from "../model/address.ts";
import type { Change, DuplicateState } from "../model/change.ts";
import type { Desired, DesiredDuplicate, ProductRef } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import {
  productIdOf,
  publicationsInForce,
  type Recorded,
  type RecordedDuplicate,
  type RecordedOperation,
} from "../model/recorded.ts";
import { locationAt } from "../model/source-location.ts";
import type { Differences } from "./differences.ts";
import { blockingDoubts, draftsInDoubt, inDoubtChange, isCopyOf } from "./doubts.ts";

/** Duplicates, by name: desired against recorded. One that is taken away is only forgotten. */
export function diffDuplicates(desired: Desired, recorded: Recorded): Differences {
  const doubts = [...blockingDoubts(recorded).values()].filter(({ kind }) => kind === "duplicate");
  const blocked = new Set(doubts.map(({ address }) => address));
  const made = new Map(recorded.duplicates.map((duplicate) => [duplicate.name, duplicate]));
  const wanted = new Map(desired.duplicates.map(({ name, product }) => [name, product]));
  const published = publicationsInForce(recorded);
  const toPublish = new Set(desired.drafts.filter(({ publish }) => publish).map(({ draftId }) => draftId));
  const unsettled = draftsInDoubt(recorded);
  const replaced = new Set([...raisedRevisions(desired, published), ...unsettled]);
  const left = recorded.duplicates.filter(
    ({ name }) => !wanted.has(name) && !blocked.has(`duplicates/${name}`),
  );
  const changes: Change[] = doubts.map((operation) => inDoubtChange(operation));
  const unchanged: string[] = [];
  const diagnostics: Diagnostic[] = [];
  // The entry may name the product of a draft by its id, or the other way round, by now.
  const isOf = (copy: RecordedDuplicate, product: ProductRef) =>
    copy.sourceProductId === productIdOf(product, published) || isSameDraft(copy, product);
  const differing = recorded.duplicates.filter((copy) => {
    const product = wanted.get(copy.name);
    return product !== undefined && !isOf(copy, product);
  });
  for (const duplicate of desired.duplicates) {
    const address = `duplicates/${duplicate.name}`;
    const known = made.get(duplicate.name);
    const isOfSameProduct = (copy: RecordedDuplicate) => isOf(copy, duplicate.product);
    if (blocked.has(address)) continue;
    if (known !== undefined) {
      unchanged.push(address);
      if (!isOfSameProduct(known)) diagnostics.push(otherProduct(address, duplicate, known));
      continue;
    }
    const draftId = draftOf(duplicate.product);
    // A product that this plan replaces, or a publish in doubt may have, is not copied: the copy waits for the new one.
    const inForce = replaced.has(draftId) ? undefined : published.get(draftId)?.productId;
    const after = duplicated(duplicate.product, inForce);
    if (after.product_id === undefined && !toPublish.has(draftId) && !unsettled.has(draftId)) {
      diagnostics.push(neverPublished(address, duplicate));
      continue;
    }
    const renamed = doubts.find((doubt) => isCopyOf(doubt.intent, after) && !isStillDeclared(doubt, desired));
    if (renamed !== undefined) {
      diagnostics.push(maybeRenamed(address, duplicate, renamed.address));
      continue;
    }
    const reused = differing.find(isOfSameProduct);
    if (reused !== undefined) {
      diagnostics.push(nameReused(address, duplicate, reused));
      continue;
    }
    const attributes = ["product"];
    const last = left.find(isOfSameProduct);
    const former = last === undefined ? {} : { former: `duplicates/${last.name}` };
    changes.push({
      address,
      action: "duplicate",
      reason: "not_recorded",
      before: null,
      after,
      attributes,
      ...former,
    });
  }
  for (const { name, productId } of left) {
    const address = `duplicates/${name}`;
    const before = { product_id: productId };
    changes.push({
      address,
      action: "forget",
      reason: "not_in_manifest",
      before,
      after: null,
      attributes: [],
    });
    const renamed = changes.find((change) => change.action === "duplicate" && change.former === address);
    diagnostics.push(forgotten(address, productId, renamed?.address));
  }
  return { changes, unchanged, diagnostics };
}

/** The drafts of which the manifests ask for a later revision than is recorded. */
function raisedRevisions({ drafts }: Desired, published: ReturnType<typeof publicationsInForce>): number[] {
  return drafts.flatMap(({ draftId, publish }) => {
    const known = published.get(draftId)?.revision;
    return publish !== undefined && known !== undefined && publish.revision > known ? [draftId] : [];
  });
}

/** The draft whose product is meant; 0 for a product that is named by its own id. */
function draftOf(product: ProductRef): number {
  return product.by === "draft" ? product.draftId : 0;
}

function duplicated(product: ProductRef, publishedAs: number | undefined): DuplicateState {
  if (product.by === "product_id") return { product_id: product.productId };
  return {
    ...(publishedAs === undefined ? {} : { product_id: publishedAs }),
    draft_id: product.draftId,
  };
}

/** Whether the manifests still want the copy that an operation in doubt may have made, under its name. */
function isStillDeclared({ intent }: RecordedOperation, { duplicates }: Desired): boolean {
  const declared = duplicates.find(({ name }) => name === intent.name)?.product;
  if (declared === undefined) return false;
  return declared.by === "draft"
    ? declared.draftId === intent.draftId
    : declared.productId === intent.productId;
}

function isSameDraft({ from }: RecordedDuplicate, product: ProductRef): boolean {
  return from.by === "draft" && product.by === "draft" && from.draftId === product.draftId;
}

function otherProduct(address: string, duplicate: DesiredDuplicate, known: RecordedDuplicate): Diagnostic {
  return {
    severity: "warning",
    code: "duplicate-of-another-product",
    message: `${address} was made from product ${known.sourceProductId} and exists as product ${known.productId}; a copy cannot be made over`,
    hint: "Give the new copy a name of its own.",
    address,
    place: locationAt(duplicate.file, duplicate.position),
  };
}

/** A manifest that was removed or renamed by mistake comes back, and its copies would be made a second time. */
function forgotten(address: string, productId: number, renamed: string | undefined): Diagnostic {
  const again =
    renamed === undefined
      ? "declared again later, it is copied a second time"
      : `${renamed} is one more copy`;
  const way =
    renamed === undefined
      ? "If this is not meant, restore the entry before you apply."
      : `If the entry was only renamed, restore it, or run \`draftsync state mv ${quoteArgument(address)} ${quoteArgument(renamed)}\` before you apply.`;
  return {
    severity: "warning",
    code: "duplicate-forgotten",
    message: `${address} is no longer declared; ${again}`,
    hint: `Product ${productId} stays at the service. ${way}`,
    address,
  };
}

/** The copy may have been renamed, and its name be for another one by now: it would be made a second time. */
function nameReused(address: string, duplicate: DesiredDuplicate, copy: RecordedDuplicate): Diagnostic {
  const former = quoteArgument(`duplicates/${copy.name}`);
  return {
    severity: "error",
    code: "duplicate-name-reused",
    message: `${address} is not copied: duplicates/${copy.name} is a copy of product ${copy.sourceProductId} already, and its entry is for another product now`,
    hint: `If you renamed it: draftsync state mv ${former} ${quoteArgument(address)}. If both are to be made: draftsync state rm ${former}.`,
    address,
    place: locationAt(duplicate.file, duplicate.position),
  };
}

function maybeRenamed(address: string, duplicate: DesiredDuplicate, doubt: string): Diagnostic {
  const settle = `look the product up at the service, then run \`draftsync resolve ${quoteArgument(doubt)}\` with --product-id ID or --not-done.`;
  // A copy that `products duplicate` made has no name in the ledger.
  const isNamed = doubt.startsWith("duplicates/");
  const undeclared = isNamed ? ", which the manifests no longer declare so," : "";
  return {
    severity: "warning",
    code: "duplicate-in-doubt-renamed",
    message: `${address} is not copied: ${doubt}${undeclared} may have made this copy`,
    hint: isNamed
      ? `If you renamed it, rename it back. Otherwise settle ${doubt} first: ${settle}`
      : `Settle ${doubt} first: ${settle} If there is a product, and it is this copy: draftsync import ${quoteArgument(address)}=ID. Otherwise the next apply makes one more.`,
    address,
    place: locationAt(duplicate.file, duplicate.position),
  };
}

function neverPublished(address: string, duplicate: DesiredDuplicate): Diagnostic {
  const draftId = draftOf(duplicate.product);
  return {
    severity: "error",
    code: "duplicate-of-unpublished-draft",
    message: `draft ${draftId} has no product to duplicate: it is not published and no manifest asks for it`,
    hint: `Add \`publish: true\` to draft ${draftId}, or name the product by its id.`,
    address,
    place: locationAt(duplicate.file, duplicate.position),
  };
}
