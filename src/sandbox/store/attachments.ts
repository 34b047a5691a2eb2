import { z } from "zod";
import { prepareRow, prepareRows, type SqliteDatabase } from "./database.ts";
import { jsonText } from "./json-text.ts";

/** The two kinds of files of a draft, by the type of their resource. */
export type AttachmentKind = "product_file" | "promotional_file";

/** Attributes by the name they have in documents; what was never set is absent. */
export type AttachmentAttributes = Readonly<Record<string, string | boolean>>;

/** The place of an attachment. A file is attached at most once to a draft as one kind. */
export interface AttachmentKey {
  readonly draftId: number;
  readonly kind: AttachmentKind;
  readonly fileId: number;
}

/** A file attached to a draft. */
export interface Attachment extends AttachmentKey {
  /** Counts attachments; never used twice. */
  readonly number: number;
  readonly attributes: AttachmentAttributes;
}

/** The files attached to drafts. */
export interface Attachments {
  /** Attaches, or answers `undefined` when it is attached. */
  add(place: AttachmentKey, attributes: AttachmentAttributes): Attachment | undefined;
  find(place: AttachmentKey): Attachment | undefined;
  /** Sets the named attributes and leaves the others; `undefined` when it is not attached. */
  change(place: AttachmentKey, attributes: AttachmentAttributes): Attachment | undefined;
  /** Sets the named attributes and takes the others away; `undefined` when it is not attached. */
  replace(place: AttachmentKey, attributes: AttachmentAttributes): Attachment | undefined;
  /** Whether there was anything to detach. */
  remove(place: AttachmentKey): boolean;
  /** What is attached to one draft, or to all of them, in the order of attaching. */
  list(draftId?: number): Attachment[];
}

const COLUMNS = "number, draft_id, kind, file_id, attributes";

const AttachmentRow = z
  .object({
    number: z.number(),
    draft_id: z.number(),
    kind: z.enum(["product_file", "promotional_file"]),
    file_id: z.number(),
    attributes: jsonText(z.record(z.string(), z.union([z.string(), z.boolean()]))),
  })
  .transform(
    (row): Attachment => ({
      number: row.number,
      draftId: row.draft_id,
      kind: row.kind,
      fileId: row.file_id,
      attributes: row.attributes,
    }),
  );

/** Opens the attachments of a database. */
export function openAttachments(database: SqliteDatabase): Attachments {
  const at = "draft_id = ? AND kind = ? AND file_id = ?";
  const insert = prepareRow(
    database,
    `INSERT INTO attachment (draft_id, kind, file_id, attributes) VALUES (?, ?, ?, ?)
     ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
    AttachmentRow,
  );
  const select = prepareRow(database, `SELECT ${COLUMNS} FROM attachment WHERE ${at}`, AttachmentRow);
  const update = prepareRow(
    database,
    `UPDATE attachment SET attributes = json_patch(attributes, ?) WHERE ${at} RETURNING ${COLUMNS}`,
    AttachmentRow,
  );
  const replace = prepareRow(
    database,
    `UPDATE attachment SET attributes = ? WHERE ${at} RETURNING ${COLUMNS}`,
    AttachmentRow,
  );
  const remove = database.prepare(`DELETE FROM attachment WHERE ${at}`);
  const all = prepareRows(database, `SELECT ${COLUMNS} FROM attachment ORDER BY number`, AttachmentRow);
  const ofDraft = prepareRows(
    database,
    `SELECT ${COLUMNS} FROM attachment WHERE draft_id = ? ORDER BY number`,
    AttachmentRow,
  );
  const key = (place: AttachmentKey) => [place.draftId, place.kind, place.fileId];
  return {
    add: (place, attributes) => insert(...key(place), JSON.stringify(attributes)),
    find: (place) => select(...key(place)),
    change: (place, attributes) => update(JSON.stringify(attributes), ...key(place)),
    replace: (place, attributes) => replace(JSON.stringify(attributes), ...key(place)),
    remove: (place) => remove.run(...key(place)).changes > 0,
    list: (draftId) => (draftId === undefined ? all() : ofDraft(draftId)),
  };
}
