import { type SqlBool, sql } from "kysely";
import type { LockHolder } from "../model/lock.ts";
import type { LedgerEffect, NewOperation, OperationResult, RunRecord, RunResult } from "../model/ports.ts";
import { intentSchema, type OperationIntent, targetOf } from "../model/recorded.ts";
import type { FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";
import { isAttachRefusal } from "../model/unsettled.ts";
import { inDoubt } from "./history.ts";
import { keepValues, releaseUntaken } from "./kept-values.ts";
import { LedgerError } from "./ledger-error.ts";
import { addRecord } from "./records.ts";
import { type LedgerQueries, tables } from "./tables.ts";

/** How an operation in doubt was settled. */
export interface Settlement {
  readonly operationId: string;
  readonly outcome: "done" | "rejected" | "not_sent" | "superseded";
  /** The operation that proved it. */
  readonly by?: string | undefined;
}

/** Records a run. Part of a transaction, as everything here; times are epoch milliseconds. */
export async function startRun(queries: LedgerQueries, run: RunRecord, by?: LockHolder): Promise<void> {
  await queries
    .insertInto("runs")
    .values({
      id: run.id,
      command: run.command,
      plan_id: run.planId,
      started_at: run.startedAt,
      started_by: by === undefined ? null : JSON.stringify(by),
    })
    .execute();
}

/** Both databases bound the parameters of a statement. */
const rowsPerStatement = 1000;

/** Throws `ledger-conflict` for a run that was never started, or has ended. */
export async function finishRun(
  queries: LedgerQueries,
  runId: string,
  { totals, status, turns = [], at }: RunResult & { readonly at: number },
): Promise<void> {
  const finished = await queries
    .updateTable("runs")
    .set({ finished_at: at, status, totals: JSON.stringify(totals ?? null) })
    .where("id", "=", runId)
    .where("finished_at", "is", null)
    .executeTakeFirst();
  assertChanged(finished, `Run ${runId} was never started, or has ended.`);
  for (let start = 0; start < turns.length; start += rowsPerStatement) {
    const rows = turns.slice(start, start + rowsPerStatement).map((address) => ({ address, at }));
    const kept = queries.insertInto("turns").values(rows);
    await kept.onConflict((existing) => existing.column("address").doUpdateSet({ at })).execute();
  }
}

/** Records the intent of an operation, and what is kept for the entry whose file it takes over. */
export async function beginOperation(
  queries: LedgerQueries,
  { id, runId, address, kind, method, path, intent }: NewOperation,
  at: number,
): Promise<void> {
  await keepTaken(queries, { address, intent });
  await sql`insert into operations (id, run_id, address, kind, method, path, intent, started_at)
    values (${id}, ${runId}, ${address}, ${kind}, ${method}, ${path}, ${JSON.stringify(intent)}, ${at})`.execute(
    queries,
  );
}

/** An operation that was refused, or not sent, is sent now. Throws `ledger-conflict` for one that has ended otherwise. */
export async function resendOperation(queries: LedgerQueries, id: string, at: number): Promise<void> {
  const again = await queries
    .updateTable("operations")
    .set({ started_at: at, finished_at: null, outcome: null, status: null, attempts: null, failure: null })
    .where("id", "=", id)
    .where("settled_at", "is", null)
    .where((or) => or.or([or("outcome", "is", null), or("outcome", "=", "rejected")]))
    .executeTakeFirst();
  assertChanged(again, `Operation ${id} was never begun, or has ended.`);
  await keepTaken(queries, await readOperation(queries, id));
}

/** What an operation wrote to. */
interface FinishedOperation {
  readonly runId: string;
  readonly path: string;
  readonly address: string;
}

/**
 * Records the outcome of an operation. Throws `ledger-conflict` for one that was never begun, or has ended; one that was refused
 * may be refused again, or be in doubt after all. Without attempts, it ended when its lock was taken over.
 */
export async function finishOperation(
  queries: LedgerQueries,
  operationId: string,
  { outcome, status, attempts, failure, at }: OperationResult & { readonly at: number },
): Promise<FinishedOperation> {
  const failed = failure === undefined ? null : JSON.stringify(failure);
  const { rows } = await sql<FinishedOperation & { readonly intent: string }>`update operations
    set finished_at = ${at}, outcome = ${outcome}, status = ${status ?? null}, attempts = ${attempts}, failure = ${failed}
    where id = ${operationId} and (attempts is null or (outcome = 'rejected' and ${outcome} in ('rejected', 'unknown')))
    returning run_id as "runId", path, address, intent`.execute(queries);
  const [finished] = rows;
  if (finished === undefined)
    throw new LedgerError("ledger-conflict", `Operation ${operationId} was never begun, or has ended.`);
  if (outcome === "done") return finished;
  const { address, path } = finished;
  const intent = parseIntent(finished.intent);
  const target = takenBy(intent);
  if (outcome === "unknown") await keepTaken(queries, { address, intent });
  else if (target !== undefined) await releaseUntaken(queries, target, path);
  return finished;
}

/** Keeps the values of an entry whose file a call takes over. */
async function keepTaken(
  queries: LedgerQueries,
  { address, intent }: Pick<NewOperation, "address" | "intent">,
): Promise<void> {
  const target = takenBy(intent);
  if (target !== undefined) await keepValues(queries, { target, taker: address, sent: intent.attributes });
}

function takenBy(intent: OperationIntent): FileTarget | undefined {
  return intent.takesOver === true ? targetOf({ intent }) : undefined;
}

async function readOperation(queries: LedgerQueries, id: string) {
  const { address, kind, status, intent } = await queries
    .selectFrom("operations")
    .select(["address", "kind", "status", "intent"])
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return { address, kind, status, intent: parseIntent(intent) };
}

/** The column `intent`. */
export function parseIntent(json: string): OperationIntent {
  return intentSchema.parse(JSON.parse(json));
}

/**
 * What was sent and has no outcome was lost by now: its process has ended, its lease was longer than its call could take, or it
 * runs at another ledger. When is unknown: a process that is stopped keeps its connection. The outcome may still be recorded,
 * from a recovery log.
 */
export async function loseOpenCalls(queries: LedgerQueries, at: number): Promise<void> {
  await queries
    .updateTable("operations")
    .set({
      outcome: "unknown",
      finished_at: sql`case when started_at > ${at} then started_at else ${at} end`,
    })
    .where(isOpen)
    .execute();
}

/** The longest that the calls of one operation take, with their retries and the waits that the service asks for, milliseconds. */
const longestOperationMs = 3_600_000;

/**
 * Calls of which a request was lost count as lost now: the clock that dated them is another one, so how long ago that was is not
 * known. Those that ended long before the newest one, and whose outcome is known, keep their dates.
 */
export async function redateLostCalls(queries: LedgerQueries, now: number): Promise<void> {
  await sql`update operations
    set finished_at = ${now}, started_at = case when started_at > ${now} then ${now} else started_at end
    where (${inDoubt}) or
      (attempts > 1 and finished_at > (select max(finished_at) from operations) - ${longestOperationMs})`.execute(
    queries,
  );
}

/** Ids of operations that were begun and have no outcome: their calls may be in flight. */
export async function openOperations(queries: LedgerQueries): Promise<readonly string[]> {
  const open = await queries.selectFrom("operations").select("id").where(isOpen).execute();
  return open.map(({ id }) => id);
}

const isOpen = sql<SqlBool>`outcome is null and settled_at is null`;

/**
 * Settles what an operation that is done proves: updates and detaches in doubt of the same files, and uploads in doubt at the
 * same address. Files are compared by path, because the address of a file may change between two runs.
 */
export async function supersede(
  queries: LedgerQueries,
  done: FinishedOperation & { readonly operationId: string },
  { effects, at }: { readonly effects: readonly LedgerEffect[]; readonly at: number },
): Promise<void> {
  const { operationId, path, address } = done;
  const attached = effects.flatMap((effect) =>
    effect.type === "attached" ? [pathOf(effect.attachment)] : [],
  );
  const paths = sql.join([path, ...attached]);
  await sql`update operations
    set settled_at = ${at}, settled_as = 'superseded', settled_by = ${operationId}
    where ${inDoubt} and id <> ${operationId} and
      ((kind in ('update', 'detach') and path in (${paths})) or (kind = 'upload' and address = ${address}))`.execute(
    queries,
  );
}

/** A file that is not attached leaves nothing of its updates and detaches in doubt. */
export async function settleGone(
  queries: LedgerQueries,
  file: FileTarget,
  { at, by }: { readonly at: number; readonly by?: string | undefined },
): Promise<void> {
  await queries
    .updateTable("operations")
    .set({ settled_at: at, settled_as: "superseded", settled_by: by ?? null })
    .where(inDoubt)
    .where("kind", "in", ["update", "detach"])
    .where("path", "=", pathOf(file))
    .execute();
}

function pathOf(file: FileTarget): string {
  return `/api/${fileResource(file)}`;
}

/** Throws `ledger-conflict` for an operation that is not in doubt. */
export async function settleOperation(
  queries: LedgerQueries,
  { operationId, outcome, by }: Settlement,
  at: number,
): Promise<void> {
  const settled = await queries
    .updateTable("operations")
    .set({ settled_at: at, settled_as: outcome, settled_by: by ?? null })
    .where("id", "=", operationId)
    .where(inDoubt)
    .executeTakeFirst();
  assertChanged(settled, `Operation ${operationId} is not in doubt.`);
  if (outcome === "done") await keepEvidence(queries, operationId, at);
}

/**
 * A file that is attached although its attachment was refused was attached before this ledger recorded it, so its draft may be
 * published as well: however the operation is settled.
 */
async function keepEvidence(queries: LedgerQueries, operationId: string, at: number): Promise<void> {
  const operation = await readOperation(queries, operationId);
  if (operation.kind !== "attach") return;
  const { draftId, fileKind, fileId, refusedWith } = operation.intent;
  if (draftId === undefined || !isAttachRefusal(refusedWith ?? operation.status ?? undefined)) return;
  const known = sql`
    select 1 from attachments where draft_id = ${draftId} and kind = ${fileKind ?? ""} and file_id = ${fileId ?? 0}`;
  if ((await known.execute(queries)).rows.length > 0) return;
  await addRecord(queries, tables.maybe_published, { draftId, at });
}

/** Throws `ledger-conflict` with the message when an update changed no row. */
export function assertChanged(
  { numUpdatedRows }: { readonly numUpdatedRows: bigint },
  message: string,
): void {
  if (numUpdatedRows === 0n) throw new LedgerError("ledger-conflict", message);
}
