import pLimit, { type LimitFunction } from "p-limit";
import type { EventSink } from "../model/event.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { BeforeSend, Clock, ReadOptions, RequestLine, WriteOptions } from "../model/ports.ts";
import { untilText } from "../model/time.ts";
import { wait } from "../model/wait.ts";
import type { Attempt } from "./assess.ts";
import { assess } from "./assess.ts";
import { type Call, requestOf } from "./calls.ts";
import type { Exchange, HttpResponse } from "./exchange-handler.ts";
import { combine, type Failed, stopRun, withStop } from "./failed-call.ts";
import { describeFailure } from "./failures.ts";
import { callBudgetExhausted, failureOf, prepare, storeRefusal } from "./not-started.ts";
import { Outage } from "./outage.ts";
import { readRateHints } from "./rate-hints.ts";
import type { RateSlots, Slot } from "./rate-limiter.ts";
import type { Redactor } from "./redact.ts";
import { Refusals } from "./refusals.ts";
import { backoffMs, maxAttempts, RetryBudget } from "./retry-policy.ts";
import type { Pause } from "./slow-start.ts";
import type { Transport } from "./transport.ts";

/** What an {@link Executor} works with. Times in milliseconds. */
export interface ExecutorParts {
  readonly transport: Transport;
  readonly slots: RateSlots;
  readonly clock: Clock;
  readonly emit: EventSink;
  readonly redactor: Redactor;
  /** How many calls may be under way at the same time. */
  readonly concurrency: number;
  /** How long a call without an answer may still be on its way to the server. */
  readonly settleDelayMs: number;
  readonly maxWaitMs: number;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  /** Whether the service has returned a JSON:API document before. */
  readonly hasResponded: boolean;
  /** A read that concerns no draft: shows whether the service answers at all. */
  readonly anyRead: Call<unknown>;
}

/** The circumstances of one call. A reading call has no `beforeSend`, and may have a budget. */
export interface ExecuteOptions extends ReadOptions {
  readonly beforeSend?: BeforeSend;
  readonly onRefused?: WriteOptions["onRefused"];
  /** As in {@link WriteOptions}. */
  readonly address?: string;
  /** One attempt and no more: what it shows is what is wanted. */
  readonly once?: boolean;
  /** It waits for its slot before all others. */
  readonly isFirst?: boolean;
  /** Sees every exchange as it ended, and how long it took. */
  readonly onExchange?: (exchange: Exchange, ms: number) => void;
}

/** A call on its way through the executor. */
interface CallContext<T> {
  readonly call: Call<T>;
  readonly options: ExecuteOptions;
  /** The one that is made, from 1. */
  attempt: number;
  /** How often its first byte came too late for its reservation. */
  late: number;
  /** Whether `beforeSend` was there once: its intent is stored. */
  isStored: boolean;
}

type StepResult<T> =
  /** `pauseMs`: how long the service wants this call to wait before it is sent again. */
  | { readonly type: "attempted"; readonly attempt: Attempt<T>; readonly pauseMs: number }
  | { readonly type: "held"; readonly failure: CallFailure };

/** A call is reserved again so often when its connection takes too long; then it counts as an attempt. */
const maxLate = 2;

