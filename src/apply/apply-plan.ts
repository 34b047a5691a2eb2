import { posix } from "node:path";
import pLimit, { type LimitFunction } from "p-limit";
import { draftIdOf, parseAddress, publicationAddress } from "../model/address.ts";
import type { Change, DuplicateChange } from "../model/change.ts";
import { type Drift, recordOfDrift, targetOfDrift } from "../model/drift.ts";
import type { RunLimit, RunTotals } from "../model/event.ts";
import { lazily } from "../model/lazily.ts";
import { append } from "../model/lists.ts";
import type { CallFailure } from "../model/outcome.ts";
import { type Plan, type PlanDraft, readTooLittle } from "../model/plan.ts";
import { type LedgerEffect, ledgerClock } from "../model/ports.ts";
import { holdersOf } from "./claims.ts";
import { type ApplyContext, type ApplyOptions, bindOnce, newRunId } from "./context.ts";
import { type DraftEnd, type DraftWork, runDraft } from "./draft-run.ts";
import { readEarlierWrites } from "./earlier-writes.ts";
import { allEnded } from "./operation.ts";
import { duplicateProduct } from "./product-change.ts";
import { type CallShortfall, isLimited, RunBudget } from "./run-budget.ts";
import { makeRecordedFiles } from "./same-file.ts";
import { byTurn, pastTurns } from "./start-order.ts";
import { type ChangeTracker, makeTracker } from "./tracker.ts";
import { makeUploads } from "./uploads.ts";

/** How a run ended. */
export interface ApplyResult {
  readonly runId: string;
  readonly totals: RunTotals;
  /** Present when the run stopped before the end of its plan. */
  readonly stopped?: "interrupted" | RunLimit | CallFailure;
  /** Whether anything was done, also by a change that failed later. */
  readonly hasChanged: boolean;
  /** How many of the failed changes were left out for safety. */
  readonly refused: number;
  /** How many doubts of earlier runs were left to the next one. */
  readonly unsettled: number;
  /** Present when an operation did not fit into the calls that were left. */
  readonly shortfall?: CallShortfall;
}

/**
 * Applies a plan. Decides nothing: every decision is in the plan. Failures of the service or the network end in the
 * result; a failing ledger stops the run and is thrown, after the calls in flight have ended. When it failed to
 * record their outcomes, throws an `OutcomesNotRecordedError` with all of them.
 */
export async function applyPlan(options: ApplyOptions): Promise<ApplyResult> {
  const { plan, ledger, service, clock, emit } = options;
  const runId = newRunId();
  const startedAt = clock.monotonic();
  const halt = new AbortController();
  const signal = AbortSignal.any([options.signal, halt.signal]);
  let runFailure: CallFailure | undefined;
  const stopped = () => runFailure ?? (options.signal.aborted ? ("interrupted" as const) : undefined);
  const onRunFailure = (failure: CallFailure) => {
    runFailure ??= failure;
    halt.abort();
  };
  const callsBefore = service.callCount();
  const spent = () => service.callCount() - callsBefore;
  const { limits, concurrency } = options;
  const budget = isLimited(limits) ? new RunBudget({ limits, spent, clock }) : undefined;
  const tracker = makeTracker({ clock, emit, stopped, budget, onRunFailure });
  const owner = { origin: plan.service_origin, workspace: plan.workspace };
  await ledger.assertOwner(owner);
  const dates = await ledgerClock(ledger, clock);
  const context: ApplyContext = {
    ...options,
    clock: dates,
    earlierWrites: await readEarlierWrites(ledger, options),
    holders: lazily(async () => holdersOf(await ledger.load(), plan)),
    bind: bindOnce(ledger, owner, options.confirmedAt),
    runId,
    startedAt,
    signal,
    budget,
    turns: budget === undefined ? new Map() : pastTurns(await ledger.turns(), dates.now()),
    whileIdle: (work) => work(),
  };

  await ledger.startRun({
    id: runId,
    command: options.command,
    planId: plan.plan_id,
    startedAt: dates.now(),
  });
  const found = driftEffects(plan.drift ?? []);
  // The refresh of the plan has accepted what it found.
  if (found.length > 0) await context.bind();
  await ledger.record([...titleEffects(plan.drafts), ...found], runId);
  const calls = plan.estimate.calls.min;
  const { plan_id, summary } = plan;
  emit({ type: "run_started", at: clock.now(), run_id: runId, plan_id, summary, calls });
  await applyAll(context, { tracker, plan, concurrency, halt }).finally(() => budget?.close());

  const totals = { ...tracker.totals(), calls: spent() };
  const end = stopped() ?? (totals.deferred > 0 ? budget?.reached : undefined);
  const ending = end === undefined ? {} : { stopped: end };
  const drift = plan.refresh === undefined ? {} : { drift: (plan.drift ?? []).length };
  const ended = statusOf(totals, end);
  // Another replica must not rely on a run that could check nothing.
  const status = ended === "done" && readTooLittle(plan, totals) ? "unchecked" : ended;
  const turns = budget === undefined ? {} : { turns: tracker.turns() };
  const because = typeof end === "object" ? { stopped: end.code } : {};
  const finish = ledger.finishRun(runId, { totals: { ...totals, ...drift, ...because }, status, ...turns });
  // What was done is also said when the ledger has failed.
  await finish.finally(() => {
    const ms = Math.round(clock.monotonic() - startedAt);
    emit({ type: "run_finished", at: clock.now(), run_id: runId, totals, ms, ...ending });
  });
  const { shortfall } = budget ?? {};
  const counts = {
    hasChanged: tracker.hasChanged(),
    refused: tracker.refused(),
    unsettled: tracker.unsettled(),
  };
  return { runId, totals, ...counts, ...ending, ...(shortfall === undefined ? {} : { shortfall }) };
}

