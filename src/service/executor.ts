import pLimit, { type LimitFunction } from "p-limit";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { BeforeSend, ReadOptions, RequestLine, UploadStatus, WriteOptions } from "../model/ports.ts";
import { untilText } from "../model/time.ts";
import { wait } from "../model/wait.ts";
import type { Attempt } from "./assess.ts";
import { assess } from "./assess.ts";
import type { Call } from "./calls.ts";
import type { Exchange } from "./exchange-handler.ts";
import { describeFailure, type FailureCode } from "./failures.ts";
import type { ServiceOptions } from "./options.ts";
import { Outage } from "./outage.ts";
import type { Grant, RateLimiter, Slot } from "./rate-limiter.ts";
import type { Redactor } from "./redact.ts";
import { backoffMs, maxAttempts, RetryBudget } from "./retry-policy.ts";
import { Throttling } from "./throttling.ts";
import type { Transport } from "./transport.ts";

/** What tests decide, and no other caller. */
export interface Circumstances {
  /** Numbers in [0, 1), for the backoff. */
  readonly random: () => number;
  /** Whether the service has returned a JSON:API document before. */
  readonly hasResponded: boolean;
}

/** What an {@link Executor} works with. */
export interface ExecutorParts extends Circumstances {
  readonly options: ServiceOptions;
  readonly transport: Transport;
  readonly slots: RateLimiter;
  readonly redactor: Redactor;
  /** A read that concerns no draft: shows whether the service responds at all. */
  readonly anyRead: Call<UploadStatus>;
}

/** The circumstances of one call. A reading call has no `beforeSend`, and may have a budget. */
export interface ExecuteOptions extends ReadOptions {
  readonly beforeSend?: BeforeSend;
  readonly onRefused?: WriteOptions["onRefused"];
  /** As in {@link WriteOptions}. */
  readonly address?: string;
  /** A single attempt. */
  readonly once?: boolean;
  /** It waits for its slot before all others. */
  readonly isFirst?: boolean;
  /** Receives every exchange as it ended, and how long it took. */
  readonly onExchange?: (exchange: Exchange, ms: number) => void;
}

/** A call that did not succeed. */
type Failed<T> = Extract<CallResult<T>, { failure: CallFailure }>;

/** The state of a call in the executor. */
interface CallContext<T> {
  readonly call: Call<T>;
  readonly options: ExecuteOptions;
  /** The current attempt, from 1. */
  attempt: number;
  /** How often its first byte came too late for its reservation. */
  late: number;
  /** Whether `beforeSend` has succeeded once: the intent is stored. */
  isStored: boolean;
}

interface Attempted<T> {
  readonly type: "attempted";
  readonly attempt: Attempt<T>;
  /** How long the service wants this call to wait before it is sent again. */
  readonly pauseMs: number;
}

type StepResult<T> = Attempted<T> | { readonly type: "held"; readonly failure: CallFailure };

/** A call is reserved again so often when its connection takes too long; then it counts as an attempt. */
const maxLate = 2;

