import { type Action, actionTable } from "../model/action.ts";
import type { Diagnostic, Severity } from "../model/diagnostic.ts";
import type { ChangeView } from "./change-view.ts";
import { formatDiagnostics } from "./diagnostic-text.ts";
import type { DriftView } from "./drift-view.ts";
import type { TextDetail } from "./markdown.ts";
import {
  formatInline,
  formatLeftOut,
  formatName,
  formatShortValue,
  formatValues,
  fullText,
  MarkdownBudget,
  moreItems,
  shortText,
} from "./markdown.ts";
import { makePalette } from "./palette.ts";
import type { CountView, GroupView, PlanView } from "./plan-view.ts";
import { countActions, whyNoChanges } from "./plan-view.ts";
import { formatCount, plural } from "./quantities.ts";
import { codeSpan, commentMarker, cutText, htmlCode, htmlText, plainWords } from "./sanitize-markdown.ts";

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

/** Space for the tags, blank lines and the last item of a section or a draft. */
const frameChars = 80;

/**
 * The plan as a comment on a pull request, for GitHub and GitLab. The first line is the marker of the comment. The most
 * important sections come first and get space first; the comment lists what was left out. Texts from outside have no effect.
 * Ends with a line feed. Pure.
 */
export function formatPlanMarkdown(view: PlanView, { maxChars, refusals = [] }: PlanMarkdownOptions): string {
  const [head, foot] = [formatHead(view), formatFoot(view)];
  const budget = new MarkdownBudget(maxChars - head.length - foot.length - leftOutChars);
  const { irreversible, doubts } = view;
  const section = (each: Section) => formatSection(each, budget);
  const withSeverity = (title: string, severity: Severity) =>
    section(
      diagnostics(
        title,
        view.diagnostics.filter((each) => each.severity === severity),
      ),
    );
  const whole = "`draftsync plan --no-summary`, or `draftsync show` with the saved plan";
  const parts = [
    head,
    section(removedDrafts(view)),
    section({
      heading: "#### Cannot be undone",
      items: irreversible.map(formatIrreversible),
      what: "that cannot be undone",
    }),
    section({ heading: "#### In doubt", items: doubts.map(formatDoubt), what: "in doubt" }),
    section(diagnostics("Apply will refuse this plan", refusals)),
    withSeverity("Errors", "error"),
    withSeverity("Warnings", "warning"),
    section(drift(view.drift)),
    formatDrafts(view.groups, budget),
    withSeverity("Notes", "info"),
    formatLeftOut(budget.leftOut, maxChars, whole),
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
  const { unchanged, unmanaged, common, refresh } = view;
  const counted = unchanged === 0 ? "" : ` ${formatCount(unchanged)} unchanged.`;
  const same = common.repeated.map(({ value, files }) => `- ${formatShortValue(value)} in ${files}`);
  const others = common.others.map(
    ({ value, ...named }) => `- ${formatName(named)}: ${formatShortValue(value)}`,
  );
  return [
    commentMarker("plan", view.workspace),
    ...formatNewLedger(view),
    `### ${headline(view)}`,
    "",
    `${costOf(view)}${counted}`.trim(),
    ...(unmanaged === undefined
      ? []
      : ["", `Not managed: ${unmanaged.files} in ${codeSpan(unmanaged.list)}${unmanaged.rest}.`]),
    ...(same.length === 0 ? [] : ["", "The same change in many files:", ...same]),
    ...(others.length === 0 ? [] : ["", "Other changes of such values:", ...others]),
    ...(refresh === undefined ? [] : ["", `${[refresh.checked, ...refresh.notChecked].join(". ")}.`]),
  ]
    .join("\n")
    .trimEnd();
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

/** The section of a draft while it is filled. */
interface Draft {
  readonly group: GroupView;
  /** Its first line: in HTML if it can be closed, in Markdown for a heading. */
  readonly head: string;
  /** The same as an item of a list. */
  readonly item: string;
  /** The changes, the most important first. */
  readonly byWeight: readonly ChangeView[];
  /** The changes that are shown. */
  readonly shown: Map<ChangeView, { readonly line: string; values: string; isCut: boolean }>;
}

/** A plan of up to so many changes is open; of a longer one, each draft is closed, and its line has the first values. */
const maxOpen = 40;

/**
 * A section for each draft, in the order of the plan. Space goes to a line for each draft, then a line for each change, then
 * short values, then long ones, each time to the drafts with the most important changes first. A draft without space for its
 * changes is an item of a list at the end.
 */
function formatDrafts(groups: readonly GroupView[], budget: MarkdownBudget): string {
  if (groups.length === 0) return "";
  const fits = budget.take(2 * frameChars);
  const isOpen = sum(groups.map(({ changes }) => changes.length)) <= maxOpen;
  const drafts = groups.map((group) => makeDraft(group, isOpen));
  const byWeight = drafts.toSorted((one, other) => weightOf(other.byWeight[0]) - weightOf(one.byWeight[0]));
  const some = byWeight.findIndex(({ item }) => !fits || !budget.take(item.length + 1));
  const listed = some === -1 ? byWeight : byWeight.slice(0, some);
  for (const draft of listed) showChanges(draft, budget);
  for (const detail of [shortText, fullText]) {
    for (const draft of listed) showValues(draft, detail, budget);
  }
  const shown = listed.flatMap((draft) => [...draft.shown.values()]);
  budget.leaveOut(drafts.length - listed.length, "of the drafts");
  budget.leaveOut(sum(listed.map((draft) => draft.byWeight.length)) - shown.length, "of the changes");
  budget.leaveOut(shown.filter(({ isCut }) => isCut).length, "with values or texts that were shortened");
  if (!fits) return "";
  const open = drafts.filter((draft) => draft.shown.size > 0).map((draft) => writeDraft(draft, isOpen));
  const known = new Set(listed);
  const items = [
    ...drafts.filter((draft) => known.has(draft) && draft.shown.size === 0).map(({ item }) => item),
    ...moreItems(drafts.length - listed.length),
  ];
  return [...open, ...(items.length === 0 ? [] : ["Without details:", items.join("\n")])].join("\n\n");
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function weightOf(change: ChangeView | undefined): number {
  return change === undefined ? 0 : actionTable[change.action].weight;
}

/** `1 to create, 2 to update`. */
function listCounts(counts: readonly CountView[]): string {
  return counts.map(({ text }) => text).join(", ");
}

function makeDraft(group: GroupView, isOpen: boolean): Draft {
  const { address, title, declaredAt, changes } = group;
  const summary: Partial<Record<Action, number>> = {};
  for (const { action } of changes) summary[action] = (summary[action] ?? 0) + 1;
  const counts = listCounts(countActions(summary));
  const byWeight = changes.toSorted((one, other) => weightOf(other) - weightOf(one));
  const place = (format: (text: string, longest: number) => string) =>
    declaredAt === undefined ? "" : ` ${format(declaredAt, 200)}`;
  const name = title === undefined ? "" : `<b>${htmlCode(title, 100)}</b> `;
  const head = isOpen
    ? `#### ${formatName(group)}: ${counts}${place(codeSpan)}`
    : `${name}${htmlCode(address)}: ${counts}${place(htmlCode)}${firstValues(byWeight)}`;
  const item = `- ${title === undefined ? "" : `${codeSpan(title, 100)} `}${codeSpan(address)}: ${counts}`;
  return { group, head, item, byWeight, shown: new Map() };
}

/** The first short value, and the names of the other attributes that change, in HTML. */
function firstValues(changes: readonly ChangeView[]): string {
  const all = changes.flatMap(({ values }) => values);
  const first = all.find((value) => value.kind === "value");
  const names = new Set(all.map(({ name }) => name).filter((name) => name !== first?.name));
  const others = names.size === 0 ? "" : htmlCode([...names].join(", "), 100);
  if (first === undefined) return others === "" ? "" : ` · ${others}`;
  const of = changes.find(({ values }) => values.includes(first));
  const text = [...new Set([first.before, first.after])].filter((each) => each !== undefined).join(" → ");
  const shown = ` · ${htmlCode(`${of?.symbol} ${of?.label}`, 80)} ${htmlCode(`${first.name} ${text}`, 100)}`;
  return others === "" ? shown : `${shown} · also ${others}`;
}

function showChanges({ byWeight, shown, head, item }: Draft, budget: MarkdownBudget): void {
  const cost = frameChars + head.length - item.length;
  if (!budget.take(cost)) return;
  for (const change of byWeight) {
    const line = formatChange(change);
    if (!budget.take(line.length + 1)) break;
    shown.set(change, { line, values: "", isCut: false });
  }
  if (shown.size === 0) budget.take(-cost);
}

function formatChange({ symbol, label, note }: ChangeView): string {
  const name = label === "" ? "protection" : codeSpan(label, 300);
  return `- \`${symbol}\` ${name}${note === "" ? "" : ` (${plainWords(note)})`}`;
}

function showValues({ shown }: Draft, detail: TextDetail, budget: MarkdownBudget): void {
  for (const [{ action, values }, item] of shown) {
    if (values.length === 0) continue;
    const inline = formatInline(values, action === "delete");
    const text = inline === undefined ? `\n${formatValues(values, detail)}` : `: ${inline}`;
    item.isCut = !budget.take(text.length - item.values.length);
    if (!item.isCut) item.values = text;
  }
}

function writeDraft({ head, group: { changes }, shown }: Draft, isOpen: boolean): string {
  const items = changes.flatMap((change) => {
    const item = shown.get(change);
    return item === undefined ? [] : [`${item.line}${item.values}`.trimEnd()];
  });
  const lines = ["", ...items, ...moreItems(changes.length - shown.size)];
  return isOpen
    ? [head, ...lines].join("\n")
    : [`<details><summary>${head}</summary>`, ...lines, "", "</details>"].join("\n");
}
