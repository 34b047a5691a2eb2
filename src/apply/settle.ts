import { type CallFailure, causeOf } from "../model/outcome.ts";
import type { DraftService, LedgerEffect } from "../model/ports.ts";
import type { Confirmation, OperationIntent } from "../model/recorded.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { isAttachRefusal } from "../model/unsettled.ts";
import { wait } from "../model/wait.ts";
import { updateIntent } from "./attachment-records.ts";
import { type ApplyContext, type ChangeEnd, isHeld } from "./context.ts";
import { lostBefore } from "./earlier-writes.ts";
import { type JournalContext, type OperationEnd, type OperationRequest, runOperation } from "./operation.ts";
import type { OperationBudget } from "./run-budget.ts";

/** What settling needs of its run. */
export interface SettleContext
  extends JournalContext,
    Pick<ApplyContext, "clock" | "emit" | "settleDelayMs" | "startedAt" | "budget" | "whileIdle"> {
  readonly service: Pick<DraftService, "attach" | "update">;
}

type Answer = OperationEnd<Attributes>;
type Failed = Exclude<Answer, { outcome: "done" }>;

/** An attachment that may or may not have been made. */
export interface UnsettledAttachment {
  readonly address: string;
  readonly target: FileTarget;
  /** Sent when it is attached again. */
  readonly attributes: Attributes;
  /** Those that the check sets; absent: all. */
  readonly managed?: Attributes;
  /** Of the attachment: what the next run needs to settle it. */
  readonly intent: OperationIntent;
  /** What the ledger takes when the file turns out to be attached. */
  readonly effect: (by: Confirmation, answered: Attributes) => LedgerEffect;
  /** The kind of the first operation; `attach` when absent. An update or detach in doubt is settled by the same PATCH. */
  readonly kind?: "attach" | "update" | "detach";
  /** The operation that did not end done. */
  readonly first: Failed;
  /** The latest time at which the lost call was in flight, by the monotonic clock, milliseconds; absent: now. */
  readonly lostAt?: number;
  readonly signal: AbortSignal;
  /** Of the change; absent without limits. */
  readonly budget?: OperationBudget | undefined;
}

/** `wasAttached`: a 2xx to the PATCH is evidence that the file was attached before this ledger. */
type RefusedAttachment = UnsettledAttachment & { readonly wasAttached: boolean };

/** Requests to attach one file, the first one included (docs/operations/reliability.md, P9). */
const maxPosts = 3;

/**
 * Finds out whether a file is attached, without attaching it again (docs/operations/reliability.md, P9).
 *
 * ```
 *   lost POST ─ wait ─► PATCH all managed ─ 2xx ──► attached, and converged
 *                          │ 404
 *                          └ wait ─► PATCH ─ 2xx ─► attached
 *                                      │ 404
 *                                      └► one more POST ──► as it ends
 *
 *   429 ─► PATCH (after the wait that was asked for) ─ 2xx ──► attached already: adopted, and converged
 *             │ 404
 *             └► POST again, three in all
 *
 *   409 ─► PATCH ─ 2xx ──► attached already: adopted, and converged
 *             │ 404
 *             └ wait ─► PATCH ─ 2xx ─► attached
 *                         │ 404
 *                         └► refused for another cause
 *
 *   PATCH ─ 202 ─► wait ─► PATCH ─ 2xx with the values ─► attached
 *
 *   422 ─► PATCH ─ 2xx ──► attached already, as some services say it
 *             │ 404
 *             └► refused for another cause
 * ```
 *
 * Any other end of the POST is final. Any other answer to the PATCH proves nothing, and leaves the attachment in doubt, unless
 * POST and PATCH were answered with 429. Where no PATCH could be sent, a 422 is in doubt, since it may say that the file is
 * attached already; a 429 is a refusal. A 409 is unknown until it is settled: a proxy that returns a conflict may have forwarded the
 * call, and a run that is stopped here must not leave it to the next run as refused.
 */
