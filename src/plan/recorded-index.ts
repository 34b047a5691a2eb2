import { compareText } from "../model/address.ts";
import type { AttachmentState } from "../model/change.ts";
import type { DesiredAttachment } from "../model/desired.ts";
import { append } from "../model/lists.ts";
import type {
  Recorded,
  RecordedAttachment,
  RecordedObject,
  RecordedOperation,
  RecordedUpload,
} from "../model/recorded.ts";
import { type Attributes, fileResource } from "../model/resource.ts";
import { openValues, possibleValues, repeatableDoubts, withoutDoubtful } from "../model/unsettled.ts";
import { sourceUploadName, uploadNameOf, uploadNamesOf } from "../model/upload-name.ts";

/** The recorded attachments and uploads, found in one step by each name they go by. */
export interface RecordedIndex {
  /** What is recorded under an address. */
  at(address: string): RecordedAttachment | undefined;
  /** The values of an entry that waits for a file ({@link Recorded.keptValues}). */
  keptFor(address: string): Attributes | undefined;
  /** What is recorded for a file of a draft's collection, under whatever address. */
  ofFile(desired: DesiredAttachment, fileId: number): RecordedAttachment | undefined;
  /** What is recorded in the same collection with the content of the desired source. */
  ofContent(desired: DesiredAttachment): readonly RecordedAttachment[];
  /** The upload that already gave, or will give, the desired file; never one that failed. */
  uploadFor(desired: DesiredAttachment): RecordedUpload | undefined;
  /** The key of the desired source's bytes, when they are in storage and not registered yet. */
  storedKeyFor(desired: DesiredAttachment): string | undefined;
  /** What may be relied on: attributes that an unsettled call may have changed are left out. */
  knownAttributes(recorded: RecordedAttachment): Attributes;
  /** What a file may have: what was confirmed, and what unsettled calls have sent. */
  possibleAttributes(recorded: RecordedAttachment): Attributes;
  /** The latest update or detach of a file whose outcome is unknown; a detach comes before any update. */
  doubtOf(recorded: RecordedAttachment): RecordedOperation | undefined;
  /** See {@link openValues}. */
  openValues(recorded: RecordedAttachment): Attributes | undefined;
}

/** Indexes a ledger's content; linear in its size. */
export function indexRecorded(recorded: Recorded): RecordedIndex {
  const doubts = repeatableDoubts(recorded);
  const doubtsOf = (attachment: RecordedAttachment) =>
    doubts.size === 0 ? undefined : doubts.get(fileResource(attachment));
  const byAddress = new ByAddress(recorded.attachments);
  const byFile = new Map<string, RecordedAttachment>();
  const byContent = new Map<string, RecordedAttachment[]>();
  for (const attachment of recorded.attachments) {
    if (!isOwnAddress(attachment.address)) byFile.set(fileResource(attachment), attachment);
    if (attachment.sha256 !== undefined)
      append(byContent, contentName(attachment, attachment.sha256), attachment);
  }
  const uploads = indexUploads(recorded.uploads);
  const stored = indexStored(recorded.storedObjects);
  return {
    at: (address) => byAddress.at(address),
    keptFor: (address) => recorded.keptValues.get(address),
    ofFile: ({ address: { draftId, kind } }, fileId) => {
      const resource = fileResource({ draftId, kind, fileId });
      return byFile.get(resource) ?? byAddress.at(resource);
    },
    ofContent: ({ address, content }) =>
      sortByAddress(byContent.get(contentName(address, content?.sha256)) ?? []),
    uploadFor: (desired) => uploads.get(uploadNameOf(desired)),
    storedKeyFor: (desired) => stored.get(uploadNameOf(desired)),
    knownAttributes: (attachment) => withoutDoubtful(attachment, doubtsOf(attachment)),
    possibleAttributes: (attachment) => possibleValues(attachment, doubtsOf(attachment)),
    openValues: (attachment) => openValues(attachment, doubtsOf(attachment)),
    doubtOf: (attachment) => {
      const all = doubtsOf(attachment);
      return all?.findLast(({ kind }) => kind === "detach") ?? all?.at(-1);
    },
  };
}

