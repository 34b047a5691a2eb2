import type { DraftsyncError } from "../model/errors.ts";
import type { Attributes } from "../model/resource.ts";
import type { HeaderLookup } from "../service/rate-hints.ts";
import type { ResponseBody } from "../service/response-body.ts";

/**
 * How a check ended.
 *
 * | status | meaning |
 * |---|---|
 * | ok | draftsync works with it unchanged |
 * | warning | it works, but a setting or an operator needs attention |
 * | failed | it does not work, or must not be used |
 * | unknown | the responses are not conclusive |
 * | skipped | another check prevents it |
 */
export type CheckStatus = "ok" | "warning" | "failed" | "unknown" | "skipped";

/** All statuses, in the order of the summary. */
export const checkStatuses = ["ok", "warning", "failed", "unknown", "skipped"] as const;

/** Every check with its title, by group, in the order of the report. */
export const checkTitles = {
  machine: {
    node: "Node.js",
    config: "config",
    key: "API key",
    ca_file: "authorities",
    proxy: "proxy",
    ledger: "ledger",
  },
  service: {
    address: "address",
    tls: "TLS",
    key_accepted: "key accepted",
    wrong_key: "wrong key",
    version: "version header",
    media_types: "media types",
    errors: "error format",
    uploads_query: "list of uploads",
    rate: "rate limit",
    clock: "clock",
    latency: "latency",
  },
  draft: {
    probe: "probe",
    data_type: "data.type",
    data_id: "data.id",
    update_method: "PUT and PATCH",
  },
} as const;

/** A group of checks. */
export type CheckGroup = keyof typeof checkTitles;

/** The name of a check in a group. */
export type CheckNameIn<Group extends CheckGroup> = string & keyof (typeof checkTitles)[Group];

/** Why a check was skipped, by reason. */
export const skipReasons = {
  config: "the config is not valid",
  options: "the service settings are not valid",
  key: "there is no usable API key",
  ledger: "the ledger keeps the rate limit, and it cannot be opened",
  address: "the service was not reached, or another server responded",
  key_accepted: "the key was refused",
  interrupted: "interrupted",
  declined: "not approved",
  probe: "the previous probe was not conclusive",
  lock: "the workspace could not be locked",
} as const;

/** One of {@link skipReasons}. */
export type SkipReason = keyof typeof skipReasons;

/** A failure, as the failed part describes it; without secrets. */
export type Problem = Pick<DraftsyncError, "code" | "message"> & { readonly hint?: string | undefined };

/** A rate limit: at most `limit` calls in any window of `windowMs`. */
export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/** A setting below `service:` of the config that fits the service. */
export interface Setting {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** The result of one check. `docs/errors.md` explains each code. Texts may come from the service, without secrets. */
export interface CheckResult {
  readonly status: CheckStatus;
  /** Stable, kebab-case. */
  readonly code: string;
  readonly message: string;
  /** What to do, if more specific than the steps in `docs/errors.md`. */
  readonly hint?: string;
  /** A failure with a code and a hint of its own, which replace those of the result. */
  readonly problem?: Problem;
  /** Values for scripts. */
  readonly details?: object;
  readonly setting?: Setting;
  /** The attributes of the probed file before a probe changed them. */
  readonly restore?: Attributes;
}

type MakeResult = (
  code: string,
  message: string,
  more?: Omit<CheckResult, "status" | "code" | "message">,
) => CheckResult;

const resultOf =
  (status: CheckStatus): MakeResult =>
  (code, message, more) => ({ status, code, message, ...more });

/** Makes a result of the status {@link CheckStatus} `ok`. */
export const ok = resultOf("ok");
/** Makes a result of the status `warning`. */
export const warning = resultOf("warning");
/** Makes a result of the status `failed`. */
export const failed = resultOf("failed");
/** Makes a result of the status `unknown`. */
export const unknown = resultOf("unknown");

/** Makes a result that reports a failure of another part. */
export function failedBy(code: string, problem: Problem): CheckResult {
  return failed(code, problem.message, { problem });
}

/** A result with the name of its check. */
export interface Check extends CheckResult {
  readonly group: CheckGroup;
  readonly name: string;
}

/** The results of a group, by name. A missing result is a skipped check. */
export type Results<Group extends CheckGroup> = Readonly<
  Partial<Record<CheckNameIn<Group>, CheckResult | undefined>>
>;

/** Lists the checks of a group in order; those without a result are skipped for `reason`. */
export function listChecks<Group extends CheckGroup>(
  group: Group,
  results: Results<Group>,
  reason: SkipReason,
): readonly Check[] {
  const byName = new Map<string, CheckResult | undefined>(Object.entries(results));
  const skipped = resultOf("skipped")("check-skipped", skipReasons[reason], { details: { reason } });
  return Object.keys(checkTitles[group]).map((name) => ({ group, name, ...(byName.get(name) ?? skipped) }));
}

/** The result of one call. It never contains the API key. */
export type Sample = ResponseSample | FailedSample;

/** A complete response. */
export interface ResponseSample {
  readonly type: "response";
  /** Method and path. */
  readonly request: string;
  readonly status: number;
  readonly header: HeaderLookup;
  readonly body: ResponseBody;
  /** From dispatch to the last byte. */
  readonly ms: number;
  /** Wall clock on completion, epoch milliseconds. */
  readonly at: number;
  /** Why the client does not accept the response, if it does not. */
  readonly problem: Problem | undefined;
}

/** No complete response. */
export interface FailedSample {
  readonly type: "failed";
  readonly request: string;
  readonly problem: Problem;
  /** The code of the system or of OpenSSL, such as `CERT_HAS_EXPIRED`. */
  readonly systemCode: string | undefined;
}

/** The negotiated TLS version and the certificate of the service. */
export interface TlsSample {
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The results of the read calls. A call that was not sent is absent. */
export interface Samples {
  readonly product: Sample;
  /** An upload that cannot exist. */
  readonly upload?: Sample;
  /** The list of that upload alone. */
  readonly uploads?: Sample;
  /** With an API version that cannot exist. */
  readonly otherVersion?: Sample;
  /** With one more parameter in `Accept`. */
  readonly moreAccept?: Sample;
  /** With an invalid key. */
  readonly wrongKey?: Sample;
  readonly tls: TlsSample | undefined;
  /** The query parameter of {@link uploads}. */
  readonly parameter: string;
}

/** The largest number of read calls; none is retried. */
export const maxSamples = 6;

/** The methods of an update. */
export type ProbeMethod = "PATCH" | "PUT";

/** One probe: an update without attributes, and its result. */
export interface Probe {
  readonly method: ProbeMethod;
  readonly sample: Sample;
  /** Absent when the response does not contain the file. */
  readonly file: ProbedFile | undefined;
}

/** The file in the response to a probe. */
export interface ProbedFile {
  readonly type: string;
  readonly id: string | undefined;
  /** Without empty texts, which some services return for attributes that are not set. */
  readonly attributes: Attributes;
}

/** Whether a call was sent and has a response. */
export function isResponse(sample: Sample | undefined): sample is ResponseSample {
  return sample?.type === "response";
}

/** Whether a response says nothing about the request: the service is busy or fails. */
export function isTransient({ status }: ResponseSample): boolean {
  return status === 425 || status === 429 || status >= 500;
}

/** Whether a call has a response that depends on the request. */
export function isConclusive(sample: Sample | undefined): sample is ResponseSample {
  return isResponse(sample) && !isTransient(sample);
}
