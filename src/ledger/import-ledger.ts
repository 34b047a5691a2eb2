import type { StoredOperation } from "../model/history.ts";
import { checkAddress } from "./attachment-address.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerExport } from "./ledger-export.ts";
import type { LedgerQueries, LedgerTables } from "./schema.ts";
import { attachmentValues, duplicateValues, objectValues, publicationValues } from "./stored-values.ts";

/** Few enough for the parameters that one statement may have: 32,766 in SQLite, 65,535 in PostgreSQL. */
const rowsAtOnce = 500;

/**
 * Writes an export into a ledger that holds nothing, inside one transaction. Lineage and serial are taken over: it is
 * the same ledger in another place. Rejects with `ledger-not-empty`, or with `ledger-conflict` when the parts of the
 * export contradict each other.
 */
export async function importLedger(
  queries: LedgerQueries,
  exported: LedgerExport,
  location: string,
): Promise<void> {
  await refuseUnlessEmpty(queries, location);
  const { lineage, serial, service_origin, workspace, confirmed_at } = exported;
  await queries
    .updateTable("meta")
    .set({ lineage, serial, service_origin, workspace, confirmed_at })
    .execute();
  exported.attachments.forEach(checkAddress);
  const { protected_drafts, maybe_published, attachments, publications, duplicates } = exported;
  const { uploads, stored_objects, refreshes, runs, operations } = exported;
  await inParts(protected_drafts, (part) =>
    queries.insertInto("protected_drafts").values(part.map((draft_id) => ({ draft_id }))),
  );
  await inParts(maybe_published, (part) =>
    queries
      .insertInto("maybe_published_drafts")
      .values(part.map(({ draftId, at }) => ({ draft_id: draftId, found_at: at }))),
  );
  await inParts(attachments, (part) => queries.insertInto("attachments").values(part.map(attachmentValues)));
  await inParts(publications, (part) =>
    queries.insertInto("publications").values(part.map(publicationValues)),
  );
  await inParts(duplicates, (part) => queries.insertInto("duplicates").values(part.map(duplicateValues)));
  await inParts(uploads, (part) => queries.insertInto("uploads").values(part.map(uploadValues)));
  await inParts(stored_objects, (part) =>
    queries.insertInto("stored_objects").values(part.map(objectValues)),
  );
  await inParts(refreshes, (part) =>
    queries.insertInto("refreshes").values(part.map(({ resource, at }) => ({ resource, refreshed_at: at }))),
  );
  await inParts(runs, (part) => queries.insertInto("runs").values(part.map(runValues)));
  await inParts(operations, (part) => queries.insertInto("operations").values(part.map(operationValues)));
}

async function inParts<T>(
  rows: readonly T[],
  insert: (part: readonly T[]) => { execute(): Promise<unknown> },
): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    await insert(rows.slice(from, from + rowsAtOnce)).execute();
  }
}

async function refuseUnlessEmpty(queries: LedgerQueries, location: string): Promise<void> {
  const meta = await queries.selectFrom("meta").select(["serial", "service_origin"]).executeTakeFirst();
  const run = await queries.selectFrom("runs").select("id").limit(1).executeTakeFirst();
  // Every change but these two raises the serial.
  if (meta?.serial === 0 && meta.service_origin === null && run === undefined) return;
  throw new LedgerError("ledger-not-empty", `The ledger ${location} is not empty; nothing was imported.`, {
    hint: "Import into a new ledger: set `state` (or DRAFTSYNC_STATE, --state) to a place where there is none.",
  });
}

function uploadValues(upload: LedgerExport["uploads"][number]): LedgerTables["uploads"] {
  return {
    upload_id: upload.uploadId,
    upload_key: upload.uploadKey ?? "",
    source: upload.source ?? null,
    sha256: upload.sha256 ?? null,
    size: upload.size ?? null,
    status: upload.status,
    file_id: upload.fileId ?? null,
    registered_at: upload.at,
  };
}

function runValues(run: LedgerExport["runs"][number]): LedgerTables["runs"] {
  return {
    id: run.id,
    command: run.command,
    plan_id: run.planId,
    started_at: run.startedAt,
    finished_at: run.finishedAt ?? null,
    status: run.status ?? null,
    totals: run.totals === undefined ? null : JSON.stringify(run.totals),
  };
}

/** Without `detail`: it is the message of `failure`. */
function operationValues(operation: StoredOperation): LedgerTables["operations"] {
  const { failure, settled } = operation;
  return {
    id: operation.id,
    run_id: operation.runId,
    address: operation.address,
    kind: operation.kind,
    method: operation.method,
    path: operation.path,
    intent: JSON.stringify(operation.intent),
    started_at: operation.startedAt,
    finished_at: operation.finishedAt ?? null,
    outcome: operation.outcome ?? null,
    status: operation.status ?? null,
    attempts: operation.attempts ?? null,
    failure: failure === undefined ? null : JSON.stringify(failure),
    settled_at: settled?.at ?? null,
    settled_as: settled?.as ?? null,
    settled_by: settled?.by ?? null,
  };
}