/**
 * The bounded executor: every call of the service goes through {@link Executor.execute}.
 *
 * ```
 *   connection ─> reservation ─> journal, or lock still held ─> dispatch ─> assess ─> release the slot
 *        ^                                                                    │
 *        └── backoff, or slow start ── attempts < 3 and retry budget <── may be sent again
 * ```
 */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #connections: LimitFunction;
  readonly #budget = new RetryBudget();
  readonly #throttling: Throttling;
  readonly #outage = new Outage();
  readonly #closing = new AbortController();
  #dispatched = 0;
  #draining = false;
  #checking: Promise<void> | undefined;
  #hasResponded: boolean;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.#throttling = new Throttling(parts.slots, parts.options);
    this.#hasResponded = parts.hasResponded;
    this.#connections = pLimit(parts.options.concurrency);
  }

  /** Requests dispatched so far, retries included. */
  get callCount(): number {
    return this.#dispatched;
  }

  /** Whether a JSON:API document has come back: the server is the service, not a portal or proxy. */
  get hasResponded(): boolean {
    return this.#hasResponded;
  }

  /** Rejects only when the first `beforeSend` does; then nothing was sent. */
  async execute<T>(call: Call<T>, options: ExecuteOptions): Promise<CallResult<T>> {
    const context: CallContext<T> = { call, options, attempt: 1, late: 0, isStored: false };
    let last: Failed<T> | undefined;
    this.#budget.countCall();
    for (; ; context.attempt += 1) {
      const step = await this.#connections(() => this.#step(context));
      if (step.type === "held") return last ?? { outcome: "not_sent", failure: step.failure, attempts: 0 };
      const attempts = context.attempt;
      const { attempt } = step;
      this.#noteOutcome(call, attempt);
      if (attempt.outcome === "done") {
        const { outcome, status, value } = attempt;
        return { outcome, status, value, attempts };
      }
      last = combine(call, last, { outcome: attempt.outcome, failure: attempt.failure, attempts });
      const stopped = this.#stopOf(call, last, step);
      if (stopped !== undefined) return stopped;
      if (!attempt.retry || attempts === maxAttempts || options.once || !this.#budget.take()) {
        const isLost = last.outcome === "unknown" && !options.signal.aborted;
        return isLost ? withStop(last, await this.#stopOfLost(call)) : last;
      }
      if (last.outcome === "rejected" && !(await this.#storeRefusal(options, last))) return last;
      // A refused call waits at slow start; anything else backs off.
      if (attempt.outcome !== "rejected" && !(await this.#backOff(attempts, options.signal))) return last;
    }
  }

  /** No further call starts: those that wait for their turn, or to be sent again, end as they are. */
  drain(): void {
    this.#draining = true;
    this.close();
  }

  /** Ends all waiting. Calls in flight are the transport's. */
  close(): void {
    this.#closing.abort();
    this.#parts.slots.close();
  }

  async #step<T>(context: CallContext<T>): Promise<StepResult<T>> {
    const { call, options } = context;
    const { budget } = options;
    if (budget?.take() === false) return held(call, "call-budget-exhausted");
    const signal =
      budget?.signal === undefined ? options.signal : AbortSignal.any([options.signal, budget.signal]);
    for (;;) {
      const grant = await this.#parts.slots.acquire(signal, options);
      if (grant.type !== "slot") return this.#notGranted(call, grant);
      const step = await this.#useSlot(context, { slot: grant.slot, signal });
      if (step !== undefined) return step;
    }
  }

  #notGranted(call: RequestLine, grant: Exclude<Grant, { type: "slot" }>): StepResult<never> {
    switch (grant.type) {
      case "interrupted":
        return held(call, "aborted");
      case "too_long":
        return held(call, "retry-after-too-long", untilText(this.#now() + grant.waitMs));
      case "failed":
        return held(call, "rate-limiter-unavailable", messageOf(grant.error));
    }
  }

  /**
   * The journal is written once the call is reserved, so that a crash leaves few calls in doubt. `beforeSend` also checks before
   * every dispatch that the lock is still held. `undefined` when nothing was sent, since slow start has closed meanwhile or the
   * reservation is too old: the slot is returned then.
   */
  async #useSlot<T>(
    context: CallContext<T>,
    { slot, signal }: { readonly slot: Slot; readonly signal: AbortSignal },
  ): Promise<StepResult<T> | undefined> {
    const { method, path } = context.call;
    try {
      await context.options.beforeSend?.({ method, path });
      context.isStored = true;
    } catch (error) {
      slot.cancel();
      if (!context.isStored) throw error;
      const { code, hint } = error instanceof DraftsyncError ? error : { code: "defect", hint: undefined };
      const why = { code, message: messageOf(error), ...(hint === undefined ? {} : { hint }) };
      return { type: "held", failure: { ...why, errors: [], stops: "run" } };
    }
    if (!signal.aborted && !this.#draining && this.#parts.slots.isOpen()) return this.#send(context, slot);
    slot.cancel();
    return undefined;
  }

  async #send<T>(context: CallContext<T>, slot: Slot): Promise<StepResult<T> | undefined> {
    const { call, options, attempt } = context;
    const { transport, redactor } = this.#parts;
    const { clock, emit, profile } = this.#parts.options;
    const startedAt = clock.monotonic();
    this.#dispatched += 1;
    const exchange = await transport.exchange(call, slot.isFresh);
    if (exchange.type === "not_sent" && exchange.reason === "late" && context.late < maxLate) {
      context.late += 1;
      this.#dispatched -= 1;
      slot.cancel();
      return undefined;
    }
    options.onExchange?.(exchange, clock.monotonic() - startedAt);
    const assessed = assess(exchange, call, redactor);
    this.#hasResponded ||= assessed.isDocument;
    // Responses that belong to other requests: nothing more is read from these connections.
    if (assessed.evidence === "another" || assessed.evidence === "malformed") transport.renewConnections();
    // Before the slot and the connection are free: the next call must find slow start closed.
    const pauseMs = exchange.type === "answer" ? this.#throttling.apply(exchange.answer, startedAt) : 0;
    slot.release({
      holdMs: exchange.type === "lost" ? profile.settle_delay : 0,
      succeeded: exchange.type === "answer" && exchange.answer.status < 400,
    });
    const status = assessed.outcome === "done" ? assessed.status : assessed.failure.status;
    emit({
      type: "call_finished",
      at: this.#now(),
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

  /** An attempt that was not sent shows nothing about the service. */
  #noteOutcome<T>(call: Call<T>, attempt: Attempt<T>): void {
    const isSettled = attempt.outcome === "done" || attempt.outcome === "rejected";
    const isRefusal =
      attempt.isDocument && attempt.outcome !== "done" && (attempt.failure.status ?? 500) < 500;
    if (isSettled || isRefusal) this.#outage.answered(call, isSettled);
    else if (attempt.outcome === "unknown")
      this.#outage.attemptLost(call, this.#parts.options.clock.monotonic());
  }

  /**
   * The end that stops the run, if this is one: no connection, or refusals for longer than a run waits. Such a refusal names a
   * time that is the same for all its calls.
   */
  #stopOf<T>(call: Call<T>, last: Failed<T>, { attempt, pauseMs }: Attempted<T>): Failed<T> | undefined {
    const isUnreachable = attempt.evidence === "unreachable" && last.attempts === maxAttempts;
    if (pauseMs <= this.#parts.options.profile.max_wait) {
      const stops = isUnreachable || this.#throttling.isEndless(pauseMs);
      return stops ? withStop(last, "run") : undefined;
    }
    // A read that was refused so, as by a 503, leaves nothing in doubt.
    if (last.outcome !== "rejected" && !isRead(call)) return withStop(last, "run");
    const { status, errors } = last.failure;
    const request = `${call.method} ${call.path}`;
    const detail = untilText(this.#now() + pauseMs);
    const code = "retry-after-too-long";
    return { ...last, failure: describeFailure({ code, request, stops: "run", status, errors, detail }) };
  }

  /**
   * When only the calls of some drafts are lost, or draftsync itself pauses, that is no outage: before the run is stopped, a read
   * that concerns no draft is made, once for all calls that are lost.
   */
  async #stopOfLost<T>(call: Call<T>): Promise<CallFailure["stops"]> {
    const { clock } = this.#parts.options;
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

  /** Past the queue of connections, which may be full of calls without a response. */
  async #readAny(): Promise<void> {
    const call = this.#parts.anyRead;
    const options = { signal: this.#closing.signal, isFirst: true };
    const step = await this.#step({ call, options, attempt: 1, late: 0, isStored: false });
    if (step.type === "attempted") this.#noteOutcome(call, step.attempt);
  }

  /** False when it could not be stored: then the ledger fails, and the call is not sent again. */
  async #storeRefusal({ onRefused }: ExecuteOptions, refused: Failed<never>): Promise<boolean> {
    try {
      await onRefused?.(refused);
      return true;
    } catch {
      return false;
    }
  }

  async #backOff(attempts: number, signal: AbortSignal): Promise<boolean> {
    const { random, options } = this.#parts;
    if (this.#draining || signal.aborted) return false;
    const ms = backoffMs(attempts, random);
    options.emit({ type: "waiting", at: this.#now(), reason: "backoff", ms });
    return wait(ms, signal, this.#closing.signal);
  }

  #now(): number {
    return this.#parts.options.clock.now();
  }
}

function held({ method, path }: RequestLine, code: FailureCode, detail?: string): StepResult<never> {
  const stops = code === "call-budget-exhausted" ? "operation" : "run";
  return { type: "held", failure: describeFailure({ code, request: `${method} ${path}`, stops, detail }) };
}

/**
 * The end of several attempts. An attempt that is in doubt is not proven undone by a later one that was not sent or was
 * refused, unless that one shows that the resource does not exist.
 */
function combine<T>(call: Call<T>, earlier: Failed<T> | undefined, latest: Failed<T>): Failed<T> {
  const { code, stops } = latest.failure;
  const isConclusive = latest.outcome === "unknown" || code === "gone" || code === "not-attached";
  if (isRead(call) || earlier?.outcome !== "unknown" || isConclusive) return latest;
  return { ...earlier, failure: { ...earlier.failure, stops }, attempts: latest.attempts };
}

/** Whether a call changes nothing. */
function isRead({ callClass, isProbe }: Pick<Call<unknown>, "callClass" | "isProbe">): boolean {
  return callClass === "read" || isProbe === true;
}

/** The result with what it stops, unless it stops more already. */
function withStop<T>(result: Failed<T>, stops: CallFailure["stops"]): Failed<T> {
  if (stops === "operation" || result.failure.stops === "run") return result;
  return { ...result, failure: { ...result.failure, stops } };
}
