import { sql } from "kysely";
import { parseAddress } from "../model/address.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { RecordedAttachment } from "../model/recorded.ts";
import { type FileTarget, fileResource, pickAttributes } from "../model/resource.ts";
import { assertChanged, settleGone, settleOperation } from "./journal.ts";
import { keepValues, releaseValues } from "./kept-values.ts";
import { LedgerError } from "./ledger-error.ts";
import { addRecord, insertRecords, putRecord } from "./records.ts";
import { type LedgerQueries, tables } from "./tables.ts";
import { raiseVersions } from "./versions.ts";

type EffectOf<Type extends LedgerEffect["type"]> = Extract<LedgerEffect, { type: Type }>;

/** When an effect is recorded (epoch milliseconds), and the operation it follows from. */
export interface EffectContext {
  readonly at: number;
  readonly by?: string;
}

/**
 * Applies the effects of one transaction, which `runId` brought. `settled` comes first, because `detached` settles the other
 * calls about its file.
 */
export async function applyEffects(
  queries: LedgerQueries,
  effects: readonly LedgerEffect[],
  { runId, ...context }: EffectContext & { readonly runId: string },
): Promise<void> {
  await raiseVersions(queries, effects, runId);
  const isSettled = ({ type }: LedgerEffect) => type === "settled";
  const others = effects.filter((effect) => !isSettled(effect));
  for (const effect of [...effects.filter(isSettled), ...others]) await applyEffect(queries, effect, context);
}

/**
 * Applies one effect to the records, inside a transaction. Throws `ledger-invalid-value` and `ledger-conflict`.
 *
 * | effect | on what is there | when it is not there |
 * |---|---|---|
 * | attached | the whole record is replaced | is recorded |
 * | rerecorded | the whole record is replaced | ledger-conflict |
 * | readdressed | its address and its former address, and its digest when one is given, are replaced | ledger-conflict |
 * | detached | is dropped, with what is known of refreshes at it, and what it replaced is not marked any more; its updates and detaches in doubt are settled | the latter |
 * | values_forgotten | what is kept is dropped | nothing |
 * | duplicate_forgotten | is dropped | nothing |
 * | published, duplicated | ledger-conflict: it cannot have been made twice | is recorded; a copy of a draft's product that is not recorded notes `maybe_published`, which no publication settles: it may be an older one |
 * | product_confirmed | the provenance of its publications and duplicates is replaced | nothing |
 * | refreshed | the time is replaced | is recorded |
 * | titled | the title is replaced | is recorded |
 * | protection | is set or lifted | is set, or nothing |
 * | maybe_published | nothing: the first time counts | is recorded |
 * | maybe_published_settled | is dropped | nothing |
 * | object_stored | the whole record is replaced | is recorded |
 * | object_forgotten | is dropped | nothing |
 * | upload_registered | the whole record is replaced; the stored object of its key is dropped | is recorded |
 * | upload_found | status and file id are replaced | is recorded |
 * | upload_ended | status and file id are replaced | nothing |
 * | settled | is in doubt no more | ledger-conflict |
 *
 * A file that a call of ours gives to an entry, and a new address, release the values that are kept for that entry
 * (kept-values.ts).
 *
 * An address belongs to one record. When an effect gives an address to another file, the record that has it moves to its own
 * numeric address; `replaces` marks it. So two records can swap addresses, one after the other.
 */
