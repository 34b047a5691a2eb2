import { messageOf, systemCodeOf } from "../model/errors.ts";
import type { ApiError, CallFailure } from "../model/outcome.ts";
import type { Call } from "./calls.ts";
import type { Exchange, HttpResponse } from "./exchange-handler.ts";
import type { FailureCode } from "./failures.ts";
import { describeFailure } from "./failures.ts";
import type { Redactor } from "./redact.ts";
import type { ResponseBody } from "./response-body.ts";
import {
  isErrorDocument,
  isJsonApiDocument,
  isProblemDocument,
  readErrors,
  readResponseBody,
} from "./response-body.ts";
import type { CallClass, Evidence, Verdict } from "./retry-policy.ts";
import { classify, codeOfStatus } from "./retry-policy.ts";

/** One attempt, judged. `isDocument`: a JSON:API document came back, so the service itself was reached. A `value` is there whenever the outcome is `done`, a `failure` whenever it is not. */
export type Attempt<T> = { readonly evidence: Evidence["type"]; readonly isDocument: boolean } & (
  | { readonly outcome: "done"; readonly status: number; readonly value: T }
  | {
      readonly outcome: "rejected" | "not_sent" | "unknown";
      readonly retry: boolean;
      readonly failure: CallFailure;
    }
);

/** What an exchange shows: the evidence that is judged, and the words for it. */
interface Assessment<T> {
  readonly evidence: Evidence;
  readonly code: FailureCode;
  readonly status?: number | undefined;
  readonly detail?: string | undefined;
  readonly errors?: readonly ApiError[];
  /** What the call gives when the evidence is judged `done`. */
  readonly value?: { readonly value: T } | undefined;
}

/** Judges how an exchange ended: what it proves, whether to try again, what must stop. */
export function assess<T>(exchange: Exchange, call: Call<T>, redactor: Redactor): Attempt<T> {
  const body = exchange.type === "answer" ? readResponseBody(exchange.answer, redactor) : undefined;
  const assessment = assessExchange(exchange, call, body);
  const verdict = classify(call.callClass, assessment.evidence);
  const evidence = assessment.evidence.type;
  if (verdict.outcome === "done" && assessment.value !== undefined && assessment.status !== undefined) {
    const isDocument = body?.type === "json" && (call.callClass !== "detach" || isJsonApiDocument(body));
    return {
      outcome: "done",
      status: assessment.status,
      value: assessment.value.value,
      evidence,
      isDocument,
    };
  }
  return {
    // Without a value there is no proof.
    outcome: verdict.outcome === "done" ? "unknown" : verdict.outcome,
    retry: verdict.retry,
    evidence,
    // Problem details come from a service, too; only of a publish they prove nothing.
    isDocument:
      isJsonApiDocument(body) || (call.callClass === "read" && body !== undefined && isProblemDocument(body)),
    failure: describeFailure({
      code: assessment.code,
      request: `${call.method} ${call.path}`,
      stops: verdict.stops,
      detail: redactor.text(assessment.detail ?? ""),
      status: assessment.status,
      errors: assessment.errors,
      doubt: doubtOf(call, verdict),
    }),
  };
}

function assessExchange<T>(
  exchange: Exchange,
  call: Call<T>,
  body: ResponseBody = { type: "empty" },
): Assessment<T> {
  switch (exchange.type) {
    case "not_sent":
      return assessNotSent(exchange.reason, exchange.error);
    case "lost":
      return {
        evidence: { type: "lost" },
        code: lostCodes[exchange.reason],
        status: exchange.status,
        detail: exchange.error?.message,
      };
    case "answer":
      return assessResponse(exchange.answer, call, body);
  }
}

const lostCodes = {
  timeout: "timeout",
  broken: "connection-reset",
  too_large: "response-too-large",
  not_http: "not-http",
  aborted: "aborted-in-flight",
} as const;

type NotSentReason = Extract<Exchange, { type: "not_sent" }>["reason"];

function assessNotSent(reason: NotSentReason, error: Error | undefined): Assessment<never> {
  if (reason === "interrupted") return { evidence: { type: "unreachable" }, code: "aborted" };
  if (reason === "late") return { evidence: { type: "unreachable" }, code: "rate-limiter-unavailable" };
  const code = reason === "failed" ? codeOfConnectError(error) : "connect-timeout";
  const type = code === "certificate-invalid" ? "certificate" : "unreachable";
  return { evidence: { type }, code, detail: error === undefined ? undefined : describeError(error) };
}

