import { sql } from "kysely";
import type { FileTarget, LedgerEffect } from "../model/ports.ts";
import { type Addressed, checkAddress, nameOf } from "./attachment-address.ts";
import { compileStatement } from "./compiled-statement.ts";
import type { Journal } from "./journal.ts";
import { LedgerError } from "./ledger-error.ts";
import type { AttachmentsTable, LedgerQueries, StoredObjectsTable } from "./schema.ts";
import { attachmentValues, duplicateValues, objectValues, publicationValues } from "./stored-values.ts";

type Readdressed = Extract<LedgerEffect, { type: "readdressed" }>;

/** Applies one effect inside a transaction. `by` is the operation it follows from. */
export type ApplyEffect = (queries: LedgerQueries, effect: LedgerEffect, by?: string) => Promise<void>;

/**
 * Makes the function that applies effects.
 *
 * | effect | on what is there | when it is not there |
 * |---|---|---|
 * | attached | the whole record is replaced | is recorded |
 * | rerecorded | the whole record is replaced | ledger-conflict |
 * | readdressed | its address, and its digest when one is given, are replaced | ledger-conflict |
 * | detached, duplicate_forgotten | is dropped | nothing |
 * | published, duplicated | ledger-conflict: it cannot have been made twice | is recorded |
 * | protection | is set or lifted | is set, or nothing |
 * | object_stored | the whole record is replaced | is recorded |
 * | object_forgotten | is dropped | nothing |
 * | upload_registered | the whole record is replaced; the stored object of its key is dropped | is recorded |
 * | upload_ended | status and file id are replaced | nothing |
 * | settled | is in doubt no more | ledger-conflict |
 *
 * An address belongs to one record: whoever holds the address that an effect gives to another file moves to its own numeric address, as `replaces` does. So two records may swap addresses, one after the other.
 */
export function makeApplyEffect(db: LedgerQueries, journal: Journal): ApplyEffect {
  const statements = { ...compileAttachments(db), ...compileProducts(db), ...compileUploads(db) };

  async function giveWay(queries: LedgerQueries, attachment: Addressed, replaces?: number): Promise<void> {
    const { draftId, kind, fileId, address } = attachment;
    checkAddress(attachment);
    await statements.vacate(queries, { address, file_id: fileId });
    if (replaces === undefined || replaces === fileId) return;
    await statements.moveAway(queries, { draft_id: draftId, kind, file_id: replaces });
  }

  async function readdress(queries: LedgerQueries, effect: Readdressed): Promise<void> {
    const { target, address, sha256 = null } = effect;
    const { draftId: draft_id, kind, fileId: file_id } = target;
    await giveWay(queries, { ...target, address });
    const row = { draft_id, kind, file_id, address, sha256 };
    refuseMissing(await statements.readdress(queries, row), target);
  }

  return async (queries, effect, by) => {
    switch (effect.type) {
      case "attached":
        await giveWay(queries, effect.attachment, effect.replaces);
        await statements.attach(queries, attachmentValues(effect.attachment));
        return;
      case "rerecorded":
        await giveWay(queries, effect.attachment);
        refuseMissing(
          await statements.rerecord(queries, attachmentValues(effect.attachment)),
          effect.attachment,
        );
        return;
      case "readdressed":
        await readdress(queries, effect);
        return;
      case "detached": {
        const { draftId, kind, fileId } = effect.target;
        await statements.detach(queries, { draft_id: draftId, kind, file_id: fileId });
        return;
      }
      case "published":
        await statements.publish(queries, publicationValues(effect));
        return;
      case "duplicated":
        await statements.duplicate(queries, duplicateValues(effect));
        return;
      case "duplicate_forgotten":
        await statements.forget(queries, { name: effect.name });
        return;
      case "protection":
        await (effect.protect ? statements.protect : statements.unprotect)(queries, {
          draft_id: effect.draftId,
        });
        return;
      case "object_stored":
        await statements.forgetObject(queries, { upload_key: effect.uploadKey });
        await statements.storeObject(queries, objectValues(effect));
        return;
      case "object_forgotten":
        await statements.forgetObject(queries, { upload_key: effect.uploadKey });
        return;
      case "upload_registered":
        await statements.forgetObject(queries, { upload_key: effect.uploadKey });
        await statements.registerUpload(queries, {
          upload_id: effect.uploadId,
          upload_key: effect.uploadKey,
          source: effect.source ?? null,
          sha256: effect.sha256 ?? null,
          size: effect.size ?? null,
          registered_at: effect.at,
        });
        return;
      case "upload_ended":
        await statements.endUpload(queries, {
          upload_id: effect.uploadId,
          status: effect.status,
          file_id: effect.fileId ?? null,
        });
        return;
      case "settled": {
        const { operationId, outcome } = effect;
        await journal.settle(queries, { operationId, outcome, ...(by === undefined ? {} : { by }) });
        return;
      }
    }
  };
}

function refuseMissing(found: number, target: FileTarget): void {
  if (found > 0) return;
  throw new LedgerError("ledger-conflict", `There is no record to change for ${nameOf(target)}.`);
}