interface ApplyParts {
  readonly tracker: ChangeTracker;
  readonly plan: Plan;
  readonly concurrency: number;
  readonly halt: AbortController;
}

/** Where work runs, and what it waits for. */
interface Lane {
  readonly limit: LimitFunction;
  readonly after: Promise<unknown>;
}

/** A draft, or a duplicate of a known product. `onIdle` is called when it only waits. */
interface Work {
  readonly address: string;
  start(lane: Lane, onIdle: () => void): Promise<unknown>;
}

/** Waits for everything that was started, also when a part of it throws. */
async function applyAll(
  context: ApplyContext,
  { tracker, plan, concurrency, halt }: ApplyParts,
): Promise<void> {
  const { drafts, duplicates, forgotten, blocked } = divide(plan.changes);
  for (const change of blocked) tracker.block(change);
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      halt.abort();
      throw error;
    }
  };
  const tools = {
    context,
    tracker,
    uploads: makeUploads(context),
    recorded: makeRecordedFiles(context.ledger),
    guarded,
  };
  const ends = new Map<number, Promise<DraftEnd>>();
  const started: Promise<unknown>[] = [];
  const copy = (change: DuplicateChange) => guarded(() => duplicate(context, tracker, { change, ends }));
  const works: readonly Work[] = [
    ...drafts.map((draft) => ({
      address: `drafts/${draft.draftId}`,
      start: (lane: Lane, onIdle: () => void) => {
        const own = { ...tools, context: { ...context, whileIdle: idlingOf(lane.limit, onIdle) } };
        const end = startIn(lane, () => guarded(() => runDraft(own, draft)));
        ends.set(draft.draftId, end);
        return end;
      },
    })),
    ...duplicates
      .filter(({ after }) => after.product_id !== undefined)
      .map((change) => ({
        address: change.address,
        start: (lane: Lane) => startIn(lane, () => copy(change)),
      })),
  ];
  const { turns } = context;
  /** The result ends when the work has ended or only waits, so that nothing else has to wait for it. */
  const begin = (work: Work, lane: Lane) =>
    new Promise<void>((resolve) => {
      const end = work.start(lane, resolve);
      started.push(end);
      void Promise.allSettled([end]).then(() => resolve());
    });
  const lane = { limit: pLimit(concurrency), after: Promise.resolve() };
  const fresh = works.filter(({ address }) => !turns.has(address)).map((work) => begin(work, lane));
  const again = works.filter(({ address }) => turns.has(address));
  const last = { limit: pLimit(1), after: Promise.all(fresh) };
  const [first] = byTurn(again, turns, ({ address }) => address).map((work) => begin(work, last));
  // What had its turn longest ago is alone at first, so that what is quicker cannot use up every run before it.
  void first?.then(() => {
    last.limit.concurrency += concurrency - 1;
  });
  const rest = [
    ...forgotten.map((change) => guarded(() => forget(context, tracker, change))),
    ...duplicates.filter(({ after }) => after.product_id === undefined).map(copy),
  ];
  await allEnded([...started, ...rest]);
}

function startIn<T>({ limit, after }: Lane, work: () => Promise<T>): Promise<T> {
  return after.then(() => limit(work));
}