export async function settleAttachment(
  context: SettleContext,
  doubt: UnsettledAttachment,
): Promise<ChangeEnd> {
  if (!mayBeAttached(doubt.first)) return doubt.first;
  let open = doubt;
  // Only while no call of ours was lost: one that was may have attached the file.
  let isOurs = doubt.lostAt !== undefined && !isRefused(doubt.first);
  for (let posts = 1; posts <= maxPosts; posts += 1) {
    const last = open.first;
    const wasAttached = !isOurs && isRefused(last);
    const found = await findAttachment(context, { ...open, wasAttached });
    if (found === "attached") return attachedEnd(doubt.target, wasAttached);
    isOurs ||= last.outcome === "unknown" && !isRefused(last);
    if (typeof found === "object") return found;
    if (isConflict(last)) return refuse(context, last);
    const lost = last.outcome === "unknown";
    const mayRepeat = lost || isRateLimited(last);
    if (posts === maxPosts || !mayRepeat) return last;
    const again = await attachOnceMore(context, open);
    if (again.outcome === "done") return { outcome: "done", fileId: doubt.target.fileId };
    if (!isConflict(again) && (lost || !isRateLimited(again))) return again;
    open = { ...doubt, kind: "attach", first: again };
  }
  return open.first;
}

/** {@link settleAttachment} for a file that is only checked: it is not attached again. */
export async function checkAttachment(
  context: SettleContext,
  doubt: UnsettledAttachment,
): Promise<ChangeEnd> {
  const wasAttached = isRefused(doubt.first);
  const found = await findAttachment(context, { ...doubt, wasAttached });
  if (typeof found === "object") return found;
  if (found === "attached") return attachedEnd(doubt.target, wasAttached);
  await context.ledger.record(absentEffects(doubt), context.runId);
  return { outcome: "done" };
}

function attachedEnd({ fileId }: FileTarget, wasAttached: boolean): ChangeEnd {
  return { outcome: "done", fileId, ...(wasAttached ? { wasAttached } : {}) };
}

/**
 * Returns how it ends when that stays unclear: as its first call, or in doubt when the PATCH after a refusal was lost. A call
 * that was lost may still arrive, so it takes two checks with time between them to show that it will not. A conflict
 * is usually what it says, so its first check is made without a wait.
 */
async function findAttachment(
  context: SettleContext,
  doubt: RefusedAttachment,
): Promise<"attached" | "not-attached" | Failed> {
  const { first, signal, budget } = doubt;
  const { clock } = context;
  const isOpen = first.outcome === "unknown";
  if (isOpen) budget?.settles();
  const checks = isOpen ? 2 : 1;
  let since = doubt.lostAt ?? clock.monotonic();
  let waits = isOpen && !isConflict(first);
  let wasAccepted = false;
  for (let check = 1; check <= checks; check += 1) {
    if (waits && !(await waitToSettle(context, { since, signals: signalsOf(signal, budget) }))) return first;
    const answer = await confirm(context, { ...doubt, wasAccepted });
    since = clock.monotonic();
    waits = true;
    if (answer.outcome === "done") return "attached";
    if (first.outcome !== "unknown" && answer.outcome === "unknown") return answer;
    if (answer.outcome === "not_sent" && first.failure.code === "invalid")
      return leaveInDoubt(context, first, answer);
    const { code } = answer.failure;
    if (code === "accepted" && check < checks) wasAccepted = true;
    // One absence after an accepted update proves nothing.
    else if (wasAccepted || code !== "not-attached") return stillOpen(first, answer);
  }
  return "not-attached";
}

/** A refusal which may say that the file is attached, and was not checked: the next run checks it. */
async function leaveInDoubt({ ledger }: SettleContext, first: Failed, unsent: Failed): Promise<Failed> {
  const { operationId, attempts, failure: refusal } = first;
  const { status = 422, errors } = refusal;
  const unchecked = uncheckedFailure(unsent.failure, "the file is attached already");
  // An interrupt, or another failure, has stopped the run: this one does not.
  const { stops } = isHeld(unsent, undefined) ? refusal : unchecked;
  const failure = { ...unchecked, stops, status, errors };
  await ledger.finish(operationId, { outcome: "unknown", attempts, failure, status }, []);
  return { ...first, outcome: "unknown", failure };
}

