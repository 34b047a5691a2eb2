import stringWidth from "fast-string-width";
import { type Action, actions, actionTable } from "../model/action.ts";
import type { ChangeView, ValueView } from "./change-view.ts";
import { formatDiagnostics } from "./diagnostic-text.ts";
import type { DriftView, RefreshView } from "./drift-view.ts";
import type { Palette, Tone } from "./palette.ts";
import { tones } from "./palette.ts";
import type { CountView, GroupView, NewLedgerView, PlanView, RemovedView } from "./plan-view.ts";
import { whyNoChanges } from "./plan-view.ts";
import { formatCount, plural } from "./quantities.ts";
import { sanitizeLine, sanitizeText } from "./sanitize-text.ts";
import type { Segment, SegmentLine } from "./word-diff.ts";
import { markWhitespace, shortenNew, shortenUnchanged, splitLines, trimEnd } from "./word-diff.ts";

/** A text that is new is shown up to this many lines; the rest is counted. */
const newTextLines = 6;
/** Unchanged lines kept around a changed one. */
const contextLines = 1;

/** How the changes of a plan are shown. */
export interface PlanTextOptions {
  /** One line a draft, instead of every change with its values; absent: for a long plan. */
  readonly summary?: boolean | undefined;
}

/**
 * The plan for a terminal or a log; the totals, the cost and what cannot be undone come last. Every text from outside is
 * sanitized. Ends with a line feed.
 */
