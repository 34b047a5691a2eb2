import { compareText, draftIdOf } from "../model/address.ts";
import type { StoredOperation, StoredRun } from "../model/history.ts";
import { append } from "../model/lists.ts";
import type { LockHolder } from "../model/lock.ts";
import type { Recorded, RecordedNames } from "../model/recorded.ts";
import type { Attributes } from "../model/resource.ts";
import { type AddressScope, isInScope } from "../model/scope.ts";
import { isoTime } from "../model/time.ts";

/** A run and what it sent, for scripts. Times are ISO 8601, UTC. */
export interface HistoryRun {
  readonly run_id: string;
  readonly command: string;
  /** Absent for single calls (`uploads`, `products`), which have no plan. */
  readonly plan_id?: string | undefined;
  readonly started_at: string;
  /** Absent when it was cut off, or is under way. */
  readonly finished_at?: string | undefined;
  readonly status?: string | undefined;
  readonly totals?: unknown | undefined;
  /** Absent when it is known from a recovery log only. */
  readonly started_by?: RunStarter | undefined;
  readonly operations: readonly HistoryOperation[];
}

/** Who started a run, and from which version of the manifests. */
export interface RunStarter {
  readonly user: string;
  readonly host: string;
  /** The page of the CI job. */
  readonly ci_job?: string | undefined;
  /** Ends with `-dirty` when files differed from it. */
  readonly commit?: string | undefined;
}

/** A writing call and its outcome. */
export interface HistoryOperation {
  readonly operation_id: string;
  readonly address: string;
  /** Of its draft, as it is recorded now. */
  readonly title?: string | undefined;
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly started_at: string;
  readonly finished_at?: string | undefined;
  /** `unknown` also between intent and outcome. */
  readonly outcome: string;
  readonly status?: number | undefined;
  readonly attempts?: number | undefined;
  /** The attributes that it sent. */
  readonly attributes?: Attributes | undefined;
  /** The product that it made, as it is recorded now. */
  readonly product_id?: number | undefined;
  readonly failure?: { readonly code: string; readonly message: string } | undefined;
  /** How its doubt ended, when, and by which operation, or by which person, known by the run of `resolve`. */
  readonly settled?:
    | {
        readonly as: string;
        readonly at: string;
        readonly by?: string | undefined;
        readonly person?: RunStarter | undefined;
      }
    | undefined;
}

/** What is shown of the history. All conditions must hold; of a run, only the operations that fit are shown. */
export interface HistoryFilter {
  /** Only operations on these addresses. */
  readonly scopes?: readonly AddressScope[];
  /** Leading part of the run's id. */
  readonly run?: string;
  /** Epoch milliseconds. */
  readonly since?: number;
  readonly outcome?: string;
  /** The newest so many runs. */
  readonly limit?: number;
}

/** Runs by start, each with its operations by start. A run of which no operation fits a narrower filter is left out. Pure. */
export function viewHistory(
  {
    runs,
    operations,
    recorded,
  }: {
    readonly runs: readonly StoredRun[];
    readonly operations: readonly StoredOperation[];
    readonly recorded: RecordedNames;
  },
  { scopes, run, since = 0, outcome, limit = Number.POSITIVE_INFINITY }: HistoryFilter,
): readonly HistoryRun[] {
  const byRun = new Map<string, HistoryOperation[]>();
  const productOf = indexProducts(recorded, operations);
  for (const operation of [...operations].sort(byStart)) {
    const shown = {
      ...viewOperation(operation, recorded, findPerson(operation, runs)),
      product_id: productOf(operation),
    };
    if (scopes?.some((scope) => isInScope(shown.address, scope)) === false) continue;
    if (outcome !== undefined && shown.outcome !== outcome) continue;
    append(byRun, operation.runId, shown);
  }
  const isNarrow = scopes !== undefined || outcome !== undefined;
  const fitting = runs.filter(
    ({ id, startedAt }) => startedAt >= since && id.startsWith(run ?? "") && (!isNarrow || byRun.has(id)),
  );
  return fitting
    .slice(Math.max(0, fitting.length - limit))
    .map((each) => ({ ...viewRun(each), operations: byRun.get(each.id) ?? [] }));
}