function compileAttachments(db: LedgerQueries) {
  type Key = { draft_id: number; kind: string; file_id: number };
  type Row = Pick<AttachmentsTable, keyof AttachmentsTable>;
  const ownAddress = sql<string>`'drafts/' || cast(draft_id as text) || '/' || kind || '/' || cast(file_id as text)`;
  return {
    vacate: compileStatement<{ address: string; file_id: number }>((slot) =>
      db
        .updateTable("attachments")
        .set({ address: ownAddress })
        .where("address", "=", slot("address"))
        .where("file_id", "<>", slot("file_id")),
    ),
    moveAway: compileStatement<Key>((slot) =>
      db
        .updateTable("attachments")
        .set({ address: ownAddress })
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
    attach: compileStatement<Row>((slot) =>
      db
        .insertInto("attachments")
        .values({
          draft_id: slot("draft_id"),
          kind: slot("kind"),
          file_id: slot("file_id"),
          address: slot("address"),
          attributes: slot("attributes"),
          sha256: slot("sha256"),
          confirmed_by: slot("confirmed_by"),
          confirmed_at: slot("confirmed_at"),
        })
        .onConflict((conflict) =>
          conflict.columns(["draft_id", "kind", "file_id"]).doUpdateSet((eb) => ({
            address: eb.ref("excluded.address"),
            attributes: eb.ref("excluded.attributes"),
            sha256: eb.ref("excluded.sha256"),
            confirmed_by: eb.ref("excluded.confirmed_by"),
            confirmed_at: eb.ref("excluded.confirmed_at"),
          })),
        ),
    ),
    rerecord: compileStatement<Row>((slot) =>
      db
        .updateTable("attachments")
        .set({
          address: slot("address"),
          attributes: slot("attributes"),
          sha256: slot("sha256"),
          confirmed_by: slot("confirmed_by"),
          confirmed_at: slot("confirmed_at"),
        })
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
    readdress: compileStatement<Key & { address: string; sha256: string | null }>((slot) =>
      db
        .updateTable("attachments")
        .set({ address: slot("address"), sha256: sql`coalesce(${slot("sha256")}, sha256)` })
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
    detach: compileStatement<Key>((slot) =>
      db
        .deleteFrom("attachments")
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
  };
}

function compileProducts(db: LedgerQueries) {
  type Provenance = { confirmed_by: string; confirmed_at: number };
  return {
    publish: compileStatement<{ draft_id: number; revision: number; product_id: number } & Provenance>(
      (slot) =>
        db.insertInto("publications").values({
          draft_id: slot("draft_id"),
          revision: slot("revision"),
          product_id: slot("product_id"),
          confirmed_by: slot("confirmed_by"),
          confirmed_at: slot("confirmed_at"),
        }),
    ),
    duplicate: compileStatement<
      {
        name: string;
        from_product_id: number | null;
        from_draft_id: number | null;
        source_product_id: number;
        product_id: number;
      } & Provenance
    >((slot) =>
      db.insertInto("duplicates").values({
        name: slot("name"),
        from_product_id: slot("from_product_id"),
        from_draft_id: slot("from_draft_id"),
        source_product_id: slot("source_product_id"),
        product_id: slot("product_id"),
        confirmed_by: slot("confirmed_by"),
        confirmed_at: slot("confirmed_at"),
      }),
    ),
    forget: compileStatement<{ name: string }>((slot) =>
      db.deleteFrom("duplicates").where("name", "=", slot("name")),
    ),
    protect: compileStatement<{ draft_id: number }>((slot) =>
      db
        .insertInto("protected_drafts")
        .values({ draft_id: slot("draft_id") })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    unprotect: compileStatement<{ draft_id: number }>((slot) =>
      db.deleteFrom("protected_drafts").where("draft_id", "=", slot("draft_id")),
    ),
  };
}

function compileUploads(db: LedgerQueries) {
  return {
    storeObject: compileStatement<Pick<StoredObjectsTable, keyof StoredObjectsTable>>((slot) =>
      db.insertInto("stored_objects").values({
        upload_key: slot("upload_key"),
        source: slot("source"),
        sha256: slot("sha256"),
        size: slot("size"),
        stored_at: slot("stored_at"),
      }),
    ),
    forgetObject: compileStatement<{ upload_key: string }>((slot) =>
      db.deleteFrom("stored_objects").where("upload_key", "=", slot("upload_key")),
    ),
    registerUpload: compileStatement<{
      upload_id: string;
      upload_key: string;
      source: string | null;
      sha256: string | null;
      size: number | null;
      registered_at: number;
    }>((slot) =>
      db
        .insertInto("uploads")
        .values({
          upload_id: slot("upload_id"),
          upload_key: slot("upload_key"),
          source: slot("source"),
          sha256: slot("sha256"),
          size: slot("size"),
          status: "pending",
          registered_at: slot("registered_at"),
        })
        .onConflict((conflict) =>
          conflict.column("upload_id").doUpdateSet((eb) => ({
            upload_key: eb.ref("excluded.upload_key"),
            source: eb.ref("excluded.source"),
            sha256: eb.ref("excluded.sha256"),
            size: eb.ref("excluded.size"),
            status: eb.ref("excluded.status"),
            file_id: eb.ref("excluded.file_id"),
            registered_at: eb.ref("excluded.registered_at"),
          })),
        ),
    ),
    endUpload: compileStatement<{ upload_id: string; status: string; file_id: number | null }>((slot) =>
      db
        .updateTable("uploads")
        .set({ status: slot("status"), file_id: slot("file_id") })
        .where("upload_id", "=", slot("upload_id")),
    ),
  };
}