/** Finds the file id of a desired attachment, as far as it is known before anything is uploaded. */
export function makeFileIdFinder(recorded: Recorded): (desired: DesiredAttachment) => number | undefined {
  const uploads = indexUploads(recorded.uploads);
  return (desired) => {
    const { ref } = desired.address;
    return ref.by === "file_id" ? ref.fileId : uploads.get(uploadNameOf(desired))?.fileId;
  };
}

/** Makes the function that adds to a desired state what earlier runs have uploaded of it: the file, the upload, or the key. */
export function makeKnownUploads({
  uploads,
  storedObjects,
}: Recorded): (after: AttachmentState) => AttachmentState {
  const byName = indexUploads(uploads);
  const stored = indexStored(storedObjects);
  return (after) => {
    if (after.file_id !== undefined) return after;
    const name = stateName(after);
    const upload = byName.get(name);
    if (upload?.fileId !== undefined) return { ...after, file_id: upload.fileId };
    if (upload !== undefined) return { ...after, upload_id: upload.uploadId };
    if (name === `upload_id:${after.upload_id}`) return after;
    // The upload that the plan names has failed since: the file is registered again.
    const { upload_id: _id, upload_key: _key, ...rest } = after;
    // Bytes that the service does not have any more are stored again.
    const key = after.source === undefined ? after.upload_key : stored.get(name);
    return key === undefined ? rest : { ...rest, upload_key: key };
  };
}

function stateName({ upload_id, source, sha256, upload_key }: AttachmentState): string {
  if (source !== undefined) return sourceUploadName(source, sha256);
  return upload_key === undefined ? `upload_id:${upload_id}` : `upload_key:${upload_key}`;
}

/** Of several keys for the same bytes, the newest. */
function indexStored(objects: readonly RecordedObject[]): ReadonlyMap<string, string> {
  return new Map(
    [...objects]
      .sort((a, b) => a.at - b.at || compareText(a.uploadKey, b.uploadKey))
      .map(({ source, sha256, uploadKey }) => [sourceUploadName(source, sha256), uploadKey]),
  );
}

/**
 * Attachments by address. Of most catalogues all are asked for in the order of the ledger: then the next one is it, and
 * no map of them has to be made.
 */
class ByAddress {
  readonly #attachments: readonly RecordedAttachment[];
  #places: ReadonlyMap<string, number> | undefined;
  #next = 0;

  constructor(attachments: readonly RecordedAttachment[]) {
    this.#attachments = attachments;
  }

  at(address: string): RecordedAttachment | undefined {
    if (this.#attachments[this.#next]?.address !== address) {
      this.#places ??= new Map(this.#attachments.map((each, place) => [each.address, place]));
      const place = this.#places.get(address);
      if (place === undefined) return undefined;
      this.#next = place;
    }
    const attachment = this.#attachments[this.#next];
    this.#next += 1;
    return attachment;
  }
}

/** Whether an address names a file by its id: it is the file's path then. Any other name has its kind before a colon. */
function isOwnAddress(address: string): boolean {
  return !address.includes(":");
}

function contentName(
  { draftId, kind }: Pick<RecordedAttachment, "draftId" | "kind">,
  sha256: string | undefined,
): string {
  return `drafts/${draftId}/${kind}/${sha256}`;
}

/** So that the choice among several does not depend on the order in which the ledger lists them. */
function sortByAddress(attachments: readonly RecordedAttachment[]): readonly RecordedAttachment[] {
  return [...attachments].sort((a, b) => compareText(a.address, b.address));
}

/** By source and digest, by key, and by id; of several, the one that got furthest, then the newest. */
function indexUploads(uploads: readonly RecordedUpload[]): ReadonlyMap<string, RecordedUpload> {
  const byName = new Map<string, RecordedUpload>();
  for (const upload of uploads) {
    if (upload.status === "failed") continue;
    for (const name of uploadNamesOf(upload)) {
      const known = byName.get(name);
      if (known === undefined || isBetter(upload, known)) byName.set(name, upload);
    }
  }
  return byName;
}

function isBetter(a: RecordedUpload, b: RecordedUpload): boolean {
  if (a.status !== b.status) return a.status === "success";
  return a.at !== b.at ? a.at > b.at : a.uploadId > b.uploadId;
}