export function formatPlanText(view: PlanView, paint: Palette, { summary }: PlanTextOptions = {}): string {
  const changes = view.groups.reduce((sum, group) => sum + group.changes.length, 0);
  const isLong = changes > maxListedChanges;
  const groups =
    (summary ?? isLong)
      ? [formatDraftLines(view, paint), ...(summary === undefined ? [formatDraftLinesNote(view)] : [])]
      : view.groups.map((group) => formatGroup(group, paint));
  const parts = [
    formatNewLedger(view.newLedger, paint),
    formatRemoved(view.removed, paint),
    formatDrift(view.drift, paint),
    ...groups,
    formatCommon(view, paint),
    formatDiagnostics(view.diagnostics, paint),
    formatDoubts(view, paint),
    formatSummary(view, paint),
    formatIrreversible(view, paint),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** What a plan comes to, without its changes: counts, cost, and what cannot be undone. Ends with a line feed. */
export function formatPlanSummary(view: PlanView, paint: Palette): string {
  const parts = [
    formatNewLedger(view.newLedger, paint),
    formatRemoved(view.removed, paint),
    formatCommon(view, paint),
    formatDoubts(view, paint),
    formatSummary(view, paint),
    formatIrreversible(view, paint),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** The first line of a plan whose ledger is new; empty otherwise. */
function formatNewLedger(view: NewLedgerView | undefined, paint: Palette): string {
  if (view === undefined) return "";
  return `${paint("warning", `${view.headline}.`)}\n${view.effect}: ${view.command}`;
}

/** Drafts that are no longer declared, each by its address; empty without any. */
function formatRemoved(removed: RemovedView | undefined, paint: Palette): string {
  if (removed === undefined) return "";
  const drafts = removed.drafts.map(({ address, title, files }) => formatRemovedDraft(address, title, files));
  const lines = [
    `${paint("warning", `${removed.headline}:`)} ${drafts.join(", ")}`,
    `${removed.effect}. To keep them: ${sanitizeLine(removed.command)}`,
  ];
  return lines.join("\n");
}

function formatRemovedDraft(address: string, title: string | undefined, files: string): string {
  const text = title === undefined ? `${address} (${files})` : `${title} (${address}, ${files})`;
  return sanitizeLine(text);
}

/** What differs at the service from the record; empty when nothing does. */
function formatDrift(drift: readonly DriftView[], paint: Palette): string {
  if (drift.length === 0) return "";
  const items = drift.map((item) => formatDriftItem(item, paint));
  return [paint("warning", "Changes made outside draftsync:"), ...items].join("\n");
}

/** One difference, with its values below. */
export function formatDriftItem(
  { type, symbol, note, evidence, values, declaredAt, ...named }: DriftView,
  paint: Palette,
): string {
  const width = Math.max(0, ...values.map(({ name }) => name.length));
  const head = `${paint(driftTones[type], symbol.padStart(5))} ${sanitizeLine(withTitle(named))}`;
  const place = declaredAt === undefined ? "" : `${sanitizeLine(declaredAt)}; `;
  return [
    `${head}${paint("muted", `  (${place}${note}; ${evidence})`)}`,
    ...values.flatMap((value) => formatValue(value, width, paint)),
  ].join("\n");
}

const driftTones: Readonly<Record<DriftView["type"], Tone>> = {
  changed: "changed",
  gone: "removed",
  found: "added",
  product_gone: "removed",
};

function formatGroup({ address, title, declaredAt, changes }: GroupView, paint: Palette): string {
  const blocks = changes.map((change) => formatChange(change, paint));
  const place = declaredAt === undefined ? "" : paint("muted", ` (${sanitizeLine(declaredAt)})`);
  return [`${paint("strong", sanitizeLine(withTitle({ address, title })))}${place}`, ...blocks].join("\n");
}

/** `drafts/48213 · Sea Serpent` */
export function withTitle({
  address,
  title,
}: {
  readonly address: string;
  readonly title?: string | undefined;
}) {
  return title === undefined ? address : `${address} · ${title}`;
}

function formatChange(change: ChangeView, paint: Palette): string {
  const tone = tones[change.action];
  const symbol = paint(tone, change.symbol.padStart(5));
  const note = change.note === "" ? "" : paint("muted", `  (${sanitizeLine(change.note)})`);
  const label = change.label === "" ? "protection" : sanitizeLine(change.label);
  const width = Math.max(0, ...change.values.map(({ name }) => name.length));
  return [
    `${symbol} ${label}${note}`,
    ...change.values.flatMap((value) => formatValue(value, width, paint)),
  ].join("\n");
}

const indent = " ".repeat(10);

function formatValue(value: ValueView, width: number, paint: Palette): string[] {
  const name = value.name.padEnd(width);
  if (value.kind === "text") return formatText(value.segments, { name, isNew: value.isNew, paint });
  const { before, after } = value;
  if (before === after) return [`${indent}${name}  ${paint("muted", sanitizeLine(after ?? ""))}`];
  if (after === undefined) return [`${indent}${name}  ${paint("removed", sanitizeLine(before ?? ""))}`];
  const shownAfter = paint("added", sanitizeLine(after));
  if (before === undefined) return [`${indent}${name}  ${shownAfter}`];
  return [`${indent}${name}  ${paint("removed", sanitizeLine(before))} ${paint("muted", "→")} ${shownAfter}`];
}

interface TextOptions {
  readonly name: string;
  readonly isNew: boolean;
  readonly paint: Palette;
}

/** A text of one line stands beside its name; a longer one below it. */
function formatText(segments: readonly Segment[], { name, isNew, paint }: TextOptions): string[] {
  const lines = splitLines(trimEnd(markWhitespace(segments)));
  const shown = isNew ? shortenNew(lines, newTextLines) : shortenUnchanged(lines, contextLines);
  const painted = shown.map((line) =>
    typeof line === "number"
      ? paint(
          "muted",
          `… ${formatCount(line)} ${isNew ? "more" : "unchanged"} ${line === 1 ? "line" : "lines"}`,
        )
      : formatSegments(line, isNew, paint),
  );
  if (painted.length === 1) return [`${indent}${name}  ${painted[0]}`];
  return [`${indent}${name.trimEnd()}`, ...painted.map((line) => `${indent}  ${line}`.trimEnd())];
}

/** Without colour the marks of `wdiff` tell what was added and removed. */
function formatSegments(line: SegmentLine, isNew: boolean, paint: Palette): string {
  const marked = paint("added", "x") === "x";
  return line
    .map(({ op, text }) => {
      const sanitize = sanitizeText(text);
      if (op === "same") return sanitize;
      if (isNew) return paint("added", sanitize);
      if (op === "added") return marked ? `{+${sanitize}+}` : paint("added", sanitize);
      return marked ? `[-${sanitize}-]` : paint("removed", sanitize);
    })
    .join("");
}

function formatCommon({ common: { repeated, others } }: PlanView, paint: Palette): string {
  if (repeated.length === 0) return "";
  const width = Math.max(...repeated.map(({ value }) => value.name.length));
  const lines = repeated.flatMap(({ value, files }) =>
    formatValue(value, width, paint).map((line) => `${line}${paint("muted", `  in ${files}`)}`),
  );
  const exceptions = others.flatMap(({ value, ...named }) => [
    `      ${sanitizeLine(withTitle(named))}`,
    ...formatValue(value, value.name.length, paint),
  ]);
  return [
    paint("strong", "The same change in many files:"),
    ...lines,
    ...(others.length === 0 ? [] : [paint("strong", "Other changes of such values:"), ...exceptions]),
  ].join("\n");
}

function formatSummary(view: PlanView, paint: Palette): string {
  const unchanged = view.unchanged === 0 ? "" : ` ${formatCount(view.unchanged)} unchanged.`;
  if (view.counts.length === 0) {
    if (view.diagnostics.some(({ severity }) => severity === "error")) return "";
    const lines = [`${paint("strong", "No changes.")} ${whyNoChanges(view)}${unchanged}`];
    return [...lines, ...formatUnmanaged(view, paint), ...formatRefresh(view.refresh, paint)].join("\n");
  }
  const counts = view.counts.map((count) => formatCountView(count, paint)).join(", ");
  const lines = [`${paint("strong", "Plan:")} ${counts}.${unchanged}`];
  if (view.cost === undefined) {
    const nothing = view.counts.every(({ action }) => action === "in_doubt");
    lines.push(`${paint("strong", "Cost:")} no calls${nothing ? "" : "; only the ledger changes"}.`);
  } else {
    const { calls, time, rate, upTo } = view.cost;
    lines.push(
      `${paint("strong", "Cost:")} ${calls}, ${time} at ${rate} (up to ${upTo} with retries and slow uploads).`,
    );
  }
  return [...lines, ...formatUnmanaged(view, paint), ...formatRefresh(view.refresh, paint)].join("\n");
}

function formatUnmanaged({ unmanaged }: PlanView, paint: Palette): string[] {
  if (unmanaged === undefined) return [];
  const { files, list, rest } = unmanaged;
  return [`${paint("strong", "Not managed:")} ${files} in ${sanitizeLine(list)}${rest}.`];
}

/** What a refresh checked and what it did not, a line each; no line without a refresh. */
export function formatRefresh(refresh: RefreshView | undefined, paint: Palette): string[] {
  if (refresh === undefined) return [];
  return [`${refresh.checked}.`, ...refresh.notChecked.map((text) => paint("muted", `${text}.`))];
}

function formatCountView({ action, text }: CountView, paint: Palette): string {
  return paint(tones[action], text);
}

function formatIrreversible({ irreversible }: PlanView, paint: Palette): string {
  if (irreversible.length === 0) return "";
  const named = irreversible.map((each) => ({ ...each, name: sanitizeLine(withTitle(each)) }));
  const width = Math.max(...named.map(({ name }) => stringWidth(name)));
  const lines = named.map(({ symbol, name, does }) => {
    const gap = " ".repeat(width - stringWidth(name));
    return `${paint("final", symbol.padStart(5))} ${name}${gap}  ${sanitizeLine(does)}`;
  });
  return [paint("final", "Cannot be undone:"), ...lines].join("\n");
}

function formatDoubts({ doubts }: PlanView, paint: Palette): string {
  if (doubts.length === 0) return "";
  const lines = doubts.map(
    ({ ending, ...each }) =>
      `${paint("warning", actionTable.in_doubt.sign.padStart(5))} ${sanitizeLine(withTitle(each))}\n          ${sanitizeLine(ending)}`,
  );
  return [paint("warning", "In doubt:"), ...lines].join("\n");
}

/** A plan with more changes is shown as one line a draft, unless all of it is asked for. */
export const maxListedChanges = 200;

/** Wider titles do not push the counts of all other lines aside. */
const maxTitleColumns = 40;

/**
 * One line a draft, in columns, with how many changes it has of each action:
 *
 * ```
 *   ~ drafts/48213  Sea Serpent  +1 ~2 -1 !publish  manifests/sea-serpent.yaml:10
 * ```
 */
export function formatDraftLines({ groups }: Pick<PlanView, "groups">, paint: Palette): string {
  const rows = groups.map((group) => {
    const counts = countsOf(group);
    return {
      sign: signOf(group),
      address: sanitizeLine(group.address),
      title: sanitizeLine(group.title ?? ""),
      counts: counts.map(({ text }) => text).join(" "),
      painted: counts.map(({ action, text }) => paint(tones[action], text)).join(" "),
      place: sanitizeLine(group.declaredAt ?? ""),
    };
  });
  const addressColumns = widest(rows.map(({ address }) => address));
  const titleColumns = Math.min(maxTitleColumns, widest(rows.map(({ title }) => title)));
  const countColumns = widest(rows.map(({ counts }) => counts));
  const lines = rows.map(({ sign, address, title, counts, painted, place }) => {
    const cells = [
      `${paint(tones[sign], actionTable[sign].sign.padStart(3))} ${address}${fill(address, addressColumns)}`,
      ...(titleColumns === 0 ? [] : [`${title}${fill(title, titleColumns)}`]),
      `${painted}${fill(counts, countColumns)}`,
      paint("muted", place),
    ];
    return cells.join("  ").trimEnd();
  });
  return lines.join("\n");
}

/** How many changes there are, and how each of them is shown. */
export function formatDraftLinesNote({ groups }: Pick<PlanView, "groups">): string {
  const changes = groups.reduce((sum, group) => sum + group.changes.length, 0);
  return `${plural(changes, "change")}, one line a draft. To see every value: draftsync plan --no-summary`;
}

/** The action of all changes of a draft, or that it is changed. */
function signOf({ changes }: GroupView): Action {
  const [first] = changes;
  return first !== undefined && changes.every(({ action }) => action === first.action)
    ? first.action
    : "update";
}

function countsOf({ changes }: GroupView): readonly { readonly action: Action; readonly text: string }[] {
  return actions.flatMap((action) => {
    const count = changes.filter((change) => change.action === action).length;
    if (count === 0) return [];
    const { sign } = actionTable[action];
    const what = action === "publish" || action === "duplicate" ? action : formatCount(count);
    return [{ action, text: `${sign}${what}` }];
  });
}

function widest(cells: readonly string[]): number {
  return cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0);
}

/** The spaces that follow a text in its column. */
function fill(text: string, columns: number): string {
  return " ".repeat(Math.max(0, columns - stringWidth(text)));
}
