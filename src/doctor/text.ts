import { stringify } from "yaml";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";
import type { Palette, Tone } from "../report/palette.ts";
import { formatRate, plural } from "../report/quantities.ts";
import { sanitizeLine, sanitizeText } from "../report/sanitize-text.ts";
import type { CheckStatus, RateLimit } from "./check.ts";
import { checkStatuses, checkTitles } from "./check.ts";
import { formatAttributes } from "./check-file.ts";
import { maxSamples } from "./samples.ts";
import type { CheckView, DoctorView } from "./view.ts";

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
