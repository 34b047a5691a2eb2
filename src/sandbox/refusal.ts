import { STATUS_CODES } from "node:http";
import { JSON_API } from "./media-types.ts";
import type { Readings } from "./readings.ts";

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
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly problems: readonly [Problem, ...Problem[]];
  readonly headers: Readonly<Record<string, string>>;

  constructor(problems: readonly [Problem, ...Problem[]], headers: Record<string, string> = {}) {
    super(problems.map((problem) => problem.detail).join(" "));
    this.problems = problems;
    this.headers = headers;
  }
}

/** A refusal with one problem. */
export function refuse(problem: Problem, headers: Record<string, string> = {}): Refusal {
  return new Refusal([problem], headers);
}

/** The answer to a refused request, in the shape the readings ask for. */
export function renderRefusal(refusal: Refusal, readings: Readings): Response {
  const [first] = refusal.problems;
  const jsonApi = readings.errors === "jsonapi";
  const body = jsonApi ? errorDocument(refusal.problems) : problemDetails(refusal.problems);
  return new Response(JSON.stringify(body), {
    status: first.status,
    headers: { ...refusal.headers, "content-type": jsonApi ? JSON_API : "application/problem+json" },
  });
}

function errorDocument(problems: Refusal["problems"]) {
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
function problemDetails(problems: Refusal["problems"]) {
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