export async function applyEffect(
  queries: LedgerQueries,
  effect: LedgerEffect,
  { at, by }: EffectContext,
): Promise<void> {
  switch (effect.type) {
    case "attached":
      return attach(queries, effect);
    case "rerecorded":
      return rerecord(queries, effect.attachment);
    case "readdressed":
      return readdress(queries, effect);
    case "detached":
      await detach(queries, effect.target);
      return settleGone(queries, effect.target, { at, by });
    case "values_forgotten":
      return releaseValues(queries, effect.address);
    case "published":
      return insertRecords(queries, tables.publications, [effect]);
    case "duplicated":
      await insertRecords(queries, tables.duplicates, [effect]);
      if (effect.from.by !== "draft") return;
      return notePublication(
        queries,
        { draftId: effect.from.draftId, productId: effect.sourceProductId },
        effect.provenance.at,
      );
    case "duplicate_forgotten":
      await queries.deleteFrom("duplicates").where("name", "=", effect.name).execute();
      return;
    case "product_confirmed":
      return confirmProduct(queries, effect);
    case "refreshed":
      return putRecord(queries, tables.refreshes, effect);
    case "protection":
      return protect(queries, effect);
    case "titled":
      return putRecord(queries, tables.draft_titles, effect);
    case "maybe_published":
      return addRecord(queries, tables.maybe_published, effect);
    case "maybe_published_settled":
      await queries.deleteFrom("maybe_published").where("draft_id", "=", effect.draftId).execute();
      return;
    case "object_stored":
      return putRecord(queries, tables.stored_objects, effect);
    case "object_forgotten":
      return forgetObject(queries, effect.uploadKey);
    case "upload_registered":
      await forgetObject(queries, effect.uploadKey);
      return putRecord(queries, tables.uploads, { ...effect, status: "pending" });
    case "upload_found":
      return recordFoundUpload(queries, effect);
    case "upload_ended": {
      const { uploadId, status, fileId } = effect;
      const upload = queries.updateTable("uploads").where("upload_id", "=", uploadId);
      await upload.set({ status, file_id: fileId ?? null }).execute();
      return;
    }
    case "settled":
      return settleOperation(queries, { operationId: effect.operationId, outcome: effect.outcome, by }, at);
  }
}

/** Notes that a draft was published, also for a ledger that was restored since, unless this product of it is recorded. */
async function notePublication(
  queries: LedgerQueries,
  { draftId, productId }: { readonly draftId: number; readonly productId: number },
  at: number,
): Promise<void> {
  const known = queries
    .selectFrom("publications")
    .select("product_id")
    .where("draft_id", "=", draftId)
    .where("product_id", "=", productId);
  if ((await known.executeTakeFirst()) === undefined)
    await addRecord(queries, tables.maybe_published, { draftId, at });
}

async function attach(queries: LedgerQueries, { attachment, replaces }: EffectOf<"attached">): Promise<void> {
  await vacate(queries, attachment, replaces);
  await putRecord(queries, tables.attachments, normalize(attachment));
  await releaseSet(queries, attachment);
}

async function rerecord(queries: LedgerQueries, attachment: RecordedAttachment): Promise<void> {
  await vacate(queries, attachment);
  const found = await updateAttachment(queries, attachment).set({ replaced_by: null }).executeTakeFirst();
  assertChanged(found, noRecord(attachment));
  await putRecord(queries, tables.attachments, normalize(attachment));
  await releaseSet(queries, attachment);
}

/** What was only observed may lack the values that are kept for its entry. */
async function releaseSet(
  queries: LedgerQueries,
  { address, provenance: { by } }: RecordedAttachment,
): Promise<void> {
  if (by === "post" || by === "patch") await releaseValues(queries, address);
}

/** With the attributes of its kind alone, in their usual order. */
function normalize(attachment: RecordedAttachment): RecordedAttachment {
  return { ...attachment, attributes: pickAttributes(attachment.kind, attachment.attributes) };
}

async function readdress(
  queries: LedgerQueries,
  { target, address, sha256, replaces, takesOver, formerAddress }: EffectOf<"readdressed">,
): Promise<void> {
  if (takesOver === true) await keepValues(queries, { target, taker: address });
  await vacate(queries, { ...target, address }, replaces);
  const values = {
    address,
    replaced_by: null,
    former_address: formerAddress ?? null,
    ...(sha256 === undefined ? {} : { sha256 }),
  };
  const updated = await updateAttachment(queries, target).set(values).executeTakeFirst();
  assertChanged(updated, noRecord(target));
  await releaseValues(queries, address);
}

async function detach(queries: LedgerQueries, target: FileTarget): Promise<void> {
  const removed = await queries
    .deleteFrom("attachments")
    .where("draft_id", "=", target.draftId)
    .where("kind", "=", target.kind)
    .where("file_id", "=", target.fileId)
    .returning("address")
    .executeTakeFirst();
  if (removed !== undefined) await releaseValues(queries, removed.address);
  // Without the file that took their place, others are no half of a replacement.
  await markAgain(queries, target, null);
  await queries.deleteFrom("refreshes").where("resource", "=", fileResource(target)).execute();
}

