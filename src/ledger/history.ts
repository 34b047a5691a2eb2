import { type SqlBool, sql } from "kysely";
import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { RecordedOperation } from "../model/recorded.ts";
import { recordsOf } from "./records.ts";
import type { LedgerQueries } from "./tables.ts";
import { type RecordOf, tables } from "./tables.ts";

/**
 * The condition on `operations` for those in doubt: not settled, and either of unknown outcome or without one after a
 * crash. The same words as in the index `operations_in_doubt`: another form would not use the index.
 */
export const inDoubt = sql<SqlBool>`settled_at is null and (outcome is null or outcome = 'unknown')`;

/** Which operations; all conditions must hold. */
export interface OperationFilter {
  readonly id?: string;
  readonly runId?: string;
  readonly address?: string;
}

/** Which runs; all conditions must hold. */
export interface RunFilter {
  readonly id?: string;
  readonly planId?: string;
  readonly command?: string;
  /**
   * Only the last run that applied a plan, and started at this moment or before, epoch milliseconds: what a clock that was ahead
   * dated later does not count.
   */
  readonly lastAppliedUntil?: number;
  /** Started at this moment or later, epoch milliseconds. */
  readonly since?: number;
}

/** Operations by start, then id. */
export async function readOperations(
  queries: LedgerQueries,
  location: string,
  { id, runId, address }: OperationFilter,
): Promise<StoredOperation[]> {
  let found = queries.selectFrom("operations").selectAll();
  if (id !== undefined) found = found.where("id", "=", id);
  if (runId !== undefined) found = found.where("run_id", "=", runId);
  if (address !== undefined) found = found.where("address", "=", address);
  return recordsOf(tables.operations, await found.execute(), location).map(withDetail);
}

/** Operations of which a request was lost, or may have been; in the words of the index `operations_lost`. */
export const isLost = sql<SqlBool>`(outcome is null or outcome = 'unknown' or attempts > 1)`;

/** Part of a transaction: `Ledger.lostWrites`. */
export async function readLostWrites(
  queries: LedgerQueries,
  location: string,
  since: number,
): Promise<StoredOperation[]> {
  const rows = await queries
    .selectFrom("operations")
    .selectAll()
    .where(isLost)
    .where("kind", "in", ["attach", "update", "detach", "publish"])
    .where((or) => or.or([or("finished_at", ">", since), or("finished_at", "is", null)]))
    .where((or) =>
      or.or([or("settled_at", ">", since), or("settled_at", "is", null), or("finished_at", "is not", null)]),
    )
    .execute();
  return recordsOf(tables.operations, rows, location);
}

/** Operations in doubt, by start, then id. */
export async function readInDoubt(queries: LedgerQueries, location: string): Promise<RecordedOperation[]> {
  const rows = await queries.selectFrom("operations").selectAll().where(inDoubt).execute();
  return recordsOf(tables.operations, rows, location).map((operation) => {
    const { outcome: _, attempts: __, failure: ___, settled: ____, ...recorded } = withDetail(operation);
    return recorded;
  });
}

/** Part of a transaction: `Ledger.turns`. */
export async function readTurns(queries: LedgerQueries): Promise<ReadonlyMap<string, number>> {
  const turns = await queries.selectFrom("turns").selectAll().execute();
  return new Map(turns.map(({ address, at }) => [address, Number(at)]));
}

/** Runs by start, then id. */
export async function readRuns(
  queries: LedgerQueries,
  location: string,
  { id, planId, command, since, lastAppliedUntil }: RunFilter,
): Promise<StoredRun[]> {
  let found = queries.selectFrom("runs").selectAll();
  if (id !== undefined) found = found.where("id", "=", id);
  if (planId !== undefined) found = found.where("plan_id", "=", planId);
  if (command !== undefined) found = found.where("command", "=", command);
  if (since !== undefined) found = found.where("started_at", ">=", Math.floor(since));
  if (lastAppliedUntil !== undefined) {
    // A run that ends before it applies its plan has one of these statuses.
    const applied = found.where("plan_id", "<>", "").where("status", "not in", ["error", "refused"]);
    found = applied.where("started_at", "<=", lastAppliedUntil).orderBy("started_at", "desc").limit(1);
  }
  return recordsOf(tables.runs, await found.execute(), location);
}

/** Adds `detail`: why the outcome is unknown, which is the message of the failure. */
export function withDetail(operation: RecordOf<typeof tables.operations>): StoredOperation {
  const { failure } = operation;
  return failure === undefined ? operation : { ...operation, detail: failure.message };
}

/** Part of a transaction: `StateStore.exchangeNotice`. */
export async function exchangeNotice(
  queries: LedgerQueries,
  status: string | undefined,
): Promise<string | undefined> {
  const known = await queries.selectFrom("notices").select("status").executeTakeFirst();
  await queries.deleteFrom("notices").execute();
  if (status !== undefined) await queries.insertInto("notices").values({ id: 1, status }).execute();
  return known?.status;
}

/** Part of a transaction: `StateStore.forgetQuietRuns`. */
export async function forgetQuietRuns(
  queries: LedgerQueries,
  { command, before }: { readonly command: string; readonly before: number },
): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom("runs")
    .where("command", "=", command)
    .where("started_at", "<", before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom("operations").select("operations.id").whereRef("operations.run_id", "=", "runs.id"),
        ),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}