/** The person who settled a doubt: the run of `resolve` at that time knows. */
function findPerson({ settled }: StoredOperation, runs: readonly StoredRun[]): RunStarter | undefined {
  if (settled === undefined || settled.by !== undefined) return undefined;
  const resolve = runs.find(
    ({ command, startedAt, finishedAt = startedAt }) =>
      command === "resolve" && startedAt <= settled.at && settled.at <= finishedAt,
  );
  return viewStarter(resolve?.startedBy);
}

/**
 * Finds the product that a publish or duplicate made, if the ledger has it. Of two calls that made one each, as after a wrong
 * `resolve --not-done`, the ledger has one product only, of either call.
 */
function indexProducts(
  { publications, duplicates }: RecordedNames,
  operations: readonly StoredOperation[],
): (operation: StoredOperation) => number | undefined {
  const products = new Map<string, number>([
    ...publications.map(
      ({ draftId, revision, productId }) => [`drafts/${draftId} ${revision}`, productId] as const,
    ),
    ...duplicates.map(({ name, productId }) => [`duplicates/${name}`, productId] as const),
  ]);
  const makers = new Map<string, number>();
  for (const operation of operations) {
    const key = productKeyOf(operation);
    if (key !== undefined) makers.set(key, (makers.get(key) ?? 0) + 1);
  }
  return (operation) => {
    const key = productKeyOf(operation);
    return key === undefined || makers.get(key) !== 1 ? undefined : products.get(key);
  };
}

/** What a call that took effect made a product for; `undefined` for every other call. */
function productKeyOf({ kind, intent, outcome, settled }: StoredOperation): string | undefined {
  const isDone = settled === undefined ? outcome === "done" : settled.as === "done";
  if (!isDone) return undefined;
  if (kind === "publish") return `drafts/${intent.draftId} ${intent.revision}`;
  return kind === "duplicate" ? `duplicates/${intent.name}` : undefined;
}

/** Calls of the same millisecond are sorted by address. */
function byStart(one: StoredOperation, other: StoredOperation): number {
  return one.startedAt - other.startedAt || compareText(one.address, other.address);
}

function viewRun({ id, command, planId, startedAt, finishedAt, status, totals, startedBy }: StoredRun) {
  return {
    run_id: id,
    command,
    plan_id: planId || undefined,
    started_at: isoTime(startedAt),
    finished_at: timeOf(finishedAt),
    status,
    totals,
    started_by: viewStarter(startedBy),
  };
}

function timeOf(at: number | undefined): string | undefined {
  return at === undefined ? undefined : isoTime(at);
}

function viewStarter(holder: LockHolder | undefined): RunStarter | undefined {
  if (holder === undefined) return undefined;
  const { user, host, url, commit } = holder;
  return { user, host, ci_job: url, commit };
}

/** One operation as scripts see it; `person` settled it. */
export function viewOperation(
  operation: StoredOperation,
  { titles }: Pick<Recorded, "titles">,
  person?: RunStarter,
): HistoryOperation {
  const { id, address, kind, method, path, startedAt, finishedAt } = operation;
  const { outcome = "unknown", status, attempts, failure, settled } = operation;
  const { attributes = {} } = operation.intent;
  return {
    operation_id: id,
    address,
    title: titles.get(draftIdOf(address) ?? 0),
    kind,
    method,
    path,
    started_at: isoTime(startedAt),
    finished_at: timeOf(finishedAt),
    outcome,
    status,
    attempts,
    attributes: Object.keys(attributes).length === 0 ? undefined : attributes,
    failure: failure && { code: failure.code, message: failure.message },
    settled: settled && { as: settled.as, at: isoTime(settled.at), by: settled.by, person },
  };
}
