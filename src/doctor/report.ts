import { Document, stringify } from "yaml";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";
import type { Palette, Tone } from "../report/palette.ts";
import { formatRate, plural } from "../report/quantities.ts";
import { sanitizeLine, sanitizeText } from "../report/sanitize-text.ts";
import type { ServiceProfile } from "../service/profile.ts";
import { serviceProfileSchema } from "../service/profile.ts";
import type { Check, CheckGroup, CheckStatus, Problem, RateLimit } from "./check.ts";
import { checkStatuses, checkTitles, maxSamples } from "./check.ts";
import { formatAttributes } from "./check-file.ts";

/** The report of `draftsync doctor`, for scripts and for the terminal. Texts may come from the service. */
export interface DoctorView {
  readonly format_version: 1;
  /** The address of the service, or `sandbox`; absent if unknown. */
  readonly service: string | undefined;
  /** Calls that were sent. */
  readonly calls: number;
  readonly summary: Readonly<Record<CheckStatus, number>>;
  readonly checks: readonly CheckView[];
  /** Settings to write below `service:` in the config, nested; empty if the current settings fit. */
  readonly settings: object;
  /** A manifest with the attributes that a probe changed. */
  readonly restore: object | undefined;
}

/** One check of a {@link DoctorView}. */
export interface CheckView {
  readonly group: CheckGroup;
  readonly name: string;
  readonly status: CheckStatus;
  /** Stable, kebab-case. */
  readonly code: string;
  readonly message: string;
  /** The consequence, from `docs/errors.md`. */
  readonly meaning: string | undefined;
  /** What to do. */
  readonly hint: string | undefined;
  readonly problem: Problem | undefined;
  readonly details: object;
}

/** The section of a code in `docs/errors.md`. */
export interface Explanation {
  readonly meaning: string;
  readonly cure: readonly string[];
}

/** The input of {@link viewDoctor}. */
export interface DoctorReport {
  readonly service: string | undefined;
  readonly calls: number;
  readonly checks: readonly Check[];
  /** The current settings; absent without a config. */
  readonly profile: ServiceProfile | undefined;
  /** The probed file. */
  readonly target: FileTarget | undefined;
  explain(code: string): Explanation | undefined;
}

/** Makes the view. */
export function viewDoctor(report: DoctorReport): DoctorView {
  const { service, calls, checks, profile, target, explain } = report;
  const restore = checks.find((check) => check.restore !== undefined)?.restore;
  return {
    format_version: 1,
    service,
    calls,
    summary: countStatuses(checks),
    checks: checks.map((check) => viewCheck(check, explain)),
    settings: profile === undefined ? {} : neededSettings(checks, profile),
    restore:
      target === undefined || restore === undefined
        ? undefined
        : { draft: target.draftId, [target.kind]: [{ file_id: target.fileId, ...restore }] },
  };
}

function countStatuses(checks: readonly Check[]): Record<CheckStatus, number> {
  const counts = { ok: 0, warning: 0, failed: 0, unknown: 0, skipped: 0 };
  for (const { status } of checks) counts[status] += 1;
  return counts;
}

/** A problem brings its own hint; a result without a consequence needs no explanation. */
function viewCheck(check: Check, explain: DoctorReport["explain"]): CheckView {
  const { group, name, status, code, message, problem, details = {} } = check;
  const isExplained = problem === undefined && status !== "ok" && status !== "skipped";
  const { meaning, cure = [] } = (isExplained ? explain(code) : undefined) ?? {};
  const hint = problem?.hint ?? check.hint ?? cure.join(" ");
  return { group, name, status, code, message, meaning, hint: hint || undefined, problem, details };
}

/** The suggested settings that differ from the defaults, or from the current settings. */
function neededSettings(checks: readonly Check[], profile: ServiceProfile): object {
  const defaults = new Document({ profile: serviceProfileSchema.parse({}) });
  const current = new Document({ profile });
  const needed = new Document({});
  for (const { setting } of checks) {
    if (setting === undefined) continue;
    const { path, value } = setting;
    if (defaults.getIn(path) !== value || current.getIn(path) !== value) needed.setIn(path, value);
  }
  return needed.toJS();
}

const tones: Readonly<Record<CheckStatus, Tone>> = {
  ok: "added",
  warning: "warning",
  failed: "error",
  unknown: "info",
  skipped: "muted",
};

