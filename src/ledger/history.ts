import { z } from "zod";
import { compareText } from "../model/address.ts";
import {
  type OperationSettlement,
  type StoredOperation,
  type StoredRun,
  settlements,
} from "../model/history.ts";
import { lazily } from "../model/lazily.ts";
import { operationKinds, type RecordedOperation } from "../model/recorded.ts";
import { inDoubt } from "./in-doubt.ts";
import type { LedgerQueries } from "./schema.ts";
import { failureSchema, intentSchema, totalsSchema } from "./stored-json.ts";
import { type RowShape, StoredRow } from "./stored-row.ts";

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
  /** Started at this moment or later, epoch milliseconds. */
  readonly since?: number;
}

/** Operations by start, then id. */
export async function readOperations(
  queries: LedgerQueries,
  location: string,
  filter: OperationFilter,
): Promise<StoredOperation[]> {
  const { id, runId, address } = filter;
  const rows = await queries
    .selectFrom("operations")
    .select(operationColumns)
    .$if(id !== undefined, (query) => query.where("id", "=", id ?? ""))
    .$if(runId !== undefined, (query) => query.where("run_id", "=", runId ?? ""))
    .$if(address !== undefined, (query) => query.where("address", "=", address ?? ""))
    .execute();
  return storedRows(rows, { location, table: "operations", columns: operationColumns, keyLength: 1 })
    .map(operationOf)
    .sort(byStart);
}

/** Operations in doubt, by start, then id. */
export async function readInDoubt(queries: LedgerQueries, location: string): Promise<RecordedOperation[]> {
  const rows = await queries.selectFrom("operations").select(operationColumns).where(inDoubt).execute();
  return storedRows(rows, { location, table: "operations", columns: operationColumns, keyLength: 1 })
    .map(recordedOf)
    .sort(byStart);
}

/** Runs by start, then id. */
export async function readRuns(
  queries: LedgerQueries,
  location: string,
  filter: RunFilter,
): Promise<StoredRun[]> {
  const { id, planId, command, since } = filter;
  const rows = await queries
    .selectFrom("runs")
    .select(runColumns)
    .$if(id !== undefined, (query) => query.where("id", "=", id ?? ""))
    .$if(planId !== undefined, (query) => query.where("plan_id", "=", planId ?? ""))
    .$if(command !== undefined, (query) => query.where("command", "=", command ?? ""))
    .$if(since !== undefined, (query) => query.where("started_at", ">=", Math.floor(since ?? 0)))
    .execute();
  return storedRows(rows, { location, table: "runs", columns: runColumns, keyLength: 1 })
    .map(runOf)
    .sort(byStart);
}

const operationColumns = [
  "id",
  "run_id",
  "address",
  "kind",
  "method",
  "path",
  "intent",
  "started_at",
  "finished_at",
  "outcome",
  "status",
  "attempts",
  "failure",
  "settled_at",
  "settled_as",
  "settled_by",
] as const;

const runColumns = ["id", "command", "plan_id", "started_at", "finished_at", "status", "totals"] as const;

/** How an operation may have ended. */
export const outcomes = ["done", "rejected", "not_sent", "unknown"] as const;

/** Of a failure, what says why the outcome is unknown. */
const detailSchema = lazily(() => z.looseObject({ message: z.string() }));

interface Started {
  readonly id: string;
  readonly startedAt: number;
}

/** Not left to the database: each has its own order of texts. */
function byStart(one: Started, other: Started): number {
  return one.startedAt - other.startedAt || compareText(one.id, other.id);
}

function storedRows(rows: readonly Readonly<Record<string, unknown>>[], shape: RowShape): StoredRow[] {
  return rows.map(
    (row) =>
      new StoredRow(
        shape,
        shape.columns.map((column) => row[column]),
      ),
  );
}

function recordedOf(row: StoredRow): RecordedOperation {
  const finishedAt = row.optionalInteger("finished_at");
  const status = row.optionalInteger("status");
  const detail = row.optionalJson("failure", detailSchema)?.message;
  return {
    id: row.text("id"),
    runId: row.text("run_id"),
    address: row.text("address"),
    kind: row.oneOf("kind", operationKinds),
    method: row.text("method"),
    path: row.text("path"),
    intent: row.json("intent", intentSchema),
    startedAt: row.integer("started_at"),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(status === undefined ? {} : { status }),
    ...(detail === undefined ? {} : { detail }),
  };
}

function operationOf(row: StoredRow): StoredOperation {
  const outcome = row.optionalOneOf("outcome", outcomes);
  const attempts = row.optionalInteger("attempts");
  const failure = row.optionalJson("failure", failureSchema);
  const settled = settlementOf(row);
  return {
    ...recordedOf(row),
    ...(outcome === undefined ? {} : { outcome }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(failure === undefined ? {} : { failure }),
    ...(settled === undefined ? {} : { settled }),
  };
}

function settlementOf(row: StoredRow): OperationSettlement | undefined {
  const as = row.optionalOneOf("settled_as", settlements);
  if (as === undefined) return undefined;
  const by = row.optionalText("settled_by");
  return { as, at: row.integer("settled_at"), ...(by === undefined ? {} : { by }) };
}

function runOf(row: StoredRow): StoredRun {
  const finishedAt = row.optionalInteger("finished_at");
  const status = row.optionalText("status");
  const totals = row.optionalJson("totals", totalsSchema);
  return {
    id: row.text("id"),
    command: row.text("command"),
    planId: row.text("plan_id"),
    startedAt: row.integer("started_at"),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(status === undefined ? {} : { status }),
    ...(totals === undefined ? {} : { totals }),
  };
}