function assessResponse<T>(answer: HttpResponse, call: Call<T>, body: ResponseBody): Assessment<T> {
  const { status } = answer;
  if (status >= 300) return assessRefusal(answer, call, body);
  if (status === 204) {
    return { evidence: { type: "no_content" }, code: "empty-response", status, value: call.whenEmpty };
  }
  if (status !== 200 && status !== 201 && status !== 202) {
    return assessMalformed(status, "its status is none of this interface");
  }
  if (body.type !== "json") {
    return assessMalformed(status, call.secret === true ? "its body is not JSON" : problemOf(body));
  }
  const reading = call.read(body.document);
  switch (reading.type) {
    case "malformed":
      return {
        ...assessMalformed(status, reading.problem),
        errors: call.secret === true ? [] : readErrors(body.document),
      };
    case "without_id": {
      const value = reading.value === undefined ? undefined : { value: reading.value };
      const type = status === 202 ? "accepted_without_id" : "without_id";
      return { evidence: { type }, code: status === 202 ? "accepted" : "response-without-id", status, value };
    }
    case "another":
      return {
        evidence: { type: "another" },
        code: "response-mismatch",
        status,
        detail: reading.problem,
      };
    case "valid":
      return assessValid(status, call, reading.value);
  }
}

function assessValid<T>(status: number, call: Call<T>, value: T): Assessment<T> {
  const code = "accepted";
  if (status !== 202 || call.isProvenBy?.(value) === true)
    return { evidence: { type: "valid" }, code, status, value: { value } };
  const detail = call.name === undefined ? undefined : `it names ${call.name(value)}`;
  return { evidence: { type: "accepted" }, code, status, detail, value: { value } };
}

function assessMalformed(status: number, detail: string): Assessment<never> {
  if (status === 202) return { evidence: { type: "accepted_without_id" }, code: "accepted", status, detail };
  return { evidence: { type: "malformed" }, code: "malformed-response", status, detail };
}

/** The status decides, and for some calls whether the body is an error document of the service; its content only gives words. */
function assessRefusal<T>(answer: HttpResponse, call: Call<T>, body: ResponseBody): Assessment<T> {
  const { status } = answer;
  const errors = body.type === "json" ? readErrors(body.document) : [];
  // One that names no error may be of anything before the service.
  const isServiceError =
    errors.length > 0 &&
    (isErrorDocument(body) || (call.callClass !== "non_idempotent" && isProblemDocument(body)));
  const said = errors
    .map((error) => error.detail ?? error.title ?? "")
    .filter((text) => text !== "")
    .join("; ");
  const location = status < 400 ? answer.header("location") : undefined;
  return {
    evidence: { type: "status", status, isServiceError },
    code: codeOfRefusal(status, { body, isServiceError, callClass: call.callClass }),
    status,
    detail:
      location === undefined
        ? said || (body.type === "text" ? problemOf(body) : undefined)
        : `to ${location}`,
    errors,
    value: call.whenEmpty,
  };
}

interface RefusalBody {
  readonly body: ResponseBody;
  readonly isServiceError: boolean;
  readonly callClass: CallClass;
}

function doubtOf<T>({ callClass, isProbe }: Call<T>, { outcome }: Verdict) {
  const isWrite = callClass !== "read" && isProbe !== true;
  return outcome === "unknown" || outcome === "done" ? (isWrite ? callClass : undefined) : undefined;
}

function codeOfRefusal(status: number, { body, isServiceError, callClass }: RefusalBody): FailureCode {
  const code = codeOfStatus(status);
  if (status >= 500 || status < 400 || isServiceError) {
    return code === "gone" && callClass === "update" ? "not-attached" : code;
  }
  if (callClass === "non_idempotent" && code !== "conflict" && code !== "server-error")
    return "unproven-refusal";
  const isPage = body.type === "text" && body.html;
  return code === "gone" || (isPage && code === "method-not-allowed") ? "wrong-base-url" : code;
}

function problemOf(body: Exclude<ResponseBody, { type: "json" }>): string {
  switch (body.type) {
    case "empty":
      return "its body is empty";
    case "unreadable":
      return body.problem;
    case "text":
      return `${body.html ? "a web page" : "it"} begins with ${JSON.stringify(body.excerpt)}`;
  }
}

/** Of a connection that was never made. The class is not_sent whatever stands here; this only finds the words. */
function codeOfConnectError(error: Error | undefined): FailureCode {
  const code = systemCodeOf(error) ?? "";
  if (code === "UND_ERR_ABORTED") return "proxy-refused";
  if (isCertificateError(code)) return "certificate-invalid";
  if (code === "EPROTO" || code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_")) return "tls-failed";
  switch (code) {
    case "ECONNREFUSED":
      return "connection-refused";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "name-not-found";
    case "ETIMEDOUT":
      return "connect-timeout";
    case "EMFILE":
    case "ENFILE":
      return "too-many-open-files";
    default:
      return "unreachable";
  }
}

/** OpenSSL's X509 verification errors as Node names them, and a host name that is not the certificate's. */
function isCertificateError(code: string): boolean {
  return (
    code.startsWith("CERT_") ||
    code.startsWith("UNABLE_TO_") ||
    code.startsWith("ERR_TLS_CERT") ||
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED)$/.test(
      code,
    )
  );
}

/** Several addresses that were tried in turn come as one error without a message of its own. */
function describeError(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join("; ") : messageOf(error);
}
