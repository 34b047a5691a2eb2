import { onAbort } from "../model/on-abort.ts";
import { anyUploadCall } from "./calls.ts";
import { Executor } from "./executor.ts";
import type { ServiceOptions } from "./options.ts";
import { checkOptions } from "./options.ts";
import { RateLimiter } from "./rate-limiter.ts";
import type { Redactor } from "./redact.ts";
import { makeRedactor } from "./redact.ts";
import { SlowStart } from "./slow-start.ts";
import { openTransport } from "./transport.ts";
import { userAgent } from "./user-agent.ts";

/** The way of every call to one service, within its rate bound. */
export interface OpenExecutor {
  readonly baseUrl: URL;
  readonly executor: Executor;
  /** Knows the API key. */
  readonly redactor: Redactor;
  /** Ends all waiting, breaks what is in flight, and frees every connection. */
  close(): Promise<void>;
}

/** What tests decide, and nobody else. */
export interface Circumstances {
  /** Numbers in [0, 1), for the backoff. */
  readonly random: () => number;
  /** Whether the service has returned a JSON:API document before. */
  readonly hasResponded: boolean;
}

/** A run begins without any response. */
export const atStart: Circumstances = { random: Math.random, hasResponded: false };

/**
 * Puts transport, rate bound and executor together; nothing is sent yet. Throws `ServiceOptionsError` and `ConnectionOptionsError` for options it cannot work with.
 */
export function openExecutor(options: ServiceOptions, circumstances: Circumstances): OpenExecutor {
  const baseUrl = checkOptions(options);
  const { profile, clock, emit, timeoutMs, rateStore: store } = options;
  const redactor = makeRedactor(options.apiKey);
  const transport = openTransport({
    baseUrl,
    apiKey: options.apiKey,
    contentType: profile.content_type,
    userAgent: userAgent(),
    connections: options.concurrency,
    timeoutMs: options.timeoutMs,
    interrupts: options.interrupts,
    proxyFor: options.proxyFor,
    authorities: options.authorities,
  });
  const slots = new RateLimiter({
    bound: options.rate,
    slowStart: new SlowStart(options.rate.limit),
    clock,
    maxWaitMs: profile.max_wait,
    ...(store === undefined ? {} : { reservations: { store, timeoutMs, settleMs: profile.settle_delay } }),
    onDelayed: (reason, ms) => emit({ type: "waiting", at: clock.now(), reason, ms: Math.ceil(ms) }),
    onAnnounced: ({ limit, windowMs }) =>
      emit({ type: "bound_announced", at: clock.now(), limit, window_ms: windowMs }),
  });
  const executor = new Executor({
    transport,
    slots,
    clock,
    emit,
    redactor,
    concurrency: options.concurrency,
    settleDelayMs: profile.settle_delay,
    maxWaitMs: profile.max_wait,
    anyRead: anyUploadCall(profile),
    ...circumstances,
  });
  const drain = options.interrupts?.drain;
  if (drain?.aborted) executor.drain();
  const stopListening = onAbort(drain, () => executor.drain());
  return {
    baseUrl,
    executor,
    redactor,
    async close() {
      stopListening();
      executor.close();
      await transport.close();
      await slots.leave();
    },
  };
}
