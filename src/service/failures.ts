import type { ApiError, CallFailure } from "../model/outcome.ts";

/** Why an attempt did not end well. The names are the `code` of the failure and stable. */
export type FailureCode =
  // Nothing was sent.
  | "aborted"
  | "wait-too-long"
  | "slots-unavailable"
  | "over-budget"
  | "connection-refused"
  | "name-not-found"
  | "connect-timeout"
  | "unreachable"
  | "tls-failed"
  | "certificate-invalid"
  | "proxy-refused"
  | "invalid-id"
  | "service-not-confirmed"
  // Sent, and no answer that proves anything.
  | "cut-off"
  | "timeout"
  | "connection-reset"
  | "answer-too-large"
  | "not-http"
  | "server-error"
  | "malformed-answer"
  | "answer-about-another"
  | "unproven-refusal"
  | "answer-without-id"
  | "empty-answer"
  | "accepted"
  | "upload-timeout"
  // Refused, or in conflict with what is there.
  | "conflict"
  | "rate-limited"
  | "unauthorized"
  | "forbidden"
  | "gone"
  | "not-attached"
  | "wrong-base-url"
  | "redirect"
  | "bad-request"
  | "method-not-allowed"
  | "version-not-accepted"
  | "body-too-large"
  | "content-type-not-accepted"
  | "invalid"
  | "refused";

interface Sentence {
  /** Completed with the detail, in brackets the status, then the request. */
  readonly what: string;
  readonly hint: string;
}

const runAgain = "Run the command again.";
const settles = "Run the command again: what became of the call is found out first.";
const byHand =
  "It is never sent again by itself: look at the service whether it took effect, then say so with `draftsync resolve`.";
const checkBaseUrl = "Check service.base_url: something else than the service seems to answer there.";

const sentences: Readonly<Record<FailureCode, Sentence>> = {
  aborted: { what: "the call was not sent: the run was interrupted", hint: runAgain },
  "wait-too-long": {
    what: "the call was not sent: the service asks for a longer wait than service.profile.max_wait allows",
    hint: "Run the command again later; or raise service.profile.max_wait.",
  },
  "slots-unavailable": {
    what: "the call was not sent: the ledger, through which the rate bound is shared, failed",
    hint: "See that the ledger can be written, then run the command again.",
  },
  "over-budget": {
    what: "the call was not sent: the budget of calls is used up",
    hint: "Run the command again, or raise the budget.",
  },
  "connection-refused": {
    what: "the service refused the connection",
    hint: "Check host and port of service.base_url, or of the proxy in HTTPS_PROXY, and whether the service is running.",
  },
  "name-not-found": {
    what: "the service's host name was not found",
    hint: "Check the host name in service.base_url, and this machine's name resolution.",
  },
  "connect-timeout": {
    what: "no connection to the service could be made in time",
    hint: "Check host and port of service.base_url, and whether a firewall or proxy is in the way.",
  },
  unreachable: {
    what: "the service could not be reached",
    hint: "Check service.base_url and this machine's network.",
  },
  "tls-failed": {
    what: "no secure connection to the service could be made",
    hint: "Check that service.base_url has the right scheme (https or http) and port.",
  },
  "certificate-invalid": {
    what: "the service's certificate is not valid, so the key was not sent",
    hint: "Check the host name in service.base_url; for a private authority set service.ca_file or NODE_EXTRA_CA_CERTS.",
  },
  "proxy-refused": {
    what: "the proxy gave no way to the service",
    hint: "Check HTTPS_PROXY, its user and password, and NO_PROXY.",
  },
  "service-not-confirmed": {
    what: "not sent, because nothing at service.base_url answers like the service",
    hint: "Check service.base_url, and whether a login page or proxy stands in between. Then run the command again.",
  },
  "invalid-id": { what: "the call was not sent: the id cannot stand in a path", hint: "Correct the id." },
  "cut-off": { what: "the call was cut off by the interrupt before its answer came", hint: settles },
  timeout: {
    what: "the service did not answer in time",
    hint: `${settles} Raise service.timeout if it is slow.`,
  },
  "connection-reset": { what: "the connection broke before the answer was complete", hint: settles },
  "answer-too-large": { what: "the answer is larger than 10 MiB and was not read", hint: checkBaseUrl },
  "not-http": { what: "the answer is not HTTP", hint: checkBaseUrl },
  "server-error": { what: "the service failed", hint: settles },
  "malformed-answer": { what: "the answer is not one of this interface", hint: checkBaseUrl },
  "answer-about-another": {
    what: "the answer is about another resource, so it proves nothing about this one",
    hint: settles,
  },
  "unproven-refusal": {
    what: "the answer is not a JSON:API error of the service, so the call may have taken effect",
    hint: checkBaseUrl,
  },
  "answer-without-id": { what: "the answer names no id", hint: settles },
  "empty-answer": { what: "the answer is empty where an id was to come", hint: settles },
  accepted: {
    what: "the service has accepted the call and not carried it out yet",
    hint: "Wait, then run the command again.",
  },
  "upload-timeout": {
    what: "the service has not processed the upload in time",
    hint: "Run the command again: it goes on waiting. Or raise service.profile.upload_deadline.",
  },
  conflict: {
    what: "the service sees a conflict with what is there",
    hint: "Run plan again: what is at the service may have changed.",
  },
  "rate-limited": {
    what: "the service asks for fewer calls",
    hint: "Run the command again later; lower service.rate if this happens often.",
  },
  unauthorized: {
    what: "the service does not accept the key",
    hint: "Check DRAFTSYNC_API_KEY or service.api_key_file; the key may have been revoked.",
  },
  forbidden: {
    what: "the key is not allowed to do this",
    hint: "Check that the draft or product belongs to the account of the key.",
  },
  gone: { what: "there is no such thing at the service", hint: "Check the id in the manifest." },
  "not-attached": {
    what: "the file is not attached to the draft",
    hint: "It was removed by someone else. Run plan again.",
  },
  "wrong-base-url": {
    what: "the answer is not a JSON:API error of the service, so it proves nothing",
    hint: checkBaseUrl,
  },
  redirect: {
    what: "the service answered with a redirect, which is never followed: the key goes to one address only",
    hint: "Set service.base_url to the address the service really has.",
  },
  "bad-request": {
    what: "the service does not understand the request",
    hint: "See the errors of the service.",
  },
  "method-not-allowed": {
    what: "the service does not allow the method",
    hint: "Try service.profile.update_method, and check service.base_url.",
  },
  "version-not-accepted": {
    what: "the service does not speak version 1 of the interface, which the Accept header asks for",
    hint: "Check service.base_url; another version of the service needs another version of draftsync.",
  },
  "body-too-large": { what: "the service finds the request too large", hint: "Shorten the description." },
  "content-type-not-accepted": {
    what: "the service does not accept the media type of the request",
    hint: "Set service.profile.content_type to the one it wants, such as application/json.",
  },
  invalid: {
    what: "the service finds the request not valid",
    hint: "Correct the manifest where the errors point.",
  },
  refused: { what: "the service refused the request", hint: "See the errors of the service." },
};