/**
 * What ended a check is what a person has to know, but for the run's own end, and but for a check that was lost as the call was
 * that it was to settle.
 */
function stillOpen(first: Failed, check: Failed): Failed {
  const { outcome, failure } = check;
  if (first.outcome !== "unknown")
    return outcome === "rejected" && failure.stops === "run" ? { ...first, failure } : first;
  const wasLost = outcome === "unknown";
  const isSame = wasLost && failure.status === undefined && first.failure.code !== "still-in-doubt";
  if (isSame || isHeld(check, undefined)) return first;
  const unchecked = uncheckedFailure(failure, "it took effect");
  const { hint } = wasLost ? first.failure : unchecked;
  return { ...first, failure: { ...unchecked, ...(hint === undefined ? {} : { hint }) } };
}

function uncheckedFailure(failure: CallFailure, what: string): CallFailure {
  const { hint = "", message } = failure;
  const cause = causeOf(failure);
  const subject = message.slice(0, message.length - cause.length);
  return {
    ...failure,
    message: `${subject}whether ${what} could not be checked: ${cause}`,
    hint: `${hint} The next run checks this again. Or look at the service, and run \`draftsync resolve ADDRESS --done\` or \`--not-done\`.`.trim(),
  };
}

/**
 * Settles an update or detachment that was only accepted (202), or whose response was about another file: once the first can no
 * longer take effect, it is sent again, since the same twice is the same once. Any other end is final.
 */
export async function settleByRepeating<T>(
  context: SettleContext,
  {
    first,
    signal,
    budget,
  }: Pick<UnsettledAttachment, "signal" | "budget"> & { readonly first: OperationEnd<T> },
  repeat: (wasAccepted: boolean) => Promise<OperationEnd<T>>,
): Promise<OperationEnd<T>> {
  if (first.outcome === "done") return first;
  const wasAccepted = first.failure.code === "accepted";
  if (!wasAccepted && first.failure.code !== "response-mismatch") return first;
  budget?.settles();
  const since = context.clock.monotonic();
  return (await waitToSettle(context, { since, signals: [signal] })) ? repeat(wasAccepted) : first;
}

/** Sends a call about a file once no lost call of an earlier run can undo it. An interrupt ends the wait, and the call is not sent. */
export async function runFileOperation<T>(
  context: ApplyContext,
  request: OperationRequest<T>,
): Promise<OperationEnd<T>> {
  const since = lostBefore(context.earlierWrites, request);
  const { signal = context.signal, budget } = request;
  if (since !== undefined) await waitToSettle(context, { since, signals: signalsOf(signal, budget) });
  return runOperation(context, request);
}

function signalsOf(signal: AbortSignal, budget: OperationBudget | undefined): readonly AbortSignal[] {
  return budget?.signal === undefined ? [signal] : [signal, budget.signal];
}

/** Waits until what was sent at `since` can no longer take effect. False when the run was stopped meanwhile. */
async function waitToSettle(
  { clock, emit, settleDelayMs, whileIdle }: SettleContext,
  { since, signals }: { since: number; signals: readonly AbortSignal[] },
): Promise<boolean> {
  const ms = Math.max(0, Math.ceil(since + settleDelayMs - clock.monotonic()));
  if (signals.some(({ aborted }) => aborted)) return false;
  if (ms === 0) return true;
  emit({ type: "waiting", at: clock.now(), reason: "settle", ms });
  return await whileIdle(() => wait(ms, ...signals));
}

/** Whether the file may be attached all the same, by this call or by another. */
function mayBeAttached(end: Failed): boolean {
  return end.outcome === "unknown" || end.failure.code === "invalid" || isRateLimited(end);
}