const ownAddress = sql<string>`'drafts/' || cast(draft_id as text) || '/' || kind || '/' || cast(file_id as text)`;

/**
 * Moves another record at the attachment's address to its own numeric address, and marks it when it is of file `replaces`. One
 * that has moved already belongs to another entry.
 */
async function vacate(queries: LedgerQueries, attachment: Addressed, replaces?: number): Promise<void> {
  const { fileId, address } = attachment;
  checkAddress(attachment);
  // What it was to be replaced by is replaced itself.
  if (replaces !== undefined) await markAgain(queries, { ...attachment, fileId: replaces }, fileId);
  // No other record can hold an address that names the file by its id.
  if (address === fileResource(attachment)) return;
  await queries
    .updateTable("attachments")
    .set({
      address: ownAddress,
      former_address: address,
      replaced_by:
        replaces === undefined ? null : sql`case file_id when ${replaces} then cast(${fileId} as bigint) end`,
    })
    .where("address", "=", address)
    .where("file_id", "<>", fileId)
    .execute();
}

/** Files that `target` has replaced are replaced by another one, or by none. */
async function markAgain(queries: LedgerQueries, target: FileTarget, by: number | null): Promise<void> {
  await queries
    .updateTable("attachments")
    .set({ replaced_by: by })
    .where("draft_id", "=", target.draftId)
    .where("kind", "=", target.kind)
    .where("replaced_by", "=", target.fileId)
    .execute();
}

function updateAttachment(queries: LedgerQueries, { draftId, kind, fileId }: FileTarget) {
  return queries
    .updateTable("attachments")
    .where("draft_id", "=", draftId)
    .where("kind", "=", kind)
    .where("file_id", "=", fileId);
}

function noRecord(target: FileTarget): string {
  return `There is no record to change for ${nameOf(target)}.`;
}

async function confirmProduct(
  queries: LedgerQueries,
  { productId, provenance }: EffectOf<"product_confirmed">,
): Promise<void> {
  const values = { provenance_by: provenance.by, provenance_at: provenance.at };
  await queries.updateTable("publications").set(values).where("product_id", "=", productId).execute();
  await queries.updateTable("duplicates").set(values).where("product_id", "=", productId).execute();
}

async function protect(queries: LedgerQueries, { draftId, protect }: EffectOf<"protection">): Promise<void> {
  if (protect) return addRecord(queries, tables.protected_drafts, { draftId });
  await queries.deleteFrom("protected_drafts").where("draft_id", "=", draftId).execute();
}

async function forgetObject(queries: LedgerQueries, uploadKey: string): Promise<void> {
  await queries.deleteFrom("stored_objects").where("upload_key", "=", uploadKey).execute();
}

/** An upload that draftsync did not register has no key. */
async function recordFoundUpload(queries: LedgerQueries, effect: EffectOf<"upload_found">): Promise<void> {
  const { uploadId, status, fileId, at } = effect;
  const values = { status, file_id: fileId ?? null };
  await queries
    .insertInto("uploads")
    .values({ upload_id: uploadId, at, ...values })
    .onConflict((conflict) => conflict.column("upload_id").doUpdateSet(values))
    .execute();
}

/** A file of a draft, and the address it is recorded under. */
type Addressed = Pick<RecordedAttachment, "draftId" | "kind" | "fileId" | "address">;

/**
 * Refuses (`ledger-invalid-value`) a record whose address does not name its own draft, collection and, when numeric,
 * file: the rest of the ledger relies on it.
 */
export function checkAddress(attachment: Addressed): void {
  const parsed = parseAddress(attachment.address);
  const fits =
    parsed?.type === "attachment" &&
    parsed.draftId === attachment.draftId &&
    parsed.kind === attachment.kind &&
    (parsed.ref.by !== "file_id" || parsed.ref.fileId === attachment.fileId);
  if (fits) return;
  throw new LedgerError(
    "ledger-invalid-value",
    `${attachment.address} is not a valid address for ${nameOf(attachment)}.`,
  );
}

/** For messages, by its identity at the service. */
function nameOf({ draftId, kind, fileId }: Omit<Addressed, "address">): string {
  return `file ${fileId} in ${kind} of draft ${draftId}`;
}
