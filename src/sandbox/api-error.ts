import { STATUS_CODES } from "node:http";
import type { Behavior } from "./behavior.ts";
import { JSON_API } from "./media-types.ts";

/** Where in the request a problem lies (JSON:API 1.1, error objects). */
export type ProblemSource = { pointer: string } | { parameter: string } | { header: string };

/** One thing wrong with a request. */
export interface Problem {
  readonly status: number;
  /** Stable and kebab-case. */
  readonly code: string;
  readonly detail: string;
  readonly source?: ProblemSource;
}

/** A request the service refuses. All problems found are in it; the first one gives the status. */
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

/** The answer to a refused request, in the shape the behavior asks for. */
export function renderApiError(error: ApiError, behavior: Behavior): Response {
  const [first] = error.problems;
  const jsonApi = behavior.errors === "jsonapi";
  const body = jsonApi ? errorDocument(error.problems) : problemDetails(error.problems);
  return new Response(JSON.stringify(body), {
    status: first.status,
    headers: { ...error.headers, "content-type": jsonApi ? JSON_API : "application/problem+json" },
  });
}

function errorDocument(problems: ApiError["problems"]) {
  return {
    errors: problems.map(({ status, code, detail, source }) => ({
      status: String(status),
      code,
      title: STATUS_CODES[status] ?? "Error",
      detail,
      ...(source === undefined ? {} : { source }),
    })),
  };
}

/** RFC 9457 §3, with its own example of an `errors` extension; a pointer is a URI fragment there. */
function problemDetails(problems: ApiError["problems"]) {
  const [first] = problems;
  return {
    type: "about:blank",
    title: STATUS_CODES[first.status] ?? "Error",
    status: first.status,
    code: first.code,
    detail: problems.map((problem) => problem.detail).join(" "),
    errors: problems.map(({ code, detail, source = {} }) => ({
      code,
      detail,
      ...("pointer" in source ? { pointer: `#${source.pointer}` } : source),
    })),
  };
}
