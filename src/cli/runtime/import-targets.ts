import { type Address, formatAddress, parseAddress, parseId, quoteArgument } from "../../model/address.ts";
import { attachmentsByAddress, type Desired, type DesiredAttachment } from "../../model/desired.ts";
import {
  addressOfProduct,
  fileResourceOf,
  productIdOf,
  publicationsInForce,
  type Recorded,
  type RecordedOperation,
} from "../../model/recorded.ts";
import type { AdoptionTarget } from "../../refresh/adopt.ts";
import { CliError } from "./cli-error.ts";

/** What the words on the command line are read with. */
export interface ImportEnvironment {
  readonly desired: Desired;
  readonly recorded: Recorded;
  /** The file id of a desired attachment, as far as it is known before anything is uploaded. */
  readonly fileIdOf: (attachment: DesiredAttachment) => number | undefined;
}

/** What to fetch, and addresses that cannot be fetched because their file id is unknown. */
export interface ImportTargets {
  readonly targets: readonly AdoptionTarget[];
  readonly skipped: readonly string[];
}

/** Every desired attachment. Those that are still to be uploaded are skipped. */
export function allTargets({ desired, fileIdOf }: ImportEnvironment): ImportTargets {
  const targets: AdoptionTarget[] = [];
  const skipped: string[] = [];
  for (const attachment of desired.drafts.flatMap(({ attachments }) => attachments)) {
    const { draftId, kind } = attachment.address;
    const address = formatAddress(attachment.address);
    const fileId = fileIdOf(attachment);
    if (fileId === undefined) skipped.push(address);
    else targets.push({ type: "attachment", address, target: { draftId, kind, fileId } });
  }
  return { targets, skipped };
}

/**
 * Reads words such as `drafts/48213/product_files/9900011` and `drafts/48213/product=771200`.
 *
 * @throws CliError with every word that cannot be meant.
 */
export function namedTargets(words: readonly string[], environment: ImportEnvironment): ImportTargets {
  const index: Index = {
    ...environment,
    asked: attachmentsByAddress(environment.desired),
    recordedIds: new Map(environment.recorded.attachments.map(({ address, fileId }) => [address, fileId])),
  };
  const problems: string[] = [];
  const targets = [...new Set(words)].flatMap((word): AdoptionTarget[] => {
    const target = readWord(word, index);
    if (typeof target !== "string") return [target];
    problems.push(target);
    return [];
  });
  problems.push(...conflicts(targets));
  if (problems.length > 0) {
    throw new CliError(problems.join("\n       "), {
      code: "import-target-invalid",
      hint: "Use an address as `draftsync plan` shows it. Append an id that it does not contain after `=`: drafts/48213/product=771200.",
    });
  }
  return { targets, skipped: [] };
}

/** A resource has one id, and a product belongs to one resource. */
function conflicts(targets: readonly AdoptionTarget[]): readonly string[] {
  const addresses = new Map<string, number>();
  const products = new Map<number, string>();
  return targets.flatMap((target) => {
    const { address } = target;
    const id = target.type === "product" ? target.productId : target.target.fileId;
    const otherId = addresses.get(address);
    addresses.set(address, id);
    if (otherId !== undefined && otherId !== id)
      return [`${address}: it is named with two ids, ${otherId} and ${id}`];
    if (target.type !== "product") return [];
    const other = products.get(id) ?? address;
    products.set(id, address);
    return other === address ? [] : [`${address}: product ${id} is named for ${other}, too`];
  });
}

interface Index extends ImportEnvironment {
  /** By address. */
  readonly asked: ReadonlyMap<string, DesiredAttachment>;
  /** File ids by address. */
  readonly recordedIds: ReadonlyMap<string, number>;
}

