import type { CallFailure, Outcome } from "../model/outcome.ts";
import type { FailureCode } from "./failures.ts";

/**
 * What may be done about a call whose answer did not come.
 *
 * | class | calls | sent again |
 * |---|---|---|
 * | read | GET | always |
 * | update | PATCH, PUT of an attachment | yes: the same twice is the same once |
 * | detach | DELETE of an attachment | yes |
 * | attach | POST of an attachment | no: an update settles it |
 * | register | POST of an upload, and of credentials | yes: at worst an upload that nothing uses |
 * | non_idempotent | publish, duplicate | only when no byte of it was written, or the service itself refused it |
 */
export type CallClass = "read" | "update" | "detach" | "attach" | "register" | "non_idempotent";

/** The evidence of one attempt, as far as the policy distinguishes it. */
export type Evidence =
  /** No byte was written: refused, name not found, connect timeout, TLS dropped. */
  | { readonly type: "unreachable" }
  /** No byte was written, because the server's certificate is not valid. */
  | { readonly type: "certificate" }
  /** Bytes were written and no complete answer came: timeout, reset, truncated, too large, not HTTP. */
  | { readonly type: "lost" }
  /** A complete response with this status, 300 or more. `isServiceError`: its body is a JSON:API error document, or problem details where those count. */
  | { readonly type: "status"; readonly status: number; readonly isServiceError: boolean }
  /** A complete 2xx response, and what its body is; `another`: it names another draft or file than the request. */
  | { readonly type: "valid" | "malformed" | "without_id" | "another" }
  /** 204: there is no body. */
  | { readonly type: "no_content" }
  /** 202 with a valid body, or without one. */
  | { readonly type: "accepted" | "accepted_without_id" };

/** How an attempt counts, and what follows from it. */
export interface Verdict {
  readonly outcome: Outcome;
  /** Whether the same call may be sent again, attempts and budget permitting. */
  readonly retry: boolean;
  readonly stops: CallFailure["stops"];
}

const done: Verdict = { outcome: "done", retry: false, stops: "operation" };
const fail: Verdict = { outcome: "rejected", retry: false, stops: "operation" };
const doubt: Verdict = { outcome: "unknown", retry: false, stops: "operation" };
const again: Verdict = { outcome: "unknown", retry: true, stops: "operation" };
const unsent: Verdict = { outcome: "not_sent", retry: true, stops: "operation" };
const wait: Verdict = { outcome: "rejected", retry: true, stops: "operation" };
const stopDraft: Verdict = { outcome: "rejected", retry: false, stops: "draft" };
const stopRun: Verdict = { outcome: "rejected", retry: false, stops: "run" };
const untrusted: Verdict = { outcome: "not_sent", retry: false, stops: "run" };

/** A verdict, or one for a JSON:API error document and one for any other body. */
type Cell = Verdict | { readonly jsonApi: Verdict; readonly other: Verdict };

/** A publish or duplicate is refused only by the service itself; any other body proves nothing. */
const refusal: Cell = { jsonApi: fail, other: doubt };

/** What each row says, class by class. `done` needs an answer that proves it; everything in doubt is `unknown`. */
const table = {
  unreachable: row(unsent, unsent, unsent, unsent, unsent, unsent),
  certificate: row(untrusted, untrusted, untrusted, untrusted, untrusted, untrusted),
  lost: row(again, again, again, doubt, again, doubt),
  failed: row(again, again, again, doubt, again, doubt),
  throttled: row(wait, wait, wait, fail, wait, { jsonApi: wait, other: doubt }),
  refused: row(fail, fail, fail, fail, fail, refusal),
  unauthorized: row(stopRun, stopRun, stopRun, stopRun, stopRun, { jsonApi: stopRun, other: doubt }),
  missing: row(fail, fail, { jsonApi: done, other: fail }, stopDraft, fail, refusal),
  conflict: row(fail, doubt, doubt, doubt, fail, doubt),
  unproven: row(fail, doubt, doubt, doubt, doubt, doubt),
  malformed: row(again, again, again, doubt, again, doubt),
  another: row(fail, doubt, doubt, doubt, again, doubt),
  without_id: row(fail, done, done, doubt, again, doubt),
  no_content: row(fail, done, done, done, again, doubt),
  accepted: row(fail, doubt, doubt, doubt, done, doubt),
  accepted_without_id: row(fail, doubt, doubt, doubt, again, doubt),
  valid: row(done, done, done, done, done, done),
};

type Row = keyof typeof table;

/** The verdict of the table above on one attempt. Pure. */
export function classify(callClass: CallClass, evidence: Evidence): Verdict {
  const name = evidence.type === "status" ? entryOf(evidence.status).row : evidence.type;
  const cell = table[name][callClass];
  if (!("other" in cell)) return cell;
  return evidence.type === "status" && evidence.isServiceError ? cell.jsonApi : cell.other;
}

/** Attempts of one call, the first included. */
export const maxAttempts = 3;

/**
 * At most 10 retries, and one more for every ten calls: when the service fails as a whole, retries must not be what
 * keeps it down.
 */
export class RetryBudget {
  #calls = 0;
  #retries = 0;

  /** Counts a call that is sent for the first time. */
  countCall(): void {
    this.#calls += 1;
  }

  /** Takes one retry, if there is one left. */
  take(): boolean {
    if (this.#retries >= freeRetries + Math.floor(this.#calls / callsPerRetry)) return false;
    this.#retries += 1;
    return true;
  }
}

const freeRetries = 10;
const callsPerRetry = 10;

const minBackoffMs = 500;
const maxBackoffMs = 10_000;

/**
 * Exponential backoff with full jitter: anything from 0 to 500 ms before the second attempt, to 1 s before the third,
 * never above 10 s. `random` gives numbers in [0, 1).
 */
export function backoffMs(attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(maxBackoffMs, minBackoffMs * 2 ** (attempt - 1)));
}

function row(
  read: Cell,
  update: Cell,
  detach: Cell,
  attach: Cell,
  register: Cell,
  non_idempotent: Cell,
): Readonly<Record<CallClass, Cell>> {
  return { read, update, detach, attach, register, non_idempotent };
}

/** The row of a status and the code of its failure. */
const statuses: ReadonlyMap<number, { readonly row: Row; readonly code: FailureCode }> = new Map([
  [400, { row: "refused", code: "bad-request" }],
  [401, { row: "unauthorized", code: "unauthorized" }],
  [403, { row: "refused", code: "forbidden" }],
  [404, { row: "missing", code: "gone" }],
  [405, { row: "refused", code: "method-not-allowed" }],
  [406, { row: "refused", code: "version-not-accepted" }],
  [408, { row: "failed", code: "server-error" }],
  [409, { row: "conflict", code: "conflict" }],
  [410, { row: "missing", code: "gone" }],
  [413, { row: "refused", code: "body-too-large" }],
  [415, { row: "refused", code: "content-type-not-accepted" }],
  [422, { row: "refused", code: "invalid" }],
  [425, { row: "throttled", code: "rate-limited" }],
  [429, { row: "throttled", code: "rate-limited" }],
]);

/** A redirect is never followed, and like a status outside the table it proves nothing about what happened before it. */
function entryOf(status: number): { readonly row: Row; readonly code: FailureCode } {
  if (status >= 500) return { row: "failed", code: "server-error" };
  if (status < 400) return { row: "unproven", code: "redirect" };
  return statuses.get(status) ?? { row: "unproven", code: "refused" };
}

/** The code of a refusal by status (300 or more) alone. */
export function codeOfStatus(status: number): FailureCode {
  return entryOf(status).code;
}
