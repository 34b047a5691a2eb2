import type { ApiError, CallFailure } from "../model/outcome.ts";
import type { CallClass } from "./retry-policy.ts";

interface Sentence {
  /** What happened; the status, in brackets, and the detail follow. */
  readonly what: string;
  /** How to remove the cause; absent where there is nothing to do but to run the command again. */
  readonly hint?: string;
}

const runAgain = "Run the command again.";
/** What to check if a proxy opens no tunnel. */
export const checkProxy = "Check HTTPS_PROXY, its user and password, and NO_PROXY.";
const checkBaseUrl = "Check service.base_url: something other than the service seems to respond there.";

/** What is certain after a call whose outcome is unknown, and what to run. The same for all its failures. */
const doubtHints: Readonly<Record<Exclude<CallClass, "read">, string>> = {
  update:
    "The update may have taken effect. Run the command again: it sends the update again, which is safe.",
  detach: "The file may be detached. Run the command again: it sends the delete again, which is safe.",
  attach:
    "The file may be attached. Run the command again: it checks that first, and attaches nothing twice.",
  register: "Run the command again: it registers the upload again, which is safe.",
  non_idempotent:
    "It may have taken effect, and is never sent again. Look for the product at the service, then run " +
    "`draftsync resolve ADDRESS --product-id ID`, or with `--not-done` if there is none.",
};

const sentences = {
  // Nothing was sent.
  aborted: { what: "the call was not sent: the run was stopped" },
  "retry-after-too-long": {
    what: "the service asks for no calls for longer than service.profile.max_wait",
    hint:
      "Run the command again after that time. If the service has a quota, give each run --max-calls below it. " +
      "To drop a pause that the service asked for by mistake, run " +
      "`draftsync state export > ledger.json` and `draftsync state import ledger.json --state NEW`, and use that ledger. " +
      "With service.rate.shared, the pause is a row of `rate_pauses` in that database: delete it there.",
  },
  "rate-limiter-unavailable": {
    what: "the call was not sent: its rate reservation could not be stored in time",
    hint: "Make sure that the ledger, or the database of service.rate.shared, can be written and responds quickly. Then run the command again.",
  },
  "call-budget-exhausted": {
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
    hint: "Check host and port of service.base_url, and whether a firewall or proxy blocks them.",
  },
  unreachable: {
    what: "the service could not be reached",
    hint: "Check service.base_url and this machine's network.",
  },
  "too-many-open-files": {
    what: "no connection could be made: too many files are open",
    hint: "Raise the limit of open files, for example with `ulimit -n 4096`, or lower service.concurrency.",
  },
  "tls-failed": {
    what: "no secure connection to the service could be made",
    hint: "Check the scheme (https or http) and the port of service.base_url.",
  },
  "certificate-invalid": {
    what: "the service's certificate is not valid, so the key was not sent",
    hint: "Check the host name in service.base_url; for a private authority set service.ca_file or NODE_EXTRA_CA_CERTS.",
  },
  "proxy-refused": {
    what: "the proxy refused to connect to the service",
    hint: checkProxy,
  },
  "service-not-confirmed": {
    what: "not sent: service.base_url does not respond like the service",
    hint: "Check service.base_url, and whether a login page or proxy responds instead. Then run the command again.",
  },
  "invalid-id": { what: "the call was not sent: the id is not valid in a path", hint: "Correct the id." },
  // Sent, and no response that proves anything.
  "aborted-in-flight": { what: "the interrupt ended the call before its response" },
  timeout: {
    what: "the service did not respond within service.timeout",
    hint: "Raise service.timeout if the service is slow.",
  },
  "connection-reset": { what: "the connection closed before the response was complete" },
  "response-too-large": {
    what: "the response is larger than 10 MiB and was not read",
    hint: checkBaseUrl,
  },
  "not-http": { what: "the response is not HTTP", hint: checkBaseUrl },
  "server-error": { what: "the service failed" },
  "malformed-response": {
    what: "the response is not a document of this interface",
    hint: `${checkBaseUrl} If only its type is another one: set service.profile.types.`,
  },
  "response-mismatch": { what: "the response is about another resource" },
  "unproven-refusal": { what: "the refusal is not a JSON:API error" },
  "response-without-id": { what: "the response has no id" },
  "empty-response": { what: "the response is empty" },
  accepted: { what: "the service accepted the call and has not completed it yet" },
  "upload-timeout": {
    what: "the service has not processed the upload in time",
    hint: "Run the command again later: it reads the upload once more. If it never ends: `draftsync state rm` with its address (`draftsync state list` shows it), and the next run makes a new one.",
  },
  // Refused, or in conflict with what is at the service.
  conflict: { what: "the service reports a conflict" },
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
  gone: {
    what: "the resource does not exist at the service",
    hint: "Check the id, and that it belongs to the account of the key.",
  },
  "not-attached": {
    what: "the file is not attached to the draft",
    hint: "It was removed outside draftsync. Run plan again.",
  },
  "wrong-base-url": { what: "the response is not a JSON:API error of the service", hint: checkBaseUrl },
  redirect: {
    what: "the response is a redirect, which is never followed",
    hint: "Set service.base_url to the address of the service itself.",
  },
  "bad-request": {
    what: "the service does not understand the request",
    hint: "See the errors of the service.",
  },
  "method-not-allowed": {
    what: "the service does not allow the method",
    hint: checkBaseUrl,
  },
  "version-not-accepted": {
    what: "the service does not support version 1 of the interface, which the Accept header asks for",
    hint: "Check service.base_url; another version of the service needs another version of draftsync.",
  },
  "body-too-large": {
    what: "the request is too large for the service",
    hint: "Shorten the description if it has one, or check whether a proxy limits the size of requests.",
  },
  "content-type-not-accepted": {
    what: "the service does not accept the media type of the request",
    hint: "Set service.profile.content_type to the one it wants, such as application/json.",
  },
  invalid: {
    what: "the service rejected the request as invalid",
    hint: "Correct the values that the errors name.",
  },
  refused: {
    what: "the status is not one of this interface",
    hint: "See the errors of the service.",
  },
} satisfies Readonly<Record<string, Sentence>>;

