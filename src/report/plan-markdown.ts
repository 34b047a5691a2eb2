import type { Diagnostic, Severity } from "../model/diagnostic.ts";
import { formatDiagnostics } from "./diagnostic-text.ts";
import type { DriftView } from "./drift-view.ts";
import {
  formatLeftOut,
  formatName,
  formatShortValue,
  formatValues,
  MarkdownBudget,
  moreItems,
  shortText,
} from "./markdown.ts";
import { formatDrafts, listCounts } from "./markdown-drafts.ts";
import { makePalette } from "./palette.ts";
import { whyNoChanges } from "./plan-text.ts";
import type { PlanView } from "./plan-view.ts";
import { formatCount, plural } from "./quantities.ts";
import { codeSpan, commentMarker, cutText, htmlText, plainWords } from "./sanitize-markdown.ts";

/** How a plan is written as Markdown. */
export interface PlanMarkdownOptions {
  /** The largest size in characters (UTF-16 units), at least `minMarkdownChars`. */
  readonly maxChars: number;
  /** Why apply will refuse the plan. */
  readonly refusals?: readonly Diagnostic[];
}

/** Space for the paragraph on what was left out, and the blank lines between sections. */
const leftOutChars = 1_000;

/** Longer diagnostics are cut. */
const maxDiagnosticLength = 2_000;

/** Space for the tags, blank lines and the last item of a section. */
const frameChars = 80;

/**
 * The plan as a comment on a pull request, for GitHub and GitLab. The first line is the marker of the comment. The most
 * important sections come first and get space first; the comment lists what was left out. Texts from outside have no effect.
 * Ends with a line feed. Pure.
 */
export function formatPlanMarkdown(view: PlanView, { maxChars, refusals = [] }: PlanMarkdownOptions): string {
  const [head, foot] = [formatHead(view), formatFoot(view)];
  const budget = new MarkdownBudget(maxChars - head.length - foot.length - leftOutChars);
  const withSeverity = (severity: Severity) => view.diagnostics.filter((each) => each.severity === severity);
  const parts = [
    head,
    formatSection(removedDrafts(view), budget),
    formatSection(
      {
        heading: "#### Cannot be undone",
        items: view.irreversible.map(formatIrreversible),
        what: "that cannot be undone",
      },
      budget,
    ),
    formatSection(
      { heading: "#### In doubt", items: view.doubts.map(formatDoubt), what: "in doubt" },
      budget,
    ),
    formatSection(diagnostics("Apply will refuse this plan", refusals), budget),
    formatSection(diagnostics("Errors", withSeverity("error")), budget),
    formatSection(diagnostics("Warnings", withSeverity("warning")), budget),
    formatSection(drift(view.drift), budget),
    formatDrafts(view.groups, budget),
    formatSection(diagnostics("Notes", withSeverity("info")), budget),
    formatLeftOut(
      budget.leftOut,
      maxChars,
      "`draftsync plan --no-summary`, or `draftsync show` with the saved plan",
    ),
    foot,
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** A heading with a list. */
interface Section {
  readonly heading: string;
  readonly items: readonly string[];
  /** Follows the number of items that were left out: `in doubt`. */
  readonly what: string;
  /** The share (0 to 1) of the free characters that it may take, so that some are left for the changes. */
  readonly share?: number;
  /** Before the first item and after the last one. */
  readonly open?: string;
  readonly close?: string;
  /** A paragraph that is always shown. */
  readonly after?: string;
}

/** As many items as fit; the last line counts the others. */
function formatSection(section: Section, budget: MarkdownBudget): string {
  const { heading, items, what, share = 1, open = "", close = "", after } = section;
  if (items.length === 0) return "";
  return budget.share(share, (own) => {
    const fits = own.take(heading.length + frameChars);
    const shown = fits ? own.fit(items) : [];
    const others = items.length - shown.length;
    own.leaveOut(others, what);
    const [more = ""] = moreItems(others);
    const lines = [
      ...(shown.length === 0 ? [] : [shown.join("\n").trimEnd()]),
      ...(more === "" ? [] : [open === "<pre>" ? more.slice(2) : more]),
    ];
    const list = fits ? `${heading}\n\n${open}${lines.join("\n")}${close}` : "";
    return after === undefined ? list : `${list}\n\n${after}`;
  });
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
  const { repeated, others } = view.common;
  if (repeated.length > 0) {
    const items = repeated.map(({ value, files }) => `- ${formatShortValue(value)} in ${files}`);
    lines.push("", "The same change in many files:", ...items);
  }
  if (others.length > 0) {
    const items = others.map(({ value, ...named }) => `- ${formatName(named)}: ${formatShortValue(value)}`);
    lines.push("", "Other changes of such values:", ...items);
  }
  if (view.refresh !== undefined) {
    const { checked, notChecked } = view.refresh;
    lines.push("", `${[checked, ...notChecked].join(". ")}.`);
  }
  return lines.join("\n").trimEnd();
}

/** Comes first, because it limits what the reviewer approves. */
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

function removedDrafts({ removed }: PlanView): Section {
  const what = "that are no longer declared";
  if (removed === undefined) return { heading: "", items: [], what };
  return {
    heading: `#### ${removed.headline}`,
    items: removed.drafts.map((draft) => `- ${formatName(draft)} (${draft.files})`),
    what,
    after: `${removed.effect}. To keep them: ${codeSpan(removed.command)}`,
  };
}

function formatIrreversible({ symbol, does, ...named }: PlanView["irreversible"][number]): string {
  return `- \`${symbol}\` ${formatName(named)} ${plainWords(does)}`;
}

function formatDoubt({ ending, command, ...named }: PlanView["doubts"][number]): string {
  const rest = command === undefined ? plainWords(ending) : `check the service, then ${codeSpan(command)}`;
  return `- \`?\` ${formatName(named)}: ${rest}`;
}

/** Diagnostics as on the terminal. */
function diagnostics(title: string, list: readonly Diagnostic[]): Section {
  const items = list.map((each) => {
    const text = formatDiagnostics([each], makePalette(false));
    return `${htmlText(cutText(text, maxDiagnosticLength))}\n`;
  });
  const what = `of "${title}"`;
  return { heading: `#### ${title}`, items, what, share: 0.5, open: "<pre>", close: "</pre>" };
}

function drift(views: readonly DriftView[]): Section {
  const resources = plural(views.length, "resource");
  return {
    heading: `<details><summary><b>Drift</b>: ${resources} changed outside draftsync</summary>`,
    items: views.map(formatDriftItem),
    what: "of the drift",
    share: 0.4,
    close: "\n\n</details>",
  };
}

function formatDriftItem({ symbol, note, evidence, values, ...named }: DriftView): string {
  const item = `- \`${symbol}\` ${formatName(named)} (${plainWords(`${note}; ${evidence}`)})`;
  return `${item}\n${formatValues(values, shortText)}`.trimEnd();
}

function formatFoot({ planId, serviceOrigin }: PlanView): string {
  return `<sub>Plan ${codeSpan(planId)} for ${codeSpan(serviceOrigin, 100)}</sub>`;
}
