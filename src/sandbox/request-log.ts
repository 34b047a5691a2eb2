import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { SandboxError } from "./errors.ts";
import type { Effect, FaultName } from "./faults/catalogue.ts";
import { splitTarget } from "./requests.ts";

/** One request as the sandbox received it, written before the first byte of its response. */
export interface RequestLogEntry {
  /** Counts the arrivals of this process from 1, in their order. */
  sequence: number;
  /** When its head was read: epoch milliseconds. */
  time: number;
  /** The same time on the monotonic clock of this process, in milliseconds. */
  monotonic: number;
  /** With several accounts, the number of the one whose key the request has; 1 when it has none. */
  account?: number;
  /** Storage requests are separate: the rate limit does not apply to them. */
  side: "service" | "storage";
  method: string;
  /** As sent, without the query. */
  path: string;
  /** Decoded; a repeated name has a list. */
  query: Record<string, string | string[]>;
  /** Names in lower case. Credentials are redacted: `Token ***`. */
  headers: Record<string, string | string[]>;
  /** Parsed JSON, or the text when it is not JSON; `null` without a body and for storage. */
  body: unknown;
  /** The status of the response; `null` when the request broke off. */
  status: number | null;
  /** Milliseconds from arrival to response. */
  duration: number;
  /** Its fault; absent without one. */
  fault?: LoggedFault;
}

/** A fault, for the log. */
export interface LoggedFault {
  /** The number of its rule, from 1. */
  rule: number;
  name: FaultName;
  /** Whether the request was processed: not, before the fault, or after it. */
  effect: Effect;
  /** The status without the fault; `null` when the request was not processed before. */
  answered: number | null;
}

/** Records requests in the order of their responses. */
export interface RequestLog {
  write(entry: RequestLogEntry): void;
  close(): void;
}

/**
 * Opens a log. A file gets one line a request with a single appending write: a kill loses nothing that was answered, and
 * two processes may share it.
 *
 * @throws SandboxError `log-unusable`.
 */
export function openRequestLog(target: string | ((entry: RequestLogEntry) => void) | undefined): RequestLog {
  if (target === undefined) return { write() {}, close() {} };
  if (typeof target === "function") return { write: target, close() {} };
  const file = openAppending(target);
  return {
    write: (entry) => void writeSync(file, `${JSON.stringify(entry)}\n`),
    close: () => closeSync(file),
  };
}

function openAppending(target: string): number {
  try {
    mkdirSync(dirname(target), { recursive: true });
    return openSync(target, "a");
  } catch (cause) {
    throw new SandboxError({
      code: "log-unusable",
      message: `The sandbox cannot write its log ${target}: ${cause instanceof Error ? cause.message : cause}`,
      hint: "Name a file that can be written.",
      cause,
    });
  }
}

/** The entry of a request that has just arrived. */
export function startEntry(
  incoming: IncomingMessage,
  known: Pick<RequestLogEntry, "sequence" | "account" | "side">,
): RequestLogEntry {
  const { path, search } = splitTarget(incoming);
  return {
    ...known,
    time: Date.now(),
    monotonic: performance.now(),
    method: incoming.method ?? "",
    path,
    query: readQuery(search),
    headers: redactHeaders(incoming.headers),
    body: null,
    status: null,
    duration: 0,
  };
}

const SECRET_HEADERS = new Set(["x-amz-security-token", "cookie", "proxy-authorization"]);

/** Headers with secrets replaced by `***`. The scheme of `Authorization` stays. */
function redactHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const redacted: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (name === "authorization") {
      const scheme = /^(Token|AWS4-HMAC-SHA256|Bearer|Basic) /i.exec(String(value))?.[1];
      redacted[name] = scheme === undefined ? "***" : `${scheme} ***`;
    } else {
      redacted[name] = SECRET_HEADERS.has(name) ? "***" : value;
    }
  }
  return redacted;
}

function readQuery(search: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const [name, value] of new URLSearchParams(search)) {
    const known = query[name];
    query[name] = known === undefined ? value : [known, value].flat();
  }
  return query;
}