/** While a draft waits for its upload, or until lost calls can no longer take effect, another one takes its place. */
function idlingOf(limit: LimitFunction, onIdle: () => void): ApplyContext["whileIdle"] {
  let waiting = 0;
  return async (work) => {
    waiting += 1;
    onIdle();
    if (waiting === 1) limit.concurrency += 1;
    try {
      return await work();
    } finally {
      waiting -= 1;
      if (waiting === 0) limit.concurrency -= 1;
    }
  };
}

async function forget(context: ApplyContext, tracker: ChangeTracker, change: Change): Promise<void> {
  const because = tracker.stoppedBy();
  if (because !== undefined) return tracker.skip(change, because);
  tracker.start(change);
  const name = change.address.slice("duplicates/".length);
  await context.ledger.record([{ type: "duplicate_forgotten", name }], context.runId);
  tracker.end(change, { outcome: "done" });
}

/** Waits for the publication of the draft it names, when the product's id is not known before. */
async function duplicate(
  context: ApplyContext,
  tracker: ChangeTracker,
  { change, ends }: { change: DuplicateChange; ends: ReadonlyMap<number, Promise<DraftEnd>> },
): Promise<void> {
  const { product_id, draft_id = 0 } = change.after;
  const draft = product_id === undefined ? await ends.get(draft_id) : undefined;
  if (draft?.isDeferred) return tracker.defer(change);
  const productId = product_id ?? draft?.productId;
  const because = tracker.stoppedBy() ?? (productId === undefined ? publicationAddress(draft_id) : undefined);
  if (productId === undefined || because !== undefined) return tracker.skip(change, because ?? "");
  if (context.budget?.isSpent) return tracker.defer(change);
  tracker.start(change);
  tracker.end(change, await duplicateProduct(context, { change, productId }));
}

interface Division {
  readonly drafts: readonly DraftWork[];
  readonly duplicates: readonly DuplicateChange[];
  readonly forgotten: readonly Change[];
  /** In doubt, and of no draft. */
  readonly blocked: readonly Change[];
}

function divide(changes: readonly Change[]): Division {
  const drafts = new Map<number, Change[]>();
  const duplicates: DuplicateChange[] = [];
  const forgotten: Change[] = [];
  const blocked: Change[] = [];
  for (const change of changes) {
    const address = parseAddress(change.address);
    if (change.action === "duplicate") duplicates.push(change);
    else if (change.action === "forget") forgotten.push(change);
    else if (address !== undefined && "draftId" in address) append(drafts, address.draftId, change);
    else blocked.push(change);
  }
  return {
    drafts: [...drafts].map(([draftId, list]) => ({ draftId, changes: list })),
    duplicates,
    forgotten,
    blocked,
  };
}

function statusOf(totals: RunTotals, stopped: ApplyResult["stopped"]): string {
  if (stopped === "interrupted") return "interrupted";
  if (typeof stopped === "object") return "stopped";
  if (totals.in_doubt > 0) return "in_doubt";
  if (totals.failed + totals.skipped > 0) return "failed";
  return stopped === undefined ? "done" : "deferred";
}

/** The titles of the drafts that a plan is about; of one without a title, the name of its manifest. */
function titleEffects(drafts: readonly PlanDraft[]): readonly LedgerEffect[] {
  return drafts.flatMap(({ address, title, declared_at: at }): LedgerEffect[] => {
    const draftId = draftIdOf(address);
    if (draftId === undefined || at === undefined) return [];
    return [{ type: "titled", draftId, title: title ?? posix.basename(at.replace(/:\d+$/, "")) }];
  });
}

/**
 * The ledger effects of a plan's drift, recorded before the plan's changes are applied. Found files come last, because each
 * takes its address from the record that has it. Pure.
 */
export function driftEffects(drift: readonly Drift[]): readonly LedgerEffect[] {
  const found = drift.filter(({ type }) => type === "found");
  const others = drift.filter(({ type }) => type !== "found");
  return [...others, ...found].flatMap(effectOf);
}

function effectOf(item: Drift): LedgerEffect | LedgerEffect[] {
  switch (item.type) {
    case "gone":
      return { type: "detached", target: targetOfDrift(item) };
    case "changed":
      return { type: "rerecorded", attachment: recordOfDrift(item) };
    // A file that is attached and not recorded is evidence that the draft was in use before this ledger.
    case "found": {
      const attachment = recordOfDrift(item);
      const { draftId, provenance } = attachment;
      return [
        { type: "attached", attachment },
        { type: "maybe_published", draftId, at: provenance.at },
      ];
    }
    // A product that was published is never forgotten by itself: it would be published again.
    case "product_gone":
      return [];
  }
}
