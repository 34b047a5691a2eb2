import stringWidth from "fast-string-width";
import { compareText, draftIdOf, formatAddress, publicationAddress } from "../model/address.ts";
import type { ConfirmedState, Provenance, Recorded, RecordedUpload } from "../model/recorded.ts";
import { isoTime, minuteText } from "../model/time.ts";
import type { Palette } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { describeEvidence } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/**
 * One line an entry, in columns, below a line for its draft; two lines an entry where one would be wider than `columns`. Ends with
 * a line feed unless there is none.
 */
export function formatEntryList(entries: readonly StateEntry[], paint: Palette, columns = Infinity): string {
  const widths = entries.map(({ address }) => stringWidth(sanitizeLine(address)));
  const width = Math.min(
    72,
    widths.reduce((most, one) => Math.max(most, one), 0),
  );
  const isNarrow = entries.some((entry) => width + 6 + entry.is.length + provenance(entry).length > columns);
  let lastDraft: number | undefined;
  return entries
    .map((entry) => {
      const draftId = draftIdOf(entry.address);
      const isFirst = draftId !== undefined && draftId !== lastDraft;
      lastDraft = draftId;
      const heading = withTitle({ address: `drafts/${draftId}`, title: entry.title });
      const what = entry.type === "operation" ? paint("warning", entry.is) : sanitizeLine(entry.is);
      const address = sanitizeLine(entry.address);
      const margin = draftId === undefined ? "" : "  ";
      const gap = isNarrow ? `\n${margin}  ` : `${" ".repeat(Math.max(0, width - stringWidth(address)))}  `;
      const line = `${margin}${address}${gap}${what}  ${paint("muted", provenance(entry))}\n`;
      return isFirst ? `${paint("strong", sanitizeLine(heading))}\n${line}` : line;
    })
    .join("");
}

