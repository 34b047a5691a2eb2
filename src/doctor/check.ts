import type { DraftsyncError } from "../model/errors.ts";
import type { Attributes } from "../model/resource.ts";

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
  const skipped: CheckResult = {
    status: "skipped",
    code: "check-skipped",
    message: skipReasons[reason],
    details: { reason },
  };
  return Object.keys(checkTitles[group]).map((name) => ({ group, name, ...(byName.get(name) ?? skipped) }));
}

/** The message and the problem of a result that reports a failure of another part. */
export function fromProblem(problem: Problem): Pick<CheckResult, "message" | "problem"> {
  return { message: problem.message, problem };
}
