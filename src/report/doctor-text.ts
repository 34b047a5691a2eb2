import { stringify } from "yaml";
import type { CheckGroup, CheckStatus } from "../model/examination.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { list } from "./doctor-probe-words.ts";
import type { CheckView, ExaminationView } from "./doctor-view.ts";
import { checkTitles } from "./doctor-words.ts";
import type { Palette, Tone } from "./palette.ts";
import { formatRate, plural } from "./quantities.ts";
import { sanitizeLine, sanitizeText } from "./sanitize-text.ts";

const headings: Readonly<Record<CheckGroup, string>> = {
  machine: "This machine",
  service: "The service",
  draft: "The draft",
};

const labels: Readonly<Record<CheckStatus, string>> = {
  ok: "ok",
  warning: "warning",
  failed: "failed",
  not_known: "not known",
  not_checked: "not checked",
};

const tones: Readonly<Record<CheckStatus, Tone>> = {
  ok: "added",
  warning: "warning",
  failed: "error",
  not_known: "info",
  not_checked: "muted",
};

const labelWidth = Math.max(...Object.values(labels).map(({ length }) => length));
const titleWidth = Math.max(...Object.values(checkTitles).map(({ length }) => length));

/**
 * An examination for a terminal; ends with a line feed:
 *
 * ```
 * The service, https://api.example.com
 *   ok           address         GET /api/products/1 is answered 404, as application/vnd.api+json
 *   warning      rate bound      ratelimit-policy: "calls";q=5;w=1
 *                                The service allows 5/s; service.rate is 10/s. …
 *                                → Lower service.rate.
 * ```
 */
export function formatExamination(view: ExaminationView, paint: Palette): string {
  const blocks = [
    ...(["machine", "service", "draft"] as const).flatMap((group) => formatGroup(view, group, paint)),
    `${formatSummary(view, paint)}\n`,
    formatSettings(view),
    ...(view.restore === undefined ? [] : [formatRestore(view.restore)]),
  ];
  return blocks.join("\n");
}

function formatGroup(view: ExaminationView, group: CheckGroup, paint: Palette): readonly string[] {
  const checks = view.checks.filter((check) => check.group === group);
  if (checks.length === 0) return [];
  const service = group === "service" && view.service !== undefined ? `, ${sanitizeLine(view.service)}` : "";
  const rows = checks.map((check) => formatCheck(check, paint));
  return [`${paint("strong", `${headings[group]}${service}`)}\n${rows.join("")}`];
}

function formatCheck({ name, status, seen, means, advice }: CheckView, paint: Palette): string {
  const label = paint(tones[status], labels[status].padEnd(labelWidth));
  const margin = " ".repeat(2 + labelWidth + 2 + titleWidth + 2);
  const more = [
    ...(means === undefined ? [] : [sanitizeLine(means)]),
    ...(advice === undefined ? [] : [`${paint("info", "→")} ${sanitizeLine(advice)}`]),
  ].map((line) => `${margin}${line}\n`);
  return `  ${label}  ${checkTitles[name].padEnd(titleWidth)}  ${sanitizeLine(seen)}\n${more.join("")}`;
}

function formatSummary({ summary, calls }: ExaminationView, paint: Palette): string {
  const counts = (["ok", "warning", "failed", "not_known", "not_checked"] as const)
    .filter((status) => summary[status] > 0)
    .map((status) => paint(tones[status], countOf(status, summary[status])));
  return `${counts.join(", ")}. ${plural(calls, "call")}.`;
}

function countOf(status: CheckStatus, count: number): string {
  return status === "warning" ? plural(count, "warning") : `${count} ${labels[status]}`;
}

function formatSettings({ settings, calls }: ExaminationView): string {
  if (calls === 0) return "Nothing can be said about settings: no call was made.\n";
  if (Object.keys(settings).length === 0) {
    return "As far as was seen the defaults fit: nothing has to be set under `service:` in draftsync.yaml.\n";
  }
  return `Write this under \`service:\` in draftsync.yaml:\n\n${indented(settings)}`;
}

function formatRestore(restore: object): string {
  return `The attributes that were there before, as a manifest:\n\n${indented(restore)}`;
}

/** Texts from the service are quoted by YAML's own rules, and inert. */
function indented(tree: object): string {
  const lines = stringify(tree).trimEnd().split("\n");
  return lines.map((line) => (line === "" ? "\n" : `  ${sanitizeText(line)}\n`)).join("");
}

/** What is said before the calls that only read. */
export function formatLookNotice(facts: {
  readonly service: string;
  readonly calls: number;
  readonly rate: { readonly limit: number; readonly windowMs: number };
}): string {
  const rate = formatRate(facts.rate.limit, facts.rate.windowMs);
  return `Looking at ${sanitizeLine(facts.service)}: at most ${plural(facts.calls, "call")} that only read, one after another, within ${rate}.\n\n`;
}

/** What is said before it is asked whether to probe. */
export function formatProbeNotice(
  { draftId, kind, fileId }: FileTarget,
  recorded: Attributes | undefined,
): string {
  const path = `/api/drafts/${draftId}/${kind}/${fileId}`;
  const known =
    recorded === undefined
      ? "The ledger does not hold this file, so what it has at the service is not known here."
      : `Recorded of it: ${sanitizeLine(list(recorded))}.`;
  return `
Two PATCH ${path}, then one PUT and one more PATCH, none of which names an attribute.
A service that keeps to JSON:API changes nothing then and answers the file as it is. One that does not may clear
attributes, or fill them with defaults: of what is not named. draftsync stops as soon as it sees that, and tells what was
there; but a first call that clears them leaves nothing to see. So name a file that has attributes, and that you could
type in again.
${known}

`;
}

/** What the first probe showed, whole and at once: whatever happens next, it has been on the screen. */
export function formatFirstProbe(attributes: Attributes): string {
  return `The file has:\n\n${indented(attributes)}\n`;
}