/**
 * The bounded executor: every call of the service goes through {@link Executor.execute}.
 *
 * ```
 *   connection ─> reservation ─> journal, or lock still held ─> dispatch ─> judge ─> release the slot
 *        ^                                                                   │
 *        └── backoff, or slow start ── attempts < 3 and retry budget <── may be sent again
 * ```
 */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #connections: LimitFunction;
  readonly #budget = new RetryBudget();
  readonly #refusals: Refusals;
  readonly #outage = new Outage();
  readonly #closing = new AbortController();
  #dispatched = 0;
  #draining = false;
  #reportedPauseEnd = 0;
  #checking: Promise<void> | undefined;
  #hasAnswered: boolean;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.#refusals = new Refusals(parts.maxWaitMs);
    this.#hasAnswered = parts.hasResponded;
    this.#connections = pLimit(parts.concurrency);
  }

  /** Requests dispatched so far, retries included. */
  get callCount(): number {
    return this.#dispatched;
  }

  /** Whether it has returned a JSON:API document: what answers there is the service, not a portal or proxy. */
  get hasResponded(): boolean {
    return this.#hasAnswered;
  }

  /** Rejects only when `beforeSend` does at first; then nothing was sent. */
  async execute<T>(call: Call<T>, options: ExecuteOptions): Promise<CallResult<T>> {
    const context: CallContext<T> = { call, options, attempt: 1, late: 0, isStored: false };
    let last: Failed<T> | undefined;
    this.#budget.countCall();
    for (; ; context.attempt += 1) {
      const step = await this.#connections(() => this.#step(context, last));
      if (step.type === "held") return last ?? { outcome: "not_sent", failure: step.failure, attempts: 0 };
      const attempts = context.attempt;
      const { attempt, pauseMs } = step;
      this.#noteOutcome(call, attempt);
      if (attempt.outcome === "done") {
        const { outcome, status, value } = attempt;
        return { outcome, status, value, attempts };
      }
      last = combine(call, last, { outcome: attempt.outcome, failure: attempt.failure, attempts });
      const stopped = this.#stopOf(call, {
        last,
        pauseMs,
        isUnreachable: attempt.evidence === "unreachable",
      });
      if (stopped !== undefined) return stopped;
      if (!attempt.retry || attempts === maxAttempts || options.once || !this.#budget.take()) {
        const isLost = last.outcome === "unknown" && !options.signal.aborted;
        return isLost ? withStop(last, await this.#stopOfLost(call)) : last;
      }
      if (last.outcome === "rejected" && !(await storeRefusal(context, last))) return last;
      // A refused call waits at slow start; anything else backs off.
      if (attempt.outcome !== "rejected" && !(await this.#backOff(attempts, options.signal))) return last;
    }
  }

  /** The end that stops the run, if this is one. */
  #stopOf<T>(
    call: Call<T>,
    { last, pauseMs, isUnreachable }: { last: Failed<T>; pauseMs: number; isUnreachable: boolean },
  ): Failed<T> | undefined {
    const { maxWaitMs, clock } = this.#parts;
    if (pauseMs > maxWaitMs) return this.#stopForPause(call, { last, pauseMs });
    if (isUnreachable && last.attempts === maxAttempts) return stopRun(last);
    return this.#refusals.exceed(pauseMs, clock.monotonic()) ? stopRun(last) : undefined;
  }

  /**
   * A silence that is only of the drafts which were asked, or of pauses that draftsync makes itself, is no outage: before the run
   * is stopped, something that concerns no draft is read, once for all calls that are lost.
   */
  async #stopOfLost<T>(call: Call<T>): Promise<CallFailure["stops"]> {
    const { clock } = this.#parts;
    this.#outage.lost(call);
    const stopped = this.#outage.stopOf(call, clock.monotonic());
    if (stopped !== "silence") return stopped;
    this.#checking ??= this.#readAny().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
    const confirmed = this.#outage.stopOf(call, clock.monotonic());
    return confirmed === "silence" ? "run" : confirmed;
  }

  /** Past the queue of connections, which calls without an answer may fill. */
  async #readAny(): Promise<void> {
    const call = this.#parts.anyRead;
    const options = { signal: this.#closing.signal, isFirst: true };
    const step = await this.#step({ call, options, attempt: 1, late: 0, isStored: false }, undefined);
    if (step.type === "attempted") this.#noteOutcome(call, step.attempt);
  }

  /** A refusal for longer than this run waits stops it, until a time that is the same for all its calls. */
  #stopForPause<T>(
    { method, path }: RequestLine,
    { last, pauseMs }: { readonly last: Failed<T>; readonly pauseMs: number },
  ): Failed<T> {
    if (last.outcome !== "rejected") return stopRun(last);
    const { status, errors } = last.failure;
    const request = `${method} ${path}`;
    const detail = untilText(this.#parts.clock.now() + pauseMs);
    const code = "retry-after-too-long";
    return { ...last, failure: describeFailure({ code, request, stops: "run", status, errors, detail }) };
  }

  /** No call starts any more: those that wait for their turn, or to be sent again, end as they are. */
  drain(): void {
    this.#draining = true;
    this.close();
  }

  /** Ends all waiting. Calls in flight are the transport's. */
  close(): void {
    this.#closing.abort();
    this.#parts.slots.close();
  }

  async #step<T>(context: CallContext<T>, last: Failed<T> | undefined): Promise<StepResult<T>> {
    const { call, options } = context;
    if (options.budget?.take() === false) return { type: "held", failure: callBudgetExhausted(call) };
    const signal = waitingSignal(options, last);
    for (;;) {
      const grant = await this.#parts.slots.acquire(signal, options);
      if (grant.type !== "slot")
        return { type: "held", failure: failureOf(grant, call, this.#parts.clock.now()) };
      const step = await this.#useSlot(context, { slot: grant.slot, signal });
      if (step !== undefined) return step;
    }
  }

  /**
   * The journal is written once the call is reserved, so that a crash leaves few calls in doubt. `undefined` when nothing
   * was sent, since slow start has closed meanwhile or the reservation is too old: the slot is returned then. Whoever was
   * stopped or waited may have lost the lock, so that is asked again before every dispatch.
   */
  async #useSlot<T>(
    context: CallContext<T>,
    { slot, signal }: { readonly slot: Slot; readonly signal: AbortSignal },
  ): Promise<StepResult<T> | undefined> {
    const refusal = await prepare(context, slot);
    if (refusal !== undefined) return { type: "held", failure: refusal };
    if (!signal.aborted && !this.#draining && this.#parts.slots.isOpen())
      return await this.#send(context, slot);
    slot.cancel();
    return undefined;
  }

  async #send<T>(context: CallContext<T>, slot: Slot): Promise<StepResult<T> | undefined> {
    const { call, options, attempt } = context;
    const { clock, transport, emit, redactor, settleDelayMs } = this.#parts;
    const startedAt = clock.monotonic();
    this.#dispatched += 1;
    const exchange = await transport.exchange({ ...requestOf(call), mayStart: slot.isFresh });
    if (exchange.type === "not_sent" && exchange.reason === "late" && context.late < maxLate) {
      context.late += 1;
      this.#dispatched -= 1;
      slot.cancel();
      return undefined;
    }
    options.onExchange?.(exchange, clock.monotonic() - startedAt);
    const assessed = assess(exchange, call, redactor);
    this.#noteAnswer(assessed);
    // Before the slot and the connection are free: the next call must find slow start closed.
    const pauseMs = exchange.type === "answer" ? this.#takeHints(exchange.answer, startedAt) : 0;
    slot.release({
      holdMs: exchange.type === "lost" ? settleDelayMs : 0,
      succeeded: exchange.type === "answer" && exchange.answer.status < 400,
    });
    const status = assessed.outcome === "done" ? assessed.status : assessed.failure.status;
    emit({
      type: "call_finished",
      at: clock.now(),
      method: call.method,
      path: call.path,
      ...(options.address === undefined ? {} : { address: options.address }),
      attempt,
      outcome: assessed.outcome,
      ...(status === undefined ? {} : { status }),
      ms: Math.round(clock.monotonic() - startedAt),
    });
    return { type: "attempted", attempt: assessed, pauseMs };
  }

  /** An attempt that was not sent says nothing of the service. */
  #noteOutcome<T>(call: Call<T>, attempt: Attempt<T>): void {
    const isSettled = attempt.outcome === "done" || attempt.outcome === "rejected";
    const isRefusal =
      attempt.isDocument && attempt.outcome !== "done" && (attempt.failure.status ?? 500) < 500;
    if (isSettled || isRefusal) this.#outage.answered(call, isSettled);
    else if (attempt.outcome === "unknown") this.#outage.attemptLost(call, this.#parts.clock.monotonic());
  }

  #noteAnswer({ isDocument, evidence }: Attempt<unknown>): void {
    this.#hasAnswered ||= isDocument;
    // Responses that belong to other requests: nothing more is read from these connections.
    if (evidence === "another" || evidence === "malformed") this.#parts.transport.renewConnections();
  }

  /** Hands the service's word about pace to slow start. Returns how long a call that was refused has to wait. */
  #takeHints(answer: HttpResponse, sentAt: number): number {
    const { slots, clock, maxWaitMs } = this.#parts;
    const hints = readRateHints(answer.header, clock.now());
    for (const policy of hints.policies) slots.tighten(policy);
    const throttled = answer.status === 429 || answer.status === 425;
    if (throttled || (answer.status === 503 && hints.retryAfterMs !== undefined)) {
      this.#refusals.add(sentAt, clock.monotonic());
      const ms = hints.retryAfterMs || hints.exhaustedMs || this.#refusals.unaskedPauseMs;
      this.#pause({ ms, refused: true });
      return ms;
    }
    this.#refusals.clear();
    // A quota that is used up is a guess about the next answer, not yet a refusal: it is never waited for too long.
    if (hints.exhaustedMs !== undefined)
      this.#pause({ ms: Math.min(hints.exhaustedMs, maxWaitMs), refused: false });
    return 0;
  }

  /** Each call in flight brings the same pause, a little later: it is reported once, and not at all when it stops the run. */
  #pause(pause: Pause): void {
    const { slots, clock, emit, maxWaitMs } = this.#parts;
    if (!slots.pause(pause) || pause.ms > maxWaitMs) return;
    const until = clock.monotonic() + pause.ms;
    if (until - this.#reportedPauseEnd < pause.ms / 10) return;
    this.#reportedPauseEnd = until;
    emit({ type: "waiting", at: clock.now(), reason: "retry_after", ms: Math.ceil(pause.ms) });
  }

  async #backOff(attempts: number, signal: AbortSignal): Promise<boolean> {
    if (this.#draining || signal.aborted) return false;
    const ms = backoffMs(attempts, this.#parts.random);
    this.#parts.emit({ type: "waiting", at: this.#parts.clock.now(), reason: "backoff", ms });
    return await wait(ms, signal, this.#closing.signal);
  }
}

/** A call whose outcome is unknown may be repeated even when its budget lets nothing start any more. */
function waitingSignal<T>({ signal, budget }: ExecuteOptions, last: Failed<T> | undefined): AbortSignal {
  if (last?.outcome === "unknown" || budget?.signal === undefined) return signal;
  return AbortSignal.any([signal, budget.signal]);
}
