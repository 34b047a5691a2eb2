import { STATUS_CODES } from "node:http";
import { JSON_API } from "./media-types.ts";
import type { Behavior } from "./options.ts";

/**
 * A failure of the sandbox itself, as opposed to a request that it refuses: it cannot start, or a test asks its control
 * for something impossible.
 */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  /** Stable and kebab-case. */
  readonly code: string;
  /** What to do about it. */
  readonly hint: string;

  constructor({
    code,
    message,
    hint,
    cause,
  }: { code: string; message: string; hint: string; cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
  }
}

/** One mistake in a request. */
export interface Problem {
  readonly status: number;
  /** Stable and kebab-case. */
  readonly code: string;
  readonly detail: string;
  /** The part of the request (JSON:API 1.1, error objects). */
  readonly source?: { pointer: string } | { parameter: string } | { header: string };
}

/** A request that the service refuses, with all its problems; the first one gives the status. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly problems: readonly [Problem, ...Problem[]];
  readonly headers: Readonly<Record<string, string>>;

  constructor(problems: readonly [Problem, ...Problem[]], headers: Record<string, string> = {}) {
    super(problems.map((problem) => problem.detail).join(" "));
    this.problems = problems;
    this.headers = headers;
  }
}

/** An error with one problem. */
export function apiError(problem: Problem, headers: Record<string, string> = {}): ApiError {
  return new ApiError([problem], headers);
}

/** The response to a refused request, in the format that the behavior sets. */
export function renderApiError({ problems, headers, message }: ApiError, behavior: Behavior): Response {
  const [{ status, code }] = problems;
  if (behavior.errors === "jsonapi") {
    const errors = problems.map((problem) => ({
      status: String(problem.status),
      code: problem.code,
      title: titleOf(problem.status),
      detail: problem.detail,
      ...(problem.source === undefined ? {} : { source: problem.source }),
    }));
    return respond(JSON_API, { errors });
  }
  // RFC 9457 §3, with its own example of an `errors` extension; a pointer is a URI fragment there.
  const errors = problems.map(({ code, detail, source = {} }) => ({
    code,
    detail,
    ...("pointer" in source ? { pointer: `#${source.pointer}` } : source),
  }));
  const summary = { type: "about:blank", title: titleOf(status), status, code, detail: message };
  return respond("application/problem+json", { ...summary, errors });

  function respond(type: string, body: object): Response {
    return new Response(JSON.stringify(body), { status, headers: { ...headers, "content-type": type } });
  }
}

function titleOf(status: number): string {
  return STATUS_CODES[status] ?? "Error";
}
