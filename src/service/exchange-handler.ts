import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { systemCodeOf } from "../model/errors.ts";
import { longestTimerMs } from "../model/wait.ts";
import type { HeaderLookup } from "./rate-hints.ts";

/** A complete answer. The body is as it came, content coding included. */
export interface HttpResponse {
  readonly status: number;
  readonly header: HeaderLookup;
  readonly body: Buffer;
}

/** Why no complete answer came. */
export type LostReason = "timeout" | "broken" | "too_large" | "not_http" | "aborted";

/** How an exchange ended, by evidence: what decides is whether a byte of the request may have been written. */
export type Exchange =
  /** No byte of the request was written. */
  | {
      readonly type: "not_sent";
      /** `late`: it may not be sent any more when its connection is there. */
      readonly reason: "failed" | "timeout" | "interrupted" | "late";
      readonly error: Error | undefined;
    }
  /** A byte may have been written, and no complete answer came. `status` is there once its headers had come. */
  | {
      readonly type: "lost";
      readonly reason: LostReason;
      readonly error: Error | undefined;
      readonly status: number | undefined;
    }
  | { readonly type: "answer"; readonly answer: HttpResponse };

/** Answers of this interface are a few kilobytes; 10 MiB is room enough for a list of uploads. */
export const maxResponseBytes = 10 * 1024 * 1024;

/** What makes an exchange end before undici ends it. */
class ExchangeStopped extends Error {}

/**
 * Watches one request through undici's dispatcher and settles once.
 *
 * ```
 *   dispatch ─────> onRequestStart ─────> onResponseStart ──> onResponseData… ──> onResponseEnd = answer
 *      │ error, deadline,  │ error, deadline, 10 MiB,
 *      │ drain             │ cut off
 *      └──> not_sent       └──> lost
 * ```
 *
 * `onRequestStart` comes right before the first write to the socket. From then on the request counts as sent, whether
 * or not a byte got through: the marker may only err to that side.
 */
export class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #settle: (exchange: Exchange) => void;
  readonly #mayStart: () => boolean;
  readonly #deadline: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #length = 0;

  /** `mayStart` is asked right before the first byte is written. */
  constructor(timeoutMs: number, settle: (exchange: Exchange) => void, mayStart: () => boolean = () => true) {
    this.#settle = settle;
    this.#mayStart = mayStart;
    // Node reads sockets between its timers and its immediates: after a standstill of this process, an answer that is
    // there already comes first.
    const ms = Math.min(timeoutMs, longestTimerMs);
    this.#deadline = setTimeout(() => setImmediate(() => this.#onDeadline()), ms);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Settled: the deadline or an interrupt came while the connection was made. Started before: undici would send a request again
    // whose connection broke (it may, by its contract); whether to do so is not its decision here.
    if (this.#settled || this.#controller !== undefined) {
      controller.abort(new ExchangeStopped("the connection broke"));
      return;
    }
    if (!this.#mayStart()) {
      this.#end({ type: "not_sent", reason: "late", error: undefined });
      controller.abort(new ExchangeStopped("the call comes too late"));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // An interim answer (RFC 9110 §15.2): the final one follows.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (Number(headers["content-length"] ?? 0) > maxResponseBytes) this.#lose("too_large");
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#length += chunk.length;
    if (this.#length > maxResponseBytes) this.#lose("too_large");
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#status === undefined) {
      this.#lose("not_http");
      return;
    }
    const headers = this.#headers;
    const header: HeaderLookup = (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    };
    this.#end({
      type: "answer",
      answer: { status: this.#status, header, body: Buffer.concat(this.#chunks, this.#length) },
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#controller === undefined) {
      const timedOut = systemCodeOf(error) === "UND_ERR_CONNECT_TIMEOUT";
      this.#end({ type: "not_sent", reason: timedOut ? "timeout" : "failed", error });
      return;
    }
    // Once there was a status the answer was HTTP: what cannot be parsed after it is an answer that broke off.
    const isHttp = this.#status !== undefined || error.name !== "HTTPParserError";
    this.#lose(isHttp ? "broken" : "not_http", error);
  }

  /** Cancels a request that has not been sent; one that was sent continues. */
  drain(): void {
    if (this.#controller === undefined)
      this.#end({ type: "not_sent", reason: "interrupted", error: undefined });
  }

  /** Ends the exchange at once. */
  abortInFlight(): void {
    if (this.#controller === undefined) this.drain();
    else this.#lose("aborted");
  }

  #onDeadline(): void {
    if (this.#settled) return;
    if (this.#controller === undefined) this.#end({ type: "not_sent", reason: "timeout", error: undefined });
    else this.#lose("timeout");
  }

  #lose(reason: LostReason, error?: Error): void {
    this.#end({ type: "lost", reason, error, status: this.#status });
    this.#controller?.abort(new ExchangeStopped("the exchange has ended"));
  }

  #end(exchange: Exchange): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#chunks = [];
    this.#settle(exchange);
  }
}
