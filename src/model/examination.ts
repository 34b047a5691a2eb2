import type { Attributes, FileKind } from "./resource.ts";

/**
 * How a check came out.
 *
 * | status | says |
 * |---|---|
 * | ok | draftsync works with it as it is |
 * | warning | it works, and something should be known or set |
 * | failed | it does not work, or must not be used |
 * | not_known | what was seen does not tell |
 * | not_checked | nothing was looked at, since something else stands in the way |
 */
export type CheckStatus = "ok" | "warning" | "failed" | "not_known" | "not_checked";

/** The checks by where they look, in the order in which they are told. */
export const checkGroups = {
  machine: ["node", "config", "key", "ca_file", "proxy", "ledger"],
  service: [
    "address",
    "tls",
    "key_accepted",
    "wrong_key",
    "version",
    "media_types",
    "errors",
    "uploads_query",
    "rate",
    "clock",
    "pace",
  ],
  draft: ["probe", "data_type", "data_id", "update_method"],
} as const;

/** One of the groups of {@link checkGroups}. */
export type CheckGroup = keyof typeof checkGroups;

/** The name of a check. */
export type CheckName = (typeof checkGroups)[CheckGroup][number];

/** Something that failed, in the words of the part that failed; without secrets. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Why a check was not made. */
export type Obstacle =
  | "config"
  | "options"
  | "key"
  | "ledger"
  | "address"
  | "key_accepted"
  | "interrupted"
  | "declined"
  | "probe"
  | "lock";

/** A bound on calls: `limit` in any window of `windowMs`. */
export interface Bound {
  readonly limit: number;
  readonly windowMs: number;
}

/** What each finding is made of, by its code. Codes are stable; texts may come from the service, without secrets. */
export interface FindingFacts {
  "not-checked": { readonly because: Obstacle };

  "node-supported": { readonly version: string };
  "node-too-old": { readonly version: string };
  "config-read": { readonly file: string; readonly workspace: string };
  "config-absent": object;
  "config-unusable": { readonly problem: Problem };
  "key-found": { readonly from: string };
  "key-of-sandbox": object;
  "key-file-open": { readonly from: string };
  "key-unusable": { readonly problem: Problem };
  "authorities-usual": object;
  "authorities-own": { readonly file: string };
  "authorities-unusable": { readonly problem: Problem };
  "proxy-none": object;
  "proxy-used": { readonly proxy: string };
  "ledger-open": { readonly location: string; readonly version: number };
  "ledger-none": object;
  "ledger-missing": { readonly location: string };
  "ledger-unusable": { readonly problem: Problem };

  "address-answers": { readonly request: string; readonly status: number; readonly mediaType: string };
  "address-all-missing": { readonly requests: readonly string[] };
  "address-unreachable": { readonly problem: Problem };
  "address-redirects": { readonly status: number; readonly to: string };
  "address-web-page": { readonly status: number; readonly excerpt: string };
  "address-not-interface": { readonly status: number; readonly detail: string };
  "address-fails": { readonly status: number };
  "options-unusable": { readonly problem: Problem };
  "tls-good": CertificateFacts;
  "tls-ends-soon": CertificateFacts;
  "tls-local": object;
  "tls-plain": object;
  "tls-expired": { readonly problem: Problem };
  "tls-not-yet": { readonly problem: Problem };
  "tls-other-name": { readonly problem: Problem };
  "tls-untrusted": { readonly problem: Problem };
  "tls-unseen": object;
  "key-accepted": { readonly request: string; readonly status: number };
  "key-refused": { readonly problem: Problem };
  "key-forbidden": { readonly problem: Problem };
  "key-untold": { readonly statuses: readonly number[]; readonly same: boolean };
  "wrong-key-refused": { readonly status: number };
  "wrong-key-taken": { readonly status: number };
  "wrong-key-untold": object;
  "version-checked": { readonly status: number };
  "version-unchecked": { readonly status: number };
  "version-refused": { readonly problem: Problem };
  "version-untold": object;
  "media-types-lenient": { readonly status: number };
  "media-types-strict": { readonly status: number };
  "media-types-in-the-way": { readonly status: number; readonly contentType: string };
  "media-types-untold": object;
  "errors-jsonapi": { readonly status: number };
  "errors-problem": { readonly status: number };
  "errors-other": { readonly status: number };
  "errors-unseen": object;
  "uploads-query-works": { readonly parameter: string };
  "uploads-query-ignored": { readonly parameter: string; readonly count: number };
  "uploads-query-refused": { readonly parameter: string; readonly status: number };
  "uploads-query-untold": { readonly parameter: string; readonly status: number | undefined };
  "rate-fits": { readonly bound: Bound; readonly headers: readonly string[] };
  "rate-above": { readonly bound: Bound; readonly announced: Bound; readonly headers: readonly string[] };
  "rate-without-window": { readonly bound: Bound; readonly headers: readonly string[] };
  "rate-not-announced": { readonly bound: Bound };
  "rate-refused": { readonly status: number; readonly headers: readonly string[] };
  "clock-right": { readonly aheadMs: number };
  "clock-off": { readonly aheadMs: number };
  "clock-untold": object;
  "pace-measured": PaceFacts;
  "pace-held-by-concurrency": PaceFacts & { readonly concurrency: number; readonly wanted: number };
  "pace-untold": object;