/** Everything that is recorded of an entry, a line each; no final line feed. */
export function formatEntry(entry: StateEntry, paint: Palette): string {
  const known = Object.entries(entry.details).filter(([, value]) => value !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  const values = known.map(([name, value]) => {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return `  ${name.padEnd(width)}  ${sanitizeLine(text)}`;
  });
  const head = `${paint("strong", sanitizeLine(withTitle(entry)))}  ${entry.type}, ${paint("muted", provenance(entry))}`;
  return [head, ...values].join("\n");
}

function provenance({ confirmed_by, at: time }: StateEntry): string {
  const at = minuteText(time);
  switch (confirmed_by) {
    case "nobody":
      return `sent ${at}, outcome unknown`;
    case "manifest":
      return "by the manifest";
    case "service":
    case "storage":
      return `confirmed by the ${confirmed_by} ${at}`;
    default:
      return `${describeEvidence(confirmed_by)} ${at}`;
  }
}

/** One thing the ledger holds, as people and scripts see it. Times are ISO 8601, UTC. */
export interface StateEntry {
  readonly address: string;
  /** Of its draft. */
  readonly title?: string | undefined;
  readonly type: "attachment" | "publication" | "duplicate" | "upload" | "draft" | "operation";
  /** In a few words: `file 9900011`, `product 771200, revision 2`. */
  readonly is: string;
  /** What confirmed it, and when. */
  readonly confirmed_by: ConfirmedState["by"] | "manifest" | "service" | "storage" | "nobody";
  readonly at: string;
  readonly details: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Everything that is recorded, sorted by address. Pure. */
export function listEntries(recorded: Recorded): readonly StateEntry[] {
  const entries = [
    ...protectedDrafts(recorded),
    ...maybePublished(recorded),
    ...attachments(recorded),
    ...waitingEntries(recorded),
    ...publications(recorded),
    ...duplicates(recorded),
    ...uploads(recorded),
    ...storedObjects(recorded),
    ...operations(recorded),
  ].sort((a, b) => compareText(a.address, b.address));
  return entries.map((entry) => ({ ...entry, title: recorded.titles.get(draftIdOf(entry.address) ?? 0) }));
}

function confirmed({ by, at }: Provenance) {
  return { confirmed_by: by, at: isoTime(at) };
}

function protectedDrafts({ protectedDrafts: ids }: Recorded): StateEntry[] {
  return [...ids].map((id) => ({
    address: `drafts/${id}`,
    type: "draft",
    is: "protected",
    confirmed_by: "manifest",
    at: "",
    details: { protect: true },
  }));
}

function maybePublished({ maybePublished: drafts }: Recorded): StateEntry[] {
  return [...drafts].map(([id, at]) => ({
    address: publicationAddress(id),
    type: "publication",
    is: "maybe published before this ledger",
    confirmed_by: "service",
    at: isoTime(at),
    details: { maybe_published: true },
  }));
}

function attachments(recorded: Recorded): StateEntry[] {
  return recorded.attachments.map(({ address, fileId, attributes, sha256, provenance }) => ({
    address,
    type: "attachment",
    is: `file ${fileId}`,
    ...confirmed(provenance),
    details: { file_id: fileId, ...attributes, sha256 },
  }));
}

/** Those that another entry's call has taken the file of, and that have no other one yet. */
function waitingEntries({ attachments: files, keptValues }: Recorded): StateEntry[] {
  const held = new Set(files.map(({ address }) => address));
  return [...keptValues]
    .filter(([address]) => !held.has(address))
    .map(([address, values]) => ({
      address,
      type: "attachment",
      is: "waits for a file",
      confirmed_by: "manifest",
      at: "",
      details: { ...values },
    }));
}

function publications(recorded: Recorded): StateEntry[] {
  return recorded.publications.map(({ draftId, revision, productId, provenance }) => ({
    address: publicationAddress(draftId),
    type: "publication",
    is: `product ${productId}, revision ${revision}`,
    ...confirmed(provenance),
    details: { product_id: productId, revision },
  }));
}

function duplicates(recorded: Recorded): StateEntry[] {
  return recorded.duplicates.map(({ name, sourceProductId, productId, provenance }) => ({
    address: `duplicates/${name}`,
    type: "duplicate",
    is: `product ${productId}, copy of ${sourceProductId}`,
    ...confirmed(provenance),
    details: { product_id: productId, source_product_id: sourceProductId },
  }));
}

function uploads(recorded: Recorded): StateEntry[] {
  return recorded.uploads.map((upload) => {
    const { uploadId, uploadKey, sha256, size, status, fileId, at } = upload;
    return {
      address: uploadAddress(upload),
      type: "upload",
      is: `upload ${uploadId}, ${status}${fileId === undefined ? "" : `, file ${fileId}`}`,
      ...confirmed({ by: uploadKey === undefined ? "get" : "post", at }),
      details: { upload_id: uploadId, upload_key: uploadKey, status, file_id: fileId, sha256, size },
    };
  });
}

/** The address of an upload in `state list`. */
export function uploadAddress({ uploadId, uploadKey, source }: RecordedUpload): string {
  if (source !== undefined) return formatAddress({ type: "upload", source });
  return uploadKey === undefined ? `uploads/upload_id:${uploadId}` : `uploads/upload_key:${uploadKey}`;
}

function storedObjects(recorded: Recorded): StateEntry[] {
  return recorded.storedObjects.map(({ uploadKey, source, sha256, size, at }) => ({
    address: formatAddress({ type: "upload", source }),
    type: "upload",
    is: "in storage, not registered yet",
    confirmed_by: "storage",
    at: isoTime(at),
    details: { upload_key: uploadKey, sha256, size },
  }));
}

function operations(recorded: Recorded): StateEntry[] {
  return recorded.inDoubt.map(({ id, address, kind, method, path, startedAt, detail, intent }) => ({
    address,
    type: "operation",
    is: `${kind}${intent.fileId === undefined ? "" : ` of file ${intent.fileId}`} in doubt`,
    confirmed_by: "nobody",
    at: isoTime(startedAt),
    details: { operation_id: id, method, path, detail },
  }));
}
