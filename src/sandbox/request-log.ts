import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { dirname } from "node:path";
import type { Effect, FaultName } from "./faults/catalogue.ts";
import { SandboxError } from "./sandbox-error.ts";

/** One request as the sandbox saw it, written before the first byte of its answer. */
export interface RequestLogEntry {
  /** Counts the arrivals of this process from 1, in the order in which they came. */
  sequence: number;
  /** When its head was read: epoch milliseconds. */
  time: number;
  /** The same moment on the clock of this process that never goes back, in milliseconds. */
  monotonic: number;
  /** Of several accounts, the number of the one whose key the request has; 1 when it has none. */
  account?: number;
  /** Storage requests are apart: the rate bound does not know them. */
  side: "service" | "storage";
  method: string;
  /** As sent, without the query. */
  path: string;
  /** Decoded; a repeated name has a list. */
  query: Record<string, string | string[]>;
  /** Names in lower case. Credentials are redacted: `Token ***`. */
  headers: Record<string, string | string[]>;
  /** Parsed JSON, or the text when it is none; `null` without a body and for storage. */
  body: unknown;
  /** The status answered; `null` when the request broke off before it was whole. */
  status: number | null;
  /** Milliseconds from arrival to response. */
  duration: number;
  /** The fault it got; absent when it got none. */
  fault?: LoggedFault;
}

/** A fault, for the log. */
export interface LoggedFault {
  /** The rule that asked for it, counted from 1. */
  rule: number;
  name: FaultName;
  /** Whether the request was carried out: not, before the fault, or after it. */
  effect: Effect;
  /** The status that the service had answered without the fault; `null` when it was not carried out before. */
  answered: number | null;
}

/** Takes arrivals in the order of their answers. */
export interface RequestLog {
  write(entry: RequestLogEntry): void;
  close(): void;
}

/**
 * Opens a log. A file gets one line per request with a single appending write, so that a kill loses nothing that was
 * answered and two processes may share it.
 *
 * @throws SandboxError `log-unusable`.
 */
export function openRequestLog(target: string | ((entry: RequestLogEntry) => void) | undefined): RequestLog {
  if (target === undefined) return { write() {}, close() {} };
  if (typeof target === "function") return { write: target, close() {} };
  const file = openAppending(target);
  return {
    write(entry) {
      writeSync(file, `${JSON.stringify(entry)}\n`);
    },
    close() {
      closeSync(file);
    },
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

const SECRET_HEADERS = new Set(["x-amz-security-token", "cookie", "proxy-authorization"]);

/** Headers for the log, with what is secret in them replaced by `***`. The scheme of `Authorization` stays. */
export function redactHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
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

/** The query of a request target, decoded. */
export function readQuery(target: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  const start = target.indexOf("?");
  if (start < 0) return query;
  for (const [name, value] of new URLSearchParams(target.slice(start))) {
    const known = query[name];
    query[name] = known === undefined ? value : [known, value].flat();
  }
  return query;
}
