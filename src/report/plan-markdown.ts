import type { Diagnostic, Severity } from "../model/diagnostic.ts";
import { commentMarker } from "./comment-marker.ts";
import { formatDiagnostics } from "./diagnostic-text.ts";
import type { DriftView } from "./drift-view.ts";
import { formatDrafts, listCounts } from "./markdown-drafts.ts";
import { formatValues, shortText } from "./markdown-values.ts";
import { makePalette } from "./palette.ts";
import { whyNoChanges } from "./plan-text.ts";
import type { PlanView, RemovedView } from "./plan-view.ts";
import { formatCount, plural } from "./quantities.ts";
import { moreItems, Room } from "./room.ts";
import { codeSpan, cutText, htmlText, plainWords } from "./sanitize-markdown.ts";

/** How a plan is written as Markdown. */
export interface PlanMarkdownOptions {
  /** The most characters (UTF-16 units) of all, at least `leastMarkdownChars`. */
  readonly maxChars: number;
  /** Why apply will refuse the plan. */
  readonly refusals?: readonly Diagnostic[];
}

/** The paragraph on what was left out at its longest, and the blank lines between the sections. */
const leftOutChars = 1_000;

/** What is longer than this in one diagnostic is cut. */
const maxDiagnosticLength = 2_000;

/** What stands around a section beside its heading and items: blank lines, tags, and the line that tells of the others. */
const around = 80;

/**
 * The plan as a comment on a pull request, for GitHub and GitLab. The first line is the comment's marker. What matters most
 * comes first; when all would be longer than `maxChars`, it is shortened from the other end, and says so. Every text from
 * outside is made inert. Ends with a line feed. Pure.
 */
