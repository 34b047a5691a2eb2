import { compareText, draftIdOf } from "../model/address.ts";
import { append } from "../model/append.ts";
import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { LockHolder } from "../model/lock.ts";
import type { Recorded, RecordedNames } from "../model/recorded.ts";
import type { Attributes } from "../model/resource.ts";
import type { AddressScope } from "../model/scope.ts";
import { isInScope } from "../model/scope.ts";
import { isoTime } from "../model/time.ts";

/** A run and what it sent, for scripts. Times are ISO 8601, UTC. */
export interface HistoryRun {
  readonly run_id: string;
  readonly command: string;
  /** Absent for single calls (`uploads`, `products`), which have no plan. */
  readonly plan_id?: string;
  readonly started_at: string;
  /** Absent when it was cut off, or is under way. */
  readonly finished_at?: string;
  readonly status?: string;
  readonly totals?: unknown;
  /** Absent when it is known from a recovery log only. */
  readonly started_by?: RunStarter;
  readonly operations: readonly HistoryOperation[];
}

/** Who started a run, and from which version of the manifests. */
export interface RunStarter {
  readonly user: string;
  readonly host: string;
  /** The page of the CI job. */
  readonly ci_job?: string;
  /** Ends with `-dirty` when files differed from it. */
  readonly commit?: string;
}

/** A writing call and its outcome. */
export interface HistoryOperation {
  readonly operation_id: string;
  readonly address: string;
  /** Of its draft, as it is recorded now. */
  readonly title?: string;
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly started_at: string;
  readonly finished_at?: string;
  /** `unknown` also between intent and outcome. */
  readonly outcome: string;
  readonly status?: number;
  readonly attempts?: number;
  /** The attributes that it sent. */
  readonly attributes?: Attributes;
  /** The product that it made, as it is recorded now. */
  readonly product_id?: number;
  readonly failure?: { readonly code: string; readonly message: string };
  /** How its doubt ended, when, and by which operation, or by which person, known by the run of `resolve`. */
  readonly settled?: {
    readonly as: string;
    readonly at: string;
    readonly by?: string;
    readonly person?: RunStarter;
  };
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
  const resolves = runs.filter(({ command }) => command === "resolve");
  const personOf = ({ settled }: StoredOperation) => {
    if (settled === undefined || settled.by !== undefined) return undefined;
    const run = resolves.find(
      ({ startedAt, finishedAt = startedAt }) => startedAt <= settled.at && settled.at <= finishedAt,
    );
    return run?.startedBy === undefined ? undefined : viewStarter(run.startedBy);
  };
  for (const operation of [...operations].sort(byStart)) {
    const view = viewOperation(operation, recorded);
    const person = personOf(operation);
    const settled =
      view.settled === undefined || person === undefined ? {} : { settled: { ...view.settled, person } };
    const shown = { ...view, ...settled, ...productOf(operation) };
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

/**
 * Finds the product that a publish or duplicate made, if the ledger has it. Of two calls that made one each, as after a wrong
 * `resolve --not-done`, the ledger has one product only and does not say whose.
 */
function indexProducts(
  { publications, duplicates }: RecordedNames,
  operations: readonly StoredOperation[],
): (operation: StoredOperation) => { readonly product_id?: number } {
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
    const productId = key === undefined || makers.get(key) !== 1 ? undefined : products.get(key);
    return productId === undefined ? {} : { product_id: productId };
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
    ...(planId === "" ? {} : { plan_id: planId }),
    started_at: isoTime(startedAt),
    ...(finishedAt === undefined ? {} : { finished_at: isoTime(finishedAt) }),
    ...(status === undefined ? {} : { status }),
    ...(totals === undefined ? {} : { totals }),
    ...(startedBy === undefined ? {} : { started_by: viewStarter(startedBy) }),
  };
}

function viewStarter({ user, host, url, commit }: LockHolder): RunStarter {
  return {
    user,
    host,
    ...(url === undefined ? {} : { ci_job: url }),
    ...(commit === undefined ? {} : { commit }),
  };
}

/** One operation as scripts see it. */
export function viewOperation(
  operation: StoredOperation,
  { titles }: Pick<Recorded, "titles">,
): HistoryOperation {
  const { id, address, kind, method, path, startedAt, finishedAt } = operation;
  const { outcome = "unknown", status, attempts, failure, settled } = operation;
  const { attributes = {} } = operation.intent;
  const title = titles.get(draftIdOf(address) ?? 0);
  return {
    operation_id: id,
    address,
    ...(title === undefined ? {} : { title }),
    kind,
    method,
    path,
    started_at: isoTime(startedAt),
    ...(finishedAt === undefined ? {} : { finished_at: isoTime(finishedAt) }),
    outcome,
    ...(status === undefined ? {} : { status }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(failure === undefined ? {} : { failure: { code: failure.code, message: failure.message } }),
    ...(settled === undefined
      ? {}
      : {
          settled: {
            as: settled.as,
            at: isoTime(settled.at),
            ...(settled.by === undefined ? {} : { by: settled.by }),
          },
        }),
  };
}
