import { sql } from "kysely";
import type { AttachmentsTable, LedgerQueries, StoredObjectsTable } from "./schema.ts";
import { compileStep } from "./step.ts";

/** Of attachments. */
export function compileAttachments(db: LedgerQueries) {
  type Key = { draft_id: number; kind: string; file_id: number };
  type Row = Pick<AttachmentsTable, keyof AttachmentsTable>;
  const ownAddress = sql<string>`'drafts/' || cast(draft_id as text) || '/' || kind || '/' || cast(file_id as text)`;
  return {
    vacate: compileStep<{ address: string; file_id: number; replaced: number }>((slot) =>
      db
        .updateTable("attachments")
        .set({ address: ownAddress, replaced: slot("replaced") })
        .where("address", "=", slot("address"))
        .where("file_id", "<>", slot("file_id")),
    ),
    moveAway: compileStep<Key>((slot) =>
      db
        .updateTable("attachments")
        .set({ address: ownAddress, replaced: 1 })
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
    attach: compileStep<Row>((slot) =>
      db
        .insertInto("attachments")
        .values({
          draft_id: slot("draft_id"),
          kind: slot("kind"),
          file_id: slot("file_id"),
          address: slot("address"),
          attributes: slot("attributes"),
          sha256: slot("sha256"),
          replaced: slot("replaced"),
          confirmed_by: slot("confirmed_by"),
          confirmed_at: slot("confirmed_at"),
        })
        .onConflict((conflict) =>
          conflict.columns(["draft_id", "kind", "file_id"]).doUpdateSet((eb) => ({
            address: eb.ref("excluded.address"),
            attributes: eb.ref("excluded.attributes"),
            sha256: eb.ref("excluded.sha256"),
            replaced: eb.ref("excluded.replaced"),
            confirmed_by: eb.ref("excluded.confirmed_by"),
            confirmed_at: eb.ref("excluded.confirmed_at"),
          })),
        ),
    ),
    rerecord: compileStep<Row>((slot) =>
      db
        .updateTable("attachments")
        .set({
          address: slot("address"),
          attributes: slot("attributes"),
          sha256: slot("sha256"),
          replaced: slot("replaced"),
          confirmed_by: slot("confirmed_by"),
          confirmed_at: slot("confirmed_at"),
        })
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
    readdress: compileStep<Key & { address: string; sha256: string | null }>((slot) =>
      db
        .updateTable("attachments")
        .set({ address: slot("address"), sha256: sql`coalesce(${slot("sha256")}, sha256)`, replaced: 0 })
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
    detach: compileStep<Key>((slot) =>
      db
        .deleteFrom("attachments")
        .where("draft_id", "=", slot("draft_id"))
        .where("kind", "=", slot("kind"))
        .where("file_id", "=", slot("file_id")),
    ),
  };
}

/** Of products and protections. */
export function compileProducts(db: LedgerQueries) {
  type Provenance = { confirmed_by: string; confirmed_at: number };
  return {
    publish: compileStep<{ draft_id: number; revision: number; product_id: number } & Provenance>((slot) =>
      db.insertInto("publications").values({
        draft_id: slot("draft_id"),
        revision: slot("revision"),
        product_id: slot("product_id"),
        confirmed_by: slot("confirmed_by"),
        confirmed_at: slot("confirmed_at"),
      }),
    ),
    duplicate: compileStep<
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
    forget: compileStep<{ name: string }>((slot) =>
      db.deleteFrom("duplicates").where("name", "=", slot("name")),
    ),
    protect: compileStep<{ draft_id: number }>((slot) =>
      db
        .insertInto("protected_drafts")
        .values({ draft_id: slot("draft_id") })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    confirmPublication: compileStep<{ product_id: number } & Provenance>((slot) =>
      db
        .updateTable("publications")
        .set({ confirmed_by: slot("confirmed_by"), confirmed_at: slot("confirmed_at") })
        .where("product_id", "=", slot("product_id")),
    ),
    confirmDuplicate: compileStep<{ product_id: number } & Provenance>((slot) =>
      db
        .updateTable("duplicates")
        .set({ confirmed_by: slot("confirmed_by"), confirmed_at: slot("confirmed_at") })
        .where("product_id", "=", slot("product_id")),
    ),
    unprotect: compileStep<{ draft_id: number }>((slot) =>
      db.deleteFrom("protected_drafts").where("draft_id", "=", slot("draft_id")),
    ),
  };
}

/** Of uploads and of bytes in storage. */
export function compileUploads(db: LedgerQueries) {
  return {
    storeObject: compileStep<Pick<StoredObjectsTable, keyof StoredObjectsTable>>((slot) =>
      db.insertInto("stored_objects").values({
        upload_key: slot("upload_key"),
        source: slot("source"),
        sha256: slot("sha256"),
        size: slot("size"),
        stored_at: slot("stored_at"),
      }),
    ),
    forgetObject: compileStep<{ upload_key: string }>((slot) =>
      db.deleteFrom("stored_objects").where("upload_key", "=", slot("upload_key")),
    ),
    registerUpload: compileStep<{
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
    findUpload: compileStep<{
      upload_id: string;
      status: string;
      file_id: number | null;
      registered_at: number;
    }>((slot) =>
      db
        .insertInto("uploads")
        .values({
          upload_id: slot("upload_id"),
          upload_key: "",
          status: slot("status"),
          file_id: slot("file_id"),
          registered_at: slot("registered_at"),
        })
        .onConflict((conflict) =>
          conflict.column("upload_id").doUpdateSet((eb) => ({
            status: eb.ref("excluded.status"),
            file_id: eb.ref("excluded.file_id"),
          })),
        ),
    ),
    endUpload: compileStep<{ upload_id: string; status: string; file_id: number | null }>((slot) =>
      db
        .updateTable("uploads")
        .set({ status: slot("status"), file_id: slot("file_id") })
        .where("upload_id", "=", slot("upload_id")),
    ),
  };
}

/** Of refreshes that confirmed nothing. */
export function compileRefreshes(db: LedgerQueries) {
  return {
    refresh: compileStep<{ resource: string; refreshed_at: number }>((slot) =>
      db
        .insertInto("refreshes")
        .values({ resource: slot("resource"), refreshed_at: slot("refreshed_at") })
        .onConflict((conflict) =>
          conflict
            .column("resource")
            .doUpdateSet((eb) => ({ refreshed_at: eb.ref("excluded.refreshed_at") })),
        ),
    ),
    forgetLook: compileStep<{ resource: string }>((slot) =>
      db.deleteFrom("refreshes").where("resource", "=", slot("resource")),
    ),
  };
}