export function formatPlanMarkdown(view: PlanView, { maxChars, refusals = [] }: PlanMarkdownOptions): string {
  const [head, foot] = [formatHead(view), formatFoot(view)];
  const room = new Room(maxChars - head.length - foot.length - leftOutChars);
  const findings = (severity: Severity) => view.diagnostics.filter((each) => each.severity === severity);
  const irreversible = view.irreversible.map(formatIrreversible);
  const sections = [
    formatRemoved(view.removed, room),
    formatList("#### Cannot be undone", irreversible, { room, what: "that cannot be undone" }),
    formatList("#### In doubt", view.doubts.map(formatDoubt), { room, what: "in doubt" }),
    formatFindings("#### Apply will refuse this plan", refusals, room),
    formatFindings("#### Errors", findings("error"), room),
    formatFindings("#### Warnings", findings("warning"), room),
    formatDrift(view.drift, room),
    formatDrafts(view.groups, room),
    formatFindings("#### Notes", findings("info"), room),
  ];
  const parts = [head, ...sections, formatLeftOut(room.leftOut, maxChars), foot];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function formatHead(view: PlanView): string {
  const lines = [
    commentMarker("plan", view.workspace),
    ...formatNewLedger(view),
    `### ${headline(view)}`,
    "",
  ];
  const unchanged = view.unchanged === 0 ? "" : ` ${formatCount(view.unchanged)} unchanged.`;
  lines.push(`${costOf(view)}${unchanged}`.trim());
  if (view.unmanaged !== undefined) {
    const { files, list, rest } = view.unmanaged;
    lines.push("", `Not managed: ${files} in ${codeSpan(list)}${rest}.`);
  }
  if (view.refresh !== undefined) {
    const { checked, notChecked } = view.refresh;
    lines.push("", `${[checked, ...notChecked].join(". ")}.`);
  }
  return lines.join("\n").trimEnd();
}

/** Comes first: a reviewer approves only what is left. */
function formatNewLedger({ newLedger }: PlanView): readonly string[] {
  if (newLedger === undefined) return [];
  return [`**${newLedger.headline}.** ${newLedger.effect}: ${codeSpan(newLedger.command)}`, ""];
}

function headline(view: PlanView): string {
  const workspace = codeSpan(view.workspace, 80);
  if (view.counts.length > 0) return `Plan for ${workspace}: ${listCounts(view.counts)}`;
  return hasErrors(view) ? `No plan for ${workspace}` : `No changes for ${workspace}`;
}

function hasErrors({ diagnostics }: PlanView): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

function costOf(view: PlanView): string {
  if (view.counts.length === 0) return hasErrors(view) ? "" : whyNoChanges(view);
  if (view.cost === undefined) {
    const nothing = view.counts.every(({ action }) => action === "in_doubt");
    return `No calls${nothing ? "" : "; only the ledger changes"}.`;
  }
  const { calls, time, rate, upTo } = view.cost;
  return `${calls}, ${time} at ${rate} (up to ${upTo} with retries and slow uploads).`;
}

function formatRemoved(removed: RemovedView | undefined, room: Room): string {
  if (removed === undefined) return "";
  const lines = removed.drafts.map(({ address, files }) => `- ${codeSpan(address)} (${files})`);
  const list = formatList(`#### ${removed.headline}`, lines, { room, what: "that are no longer declared" });
  return `${list}\n\n${removed.effect}. To keep them: ${codeSpan(removed.command)}`;
}

function formatIrreversible({ symbol, address, does }: PlanView["irreversible"][number]): string {
  return `- \`${symbol}\` ${codeSpan(address)} ${plainWords(does)}`;
}

function formatDoubt({ address, ending, command }: PlanView["doubts"][number]): string {
  const rest = command === undefined ? plainWords(ending) : `look at the service, then ${codeSpan(command)}`;
  return `- \`?\` ${codeSpan(address)}: ${rest}`;
}

interface ListOptions {
  readonly room: Room;
  /** Ends the sentence on those that were left out: `in doubt`. */
  readonly what: string;
}

/** A heading and the lines below it, as many as there is room for; the last one tells of the others. */
function formatList(heading: string, lines: readonly string[], { room, what }: ListOptions): string {
  if (lines.length === 0) return "";
  const hasRoom = room.take(heading.length + around);
  const shown = hasRoom ? room.fit(lines) : [];
  const others = lines.length - shown.length;
  room.leaveOut(others, what);
  return hasRoom ? [heading, "", ...shown, ...moreItems(others)].join("\n") : "";
}

/** Diagnostics as the terminal shows them. Half of what is free is theirs at most, so that they leave room for the changes. */
function formatFindings(heading: string, findings: readonly Diagnostic[], room: Room): string {
  if (findings.length === 0) return "";
  return room.within(0.5, (part) => {
    const texts = findings.map((each) => {
      const text = formatDiagnostics([each], makePalette(false));
      return `${htmlText(cutText(text, maxDiagnosticLength))}\n`;
    });
    const hasRoom = part.take(heading.length + around);
    const shown = hasRoom ? part.fit(texts) : [];
    const others = texts.length - shown.length;
    part.leaveOut(others, `of "${heading.slice(5)}"`);
    if (!hasRoom) return "";
    const more = others === 0 ? "" : `\n… and ${formatCount(others)} more`;
    return `${heading}\n\n<pre>${shown.join("\n").trimEnd()}${more}</pre>`;
  });
}

function formatDrift(drift: readonly DriftView[], room: Room): string {
  if (drift.length === 0) return "";
  const resources = plural(drift.length, "resource");
  const head = `<details><summary><b>Drift</b>: ${resources} changed outside draftsync</summary>`;
  return room.within(0.4, (part) => {
    const hasRoom = part.take(head.length + around);
    const shown = hasRoom ? part.fit(drift.map(formatDriftItem)) : [];
    const others = drift.length - shown.length;
    part.leaveOut(others, "of what drifted");
    if (!hasRoom) return "";
    return [head, "", ...shown, ...moreItems(others), "", "</details>"].join("\n");
  });
}

function formatDriftItem({ symbol, address, note, evidence, values }: DriftView): string {
  const item = `- \`${symbol}\` ${codeSpan(address)} (${plainWords(`${note}; ${evidence}`)})`;
  return `${item}\n${formatValues(values, shortText)}`.trimEnd();
}

function formatLeftOut(leftOut: readonly string[], maxChars: number): string {
  if (leftOut.length === 0) return "";
  return (
    `**Left out** to stay within ${formatCount(maxChars)} characters: ${leftOut.join(", ")}. ` +
    "To see all: `draftsync plan`, or `draftsync show` with the saved plan."
  );
}

function formatFoot({ planId, serviceOrigin }: PlanView): string {
  return `<sub>Plan ${codeSpan(planId)} for ${codeSpan(serviceOrigin, 100)}</sub>`;
}