/** What a sentence about a failed call is made of. `detail` may hold text from the service, without secrets. */
export interface FailureFacts {
  readonly code: FailureCode;
  /** As in an HTTP trace: method and path. */
  readonly request: string;
  readonly stops: CallFailure["stops"];
  readonly detail?: string | undefined;
  readonly status?: number | undefined;
  readonly errors?: readonly ApiError[] | undefined;
  /** A call in doubt that running the command again does not settle. */
  readonly needsPerson?: boolean;
}

/** One sentence and what to do, for each code its own. */
export function describeFailure(facts: FailureFacts): CallFailure {
  const { what, hint } = sentences[facts.code];
  const status = facts.status === undefined ? "" : ` (${facts.status})`;
  const detail = facts.detail === undefined || facts.detail === "" ? "" : `: ${facts.detail}`;
  return {
    code: facts.code,
    message: `${facts.request}: ${what}${status}${detail}`,
    subject: facts.request,
    hint: facts.needsPerson === true ? byHand : hint,
    ...(facts.status === undefined ? {} : { status: facts.status }),
    errors: facts.errors ?? [],
    stops: facts.stops,
  };
}

/** The code of a refusal by status alone; {@link FailureCode} says which. */
export function codeOfStatus(status: number): FailureCode {
  if (status >= 300 && status < 400) return "redirect";
  if (status >= 500) return "server-error";
  return codes.get(status) ?? "refused";
}

const codes: ReadonlyMap<number, FailureCode> = new Map([
  [400, "bad-request"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "gone"],
  [405, "method-not-allowed"],
  [406, "version-not-accepted"],
  [408, "server-error"],
  [409, "conflict"],
  [410, "gone"],
  [413, "body-too-large"],
  [415, "content-type-not-accepted"],
  [422, "invalid"],
  [425, "rate-limited"],
  [429, "rate-limited"],
]);