  "probe-harmless": { readonly attributes: Attributes; readonly unset: readonly string[] };
  "probe-harmful": ChangedFile;
  "probe-contradicts-record": ChangedFile;
  "probe-shows-nothing": { readonly kind: FileKind };
  "probe-untold": { readonly status: number };
  "probe-accepted": { readonly status: number };
  "probe-refused": { readonly problem: Problem };
  "probe-not-attached": { readonly problem: Problem };
  "probe-failed": { readonly problem: Problem };
  "data-type-as-set": { readonly type: string };
  "data-type-other": { readonly type: string; readonly wanted: string };
  "data-id-is-file": { readonly id: string };
  "data-id-is-other": { readonly id: string; readonly fileId: number };
  "data-id-absent": object;
  "method-same": object;
  "method-put-changes": ChangedFile;
  "method-put-refused": { readonly problem: Problem };
  "method-put-untold": { readonly problem: Problem | undefined };
  "method-patch-refused": { readonly problem: Problem };
}

/** A file whose attributes were other ones after a probe. */
export interface ChangedFile {
  readonly before: Attributes;
  readonly after: Attributes;
  /** The ledger holds the file, and has taken in what was seen last. */
  readonly isRecorded: boolean;
}

/** The connection, and the certificate of the service. */
export interface CertificateFacts {
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  /** ISO 8601, UTC. */
  readonly endsAt: string;
  readonly days: number;
}

/** Round trips, and what pace they allow. */
export interface PaceFacts {
  readonly calls: number;
  readonly fastestMs: number;
  readonly medianMs: number;
  /** Calls a second that the bound, the round trip and the connections allow. */
  readonly perSecond: number;
  readonly bound: Bound;
}

/** The code of a finding. */
export type FindingCode = keyof FindingFacts;

/** A finding with its facts. */
export type Finding = {
  readonly [Code in FindingCode]: { readonly code: Code; readonly facts: FindingFacts[Code] };
}[FindingCode];

/** A setting below `service:` of the config that fits what was seen, as it is written there. */
export interface FittingSetting {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** One check and how it came out. */
export interface Check {
  readonly name: CheckName;
  readonly status: CheckStatus;
  readonly finding: Finding;
  readonly setting?: FittingSetting;
}

/** Makes a {@link Check} without a setting. */
export function makeCheck(name: CheckName, status: CheckStatus, finding: Finding): Check {
  return { name, status, finding };
}

/** The same check again, with the setting that fits. */
export function withSetting(check: Check, path: readonly string[], value: unknown): Check {
  return { ...check, setting: { path, value } };
}

/** A check that was not made. */
export function notChecked(name: CheckName, because: Obstacle): Check {
  return makeCheck(name, "not_checked", { code: "not-checked", facts: { because } });
}