function isConflict({ failure }: Failed): boolean {
  return failure.code === "conflict";
}

/** Whether the call attached nothing itself: a file that is attached all the same was attached before it. */
function isRefused({ outcome, failure: { status } }: Failed): boolean {
  return outcome === "rejected" || isAttachRefusal(status);
}

function isRateLimited({ failure }: Pick<Failed, "failure">): boolean {
  return failure.code === "rate-limited";
}

async function refuse(context: SettleContext, conflict: Failed): Promise<ChangeEnd> {
  await context.ledger.record(settled(conflict, "rejected"), context.runId);
  const hint =
    "The file is not in this list. If the other list of the draft has it, detach it there first: if the plan deletes it, `draftsync apply --target` with that address. Then run the command again.";
  return { ...conflict, outcome: "rejected", failure: { ...conflict.failure, hint } };
}

/** Where the attachment was refused, the PATCH adopts the file: lost, it is an attachment in doubt. */
function confirm(
  context: SettleContext,
  doubt: RefusedAttachment & { readonly wasAccepted: boolean },
): Promise<Answer> {
  const { target, managed = doubt.attributes, intent, effect, first, signal, budget, wasAttached } = doubt;
  const { draftId } = target;
  const { status: refusedWith } = first.failure;
  const adoption = {
    ...intent,
    ...(refusedWith === undefined || !wasAttached ? {} : { refusedWith }),
  };
  const evidence = (): LedgerEffect[] =>
    wasAttached ? [{ type: "maybe_published", draftId, at: context.clock.now() }] : [];
  return runOperation(context, {
    address: doubt.address,
    budget,
    ...(first.outcome === "unknown"
      ? { kind: "update", intent: updateIntent(target, managed, intent) }
      : { kind: "attach", intent: adoption }),
    signal,
    call: async (options) => {
      const { wasAccepted } = doubt;
      const answer = await context.service.update(target, managed, { ...options, wasAccepted });
      const isOpen = answer.outcome === "rejected" && answer.failure.code !== "not-attached";
      // A service that slows down every call says nothing of the file.
      if (!isOpen || first.outcome === "unknown" || [first, answer].every(isRateLimited)) return answer;
      const failure = uncheckedFailure(answer.failure, "the file is attached already");
      return { ...answer, outcome: "unknown", failure };
    },
    effects: (answer) =>
      answer.outcome === "done"
        ? [
            effect("patch", answer.value),
            ...settled(first, attachedOutcomes[doubt.kind ?? "attach"]),
            ...evidence(),
          ]
        : [],
  });
}

/** How a call ended whose file is attached: whether an update has set its values is not known, and now does not matter. */
const attachedOutcomes = { attach: "done", update: "superseded", detach: "not_sent" } as const;

/** The file is not attached: what an update or detach was about is gone, and an attachment was not made. */
function absentEffects({ kind, target, first }: UnsettledAttachment): readonly LedgerEffect[] {
  return [...settled(first, kind === "detach" ? "done" : "not_sent"), { type: "detached", target }];
}

async function attachOnceMore(context: SettleContext, doubt: UnsettledAttachment): Promise<Answer> {
  const { target, attributes, intent, effect, signal, budget } = doubt;
  await context.ledger.record(absentEffects(doubt), context.runId);
  return runOperation(context, {
    address: doubt.address,
    budget,
    kind: "attach",
    intent,
    signal,
    call: (options) => context.service.attach(target, attributes, options),
    effects: (result) => (result.outcome === "done" ? [effect("post", result.value)] : []),
  });
}

type Settled = Extract<LedgerEffect, { type: "settled" }>["outcome"];

/** Only what is in doubt can be settled; a refusal is an outcome already. */
function settled(first: Failed, outcome: Settled): readonly LedgerEffect[] {
  return first.outcome === "unknown" ? [{ type: "settled", operationId: first.operationId, outcome }] : [];
}