/** The target that an argument names, or what is wrong with it. */
function readWord(word: string, index: Index): AdoptionTarget | string {
  const equals = /^(?<text>.*)=(?<id>[^=/]*)$/s.exec(word)?.groups;
  const exact = parseAddress(word);
  // A file's name may hold an equals sign too.
  const isExact = exact !== undefined && index.asked.has(formatAddress(exact));
  const text = isExact || equals?.text === undefined ? word : equals.text;
  const id = isExact || equals?.id === undefined ? undefined : parseId(equals.id);
  if (text !== word && id === undefined) return `${word}: the text after \`=\` is not a valid id`;
  const address = parseAddress(text);
  switch (address?.type) {
    case "attachment":
      return readAttachment(address, id, index);
    case "publication":
    case "duplicate":
      return readProduct(address, id, index);
    case "draft":
    case "upload":
    case undefined:
      return `${text}: not the address of a file, publication or duplicate`;
  }
}

function readAttachment(
  address: Extract<Address, { type: "attachment" }>,
  given: number | undefined,
  { asked, recorded, recordedIds, fileIdOf }: Index,
): AdoptionTarget | string {
  const { draftId, kind, ref } = address;
  const text = formatAddress(address);
  if (ref.by === "file_id") {
    if (given !== undefined && given !== ref.fileId)
      return `${text}: the address contains another id than ${given}`;
    return { type: "attachment", address: text, target: { draftId, kind, fileId: ref.fileId } };
  }
  const attachment = asked.get(text);
  if (attachment === undefined) return `${text}: no manifest declares it; use its file id`;
  const fileId = given ?? recordedIds.get(text) ?? fileIdOf(attachment);
  if (fileId === undefined)
    return `${text}: the file id is not known; use ${quoteArgument(`${text}=FILE_ID`)}`;
  const isOther = ({ address, kind, intent }: RecordedOperation) =>
    address === text && kind === "attach" && intent.fileId !== fileId;
  const doubt = recorded.inDoubt.find(isOther);
  if (doubt !== undefined)
    return `${text}: the attachment of file ${doubt.intent.fileId} is in doubt; use draftsync resolve ${fileResourceOf(doubt)}`;
  return { type: "attachment", address: text, target: { draftId, kind, fileId } };
}

function readProduct(
  address: Extract<Address, { type: "publication" | "duplicate" }>,
  given: number | undefined,
  { desired, recorded }: ImportEnvironment,
): AdoptionTarget | string {
  const text = formatAddress(address);
  if (recorded.inDoubt.some((operation) => operation.address === text))
    return `${text}: in doubt; use draftsync resolve ${quoteArgument(text)}`;
  const known = recordedProduct(address, recorded);
  if (known !== undefined) {
    if (given !== undefined && given !== known) return `${text}: already recorded as product ${known}`;
    return { type: "product", address: text, productId: known };
  }
  if (given === undefined)
    return `${text}: the product id is missing; use ${quoteArgument(`${text}=PRODUCT_ID`)}`;
  const recordedAt = addressOfProduct(given, recorded);
  if (recordedAt !== undefined) return `${text}: product ${given} is recorded for ${recordedAt} already`;
  if (address.type === "publication") {
    const draft = desired.drafts.find(({ draftId }) => draftId === address.draftId);
    if (draft?.publish === undefined) return `${text}: no manifest publishes this draft`;
  } else {
    const copy = desired.duplicates.find(({ name }) => name === address.name);
    if (copy === undefined) return `${text}: no manifest declares this duplicate`;
    const source = productIdOf(copy.product, publicationsInForce(recorded));
    if (source === undefined)
      return `${text}: the product it is a copy of is not known; import the publication of its draft first`;
    if (source === given) return `${text}: product ${given} is what it is a copy of`;
  }
  return { type: "product", address: text, productId: given };
}

function recordedProduct(
  address: Extract<Address, { type: "publication" | "duplicate" }>,
  recorded: Recorded,
): number | undefined {
  if (address.type === "duplicate")
    return recorded.duplicates.find(({ name }) => name === address.name)?.productId;
  return publicationsInForce(recorded).get(address.draftId)?.productId;
}