/** Why an attempt did not succeed: the stable `code` of the failure. */
export type FailureCode = keyof typeof sentences;

/** What a sentence about a failed call is made of. `detail` may hold text from the service, without secrets. */
export interface FailureFacts {
  readonly code: FailureCode;
  /** As in an HTTP trace: method and path. */
  readonly request: string;
  readonly stops: CallFailure["stops"];
  readonly detail?: string | undefined;
  readonly status?: number | undefined;
  readonly errors?: readonly ApiError[] | undefined;
  /** Of a writing call whose outcome is unknown: what is certain about it. */
  readonly doubt?: Exclude<CallClass, "read"> | undefined;
}

/** One sentence and what to do, for each code its own. */
export function describeFailure(facts: FailureFacts): CallFailure {
  const { what } = sentences[facts.code];
  const status = facts.status === undefined ? "" : ` (${facts.status})`;
  const detail = facts.detail === undefined || facts.detail === "" ? "" : `: ${facts.detail}`;
  return {
    code: facts.code,
    message: `${facts.request}: ${what}${status}${detail}`,
    subject: facts.request,
    hint: hintOf(facts),
    ...(facts.status === undefined ? {} : { status: facts.status }),
    errors: facts.errors ?? [],
    stops: facts.stops,
  };
}

/** One thing to run: after a doubt that only a person settles, removing the cause can wait. */
function hintOf(facts: FailureFacts): string {
  const { code, doubt } = facts;
  const hint = causeHintOf(facts);
  const isRepeated = doubt === "update" || doubt === "detach";
  if ((code === "accepted" && doubt === "update") || (code === "conflict" && isRepeated))
    return `${doubtHints[doubt]} If it stays so: \`draftsync explain ${code}\`.`;
  if (doubt === undefined) return hint ?? runAgain;
  if (doubt === "non_idempotent" || hint === undefined) return doubtHints[doubt];
  return `${hint} ${doubtHints[doubt]}`;
}

/** The failure of a read that ended the wait for an upload: the upload is recorded, so the next run continues. */
export function continuesWaiting(failure: CallFailure): CallFailure {
  const cause = failure.hint === undefined || failure.hint === runAgain ? "" : `${failure.hint} `;
  return { ...failure, hint: `${cause}Run the command again: it continues to wait for the upload.` };
}

/** How to remove the cause, as far as the request and the service's errors show it. */
function causeHintOf({ code, request, errors = [] }: FailureFacts): string | undefined {
  const { hint }: Sentence = sentences[code];
  if (code === "method-not-allowed" && /^(PATCH|PUT) /.test(request))
    return "Try service.profile.update_method, and check service.base_url.";
  const pointsAtErrors = code === "invalid" || code === "bad-request" || code === "refused";
  return pointsAtErrors && errors.length === 0
    ? "The response gives no reason. Check the values in the manifest, or whether a proxy responds instead of the service."
    : hint;
}