const titles = new Map<string, string>(
  Object.values(checkTitles).flatMap((group) => Object.entries<string>(group)),
);
const statusWidth = Math.max(...checkStatuses.map(({ length }) => length));
const titleWidth = Math.max(...[...titles.values()].map(({ length }) => length));

/**
 * The report for a terminal; ends with a line feed:
 *
 * ```
 * Service: https://api.example.com
 *   ok       address         GET /api/products/1 returned 404 as application/vnd.api+json
 *   unknown  rate limit      the service announces no limit; service.rate is 10/s
 *                            draftsync keeps to `service.rate`, which may be too high.
 *                            → Ask the operators of the service for the limit, and set `service.rate`.
 * ```
 */
export function formatDoctor(view: DoctorView, paint: Palette): string {
  const { service, checks, summary, calls, restore } = view;
  const headings = [
    ["machine", "This machine"],
    ["service", service === undefined ? "Service" : `Service: ${sanitizeLine(service)}`],
    ["draft", "Attached file"],
  ];
  const groups = headings.flatMap(([group, heading = ""]) => {
    const rows = checks.filter((check) => check.group === group).map((check) => formatCheck(check, paint));
    return rows.length === 0 ? [] : [`${paint("strong", heading)}\n${rows.join("")}`];
  });
  const counts = checkStatuses
    .filter((status) => summary[status] > 0)
    .map((status) => {
      const count = summary[status];
      return paint(tones[status], status === "warning" ? plural(count, status) : `${count} ${status}`);
    });
  const blocks = [...groups, `${counts.join(", ")} · ${plural(calls, "call")}\n`, formatSettings(view)];
  if (restore !== undefined) {
    blocks.push(`Manifest with the attributes before the change:\n\n${formatYaml(restore)}`);
  }
  return blocks.join("\n");
}

function formatCheck({ name, status, message, meaning, hint }: CheckView, paint: Palette): string {
  const margin = " ".repeat(2 + statusWidth + 2 + titleWidth + 2);
  const title = (titles.get(name) ?? name).padEnd(titleWidth);
  return [
    `  ${paint(tones[status], status.padEnd(statusWidth))}  ${title}  ${sanitizeLine(message)}\n`,
    ...(meaning === undefined ? [] : [`${margin}${sanitizeLine(meaning)}\n`]),
    ...(hint === undefined ? [] : [`${margin}${paint("info", "→")} ${sanitizeLine(hint)}\n`]),
  ].join("");
}

function formatSettings({ settings, calls, checks }: DoctorView): string {
  if (calls === 0) return "No calls were made, so the settings were not checked.\n";
  if (Object.keys(settings).length === 0) {
    return checks.some(({ status }) => status === "failed")
      ? "Some checks failed, so the settings were not checked completely.\n"
      : "The default settings fit. Nothing to set under `service:` in draftsync.yaml.\n";
  }
  return `Set this under \`service:\` in draftsync.yaml:\n\n${formatYaml(settings)}`;
}

/** Indented YAML. Its quoting and the sanitizer make texts from the service safe. */
function formatYaml(tree: object): string {
  const lines = stringify(tree).trimEnd().split("\n");
  return lines.map((line) => (line === "" ? "\n" : `  ${sanitizeText(line)}\n`)).join("");
}

/** The note before the read calls. */
export function formatSampleNotice(service: string, { limit, windowMs }: RateLimit): string {
  const rate = formatRate(limit, windowMs);
  return `Checking ${sanitizeLine(service)} with up to ${maxSamples} read calls, one after another, within ${rate}\n\n`;
}

/** The note before the operator is asked to approve probes. */
export function formatProbeNotice(target: FileTarget, recorded: Attributes | undefined): string {
  const known =
    recorded === undefined
      ? "The ledger does not contain this file, so draftsync does not know its attributes."
      : `Recorded attributes: ${sanitizeLine(formatAttributes(recorded))}`;
  return `
Probing sends PATCH /api/${fileResource(target)} twice, then PUT and PATCH, all without attributes.
A service that follows JSON:API leaves the file unchanged and returns it. Another service may clear attributes or reset
them to defaults. draftsync stops after the first change and prints the previous attributes, but if the first
call clears them, there is nothing to print. Choose a file with attributes that you can restore.
${known}

`;
}

/** The attributes in the first response to a probe, printed before the next call may change them. */
export function formatFirstProbe(attributes: Attributes): string {
  return `Attributes of the file:\n\n${formatYaml(attributes)}\n`;
}
