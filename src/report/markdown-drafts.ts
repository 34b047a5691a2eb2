import { type Action, actionTable } from "../model/action.ts";
import type { ChangeView } from "./change-view.ts";
import type { MarkdownBudget, TextDetail } from "./markdown.ts";
import { formatInline, formatName, formatValues, fullText, moreItems, shortText } from "./markdown.ts";
import type { CountView, GroupView } from "./plan-view.ts";
import { countActions } from "./plan-view.ts";
import { codeSpan, htmlCode, plainWords } from "./sanitize-markdown.ts";

/** The section of a draft while it is filled. */
interface Draft {
  /** The line of a section: in HTML for one that can be closed, in Markdown for a heading. */
  readonly head: string;
  /** The same as an item of a list. */
  readonly item: string;
  /** The changes, the most important first. */
  readonly changes: readonly ChangeView[];
  readonly inOrder: readonly ChangeView[];
  /** The changes that are shown. */
  readonly shown: Map<ChangeView, Shown>;
}

interface Shown {
  readonly line: string;
  values: string;
  /** The values are shortened or missing. */
  isCut: boolean;
}

/** Space for the tags, blank lines and the last item of a draft. */
const frameChars = 80;

/** A plan of up to so many changes is open; of a longer one, each draft is closed, and its line has the first values. */
const maxOpen = 40;

const withoutDetails = "Without details:";

/**
 * A section for each draft, closed in a long plan, in the order of the plan. Space goes to a line for each draft, then a line for each
 * change, then short values, then long ones, each time to the drafts with the most important changes first. A draft without
 * space for its changes is an item of a list at the end.
 */
export function formatDrafts(groups: readonly GroupView[], budget: MarkdownBudget): string {
  if (groups.length === 0) return "";
  const fits = budget.take(2 * frameChars);
  const isOpen = sum(groups.map(({ changes }) => changes.length)) <= maxOpen;
  const drafts = groups.map((group) => makeDraft(group, isOpen));
  const byWeight = drafts.toSorted((one, other) => weightOf(other) - weightOf(one));
  const some = byWeight.findIndex(({ item }) => !fits || !budget.take(item.length + 1));
  const listed = some === -1 ? byWeight : byWeight.slice(0, some);
  for (const draft of listed) showChanges(draft, budget);
  for (const detail of [shortText, fullText]) {
    for (const { shown } of listed) showValues(shown, detail, budget);
  }
  noteLeftOut(drafts, listed, budget);
  return fits ? writeDrafts(drafts, { listed: new Set(listed), isOpen }) : "";
}

/** `1 to create, 2 to update`. */
export function listCounts(counts: readonly CountView[]): string {
  return counts.map(({ text }) => text).join(", ");
}

function makeDraft({ address, title, declaredAt, changes }: GroupView, isOpen: boolean): Draft {
  const summary: Partial<Record<Action, number>> = {};
  for (const { action } of changes) summary[action] = (summary[action] ?? 0) + 1;
  const counts = listCounts(countActions(summary));
  const byWeight = changes.toSorted(
    (one, other) => actionTable[other.action].weight - actionTable[one.action].weight,
  );
  const named = { address, ...(title === undefined ? {} : { title }) };
  const heading = `#### ${formatName(named)}: ${counts}${declaredAt === undefined ? "" : ` ${codeSpan(declaredAt, 200)}`}`;
  const line = `${title === undefined ? "" : `<b>${htmlCode(title, 100)}</b> `}${htmlCode(address)}: ${counts}${declaredAt === undefined ? "" : ` ${htmlCode(declaredAt, 200)}`}${firstValues(byWeight)}`;
  return {
    head: isOpen ? heading : line,
    item: `- ${title === undefined ? "" : `${codeSpan(title, 100)} `}${codeSpan(address)}: ${counts}`,
    changes: byWeight,
    inOrder: changes,
    shown: new Map(),
  };
}

/** The first short value, and the names of the other attributes that change, in HTML. */
function firstValues(changes: readonly ChangeView[]): string {
  const all = changes.flatMap(({ symbol, label, values }) =>
    values.map((value) => ({ value, change: `${symbol} ${label}` })),
  );
  const first = all.find(({ value }) => value.kind === "value");
  const names = new Set(all.map(({ value }) => value.name).filter((name) => name !== first?.value.name));
  const others = names.size === 0 ? "" : htmlCode([...names].join(", "), 100);
  if (first?.value.kind !== "value") return others === "" ? "" : ` · ${others}`;
  const { name, before, after } = first.value;
  const text = [...new Set([before, after])].filter((each) => each !== undefined).join(" → ");
  const shown = ` · ${htmlCode(first.change, 80)} ${htmlCode(`${name} ${text}`, 100)}`;
  return others === "" ? shown : `${shown} · also ${others}`;
}

function weightOf({ changes }: Draft): number {
  return changes[0] === undefined ? 0 : actionTable[changes[0].action].weight;
}

function showChanges({ changes, shown, head, item }: Draft, budget: MarkdownBudget): void {
  const cost = frameChars + head.length - item.length;
  if (!budget.take(cost)) return;
  for (const change of changes) {
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

function showValues(shown: Draft["shown"], detail: TextDetail, budget: MarkdownBudget): void {
  for (const [{ action, values }, item] of shown) {
    if (values.length === 0) continue;
    const inline = formatInline(values, action === "delete");
    const text = inline === undefined ? `\n${formatValues(values, detail)}` : `: ${inline}`;
    item.isCut = !budget.take(text.length - item.values.length);
    if (!item.isCut) item.values = text;
  }
}

function noteLeftOut(drafts: readonly Draft[], listed: readonly Draft[], budget: MarkdownBudget): void {
  budget.leaveOut(drafts.length - listed.length, "of the drafts");
  const missing = listed.map(({ changes, shown }) => changes.length - shown.size);
  budget.leaveOut(sum(missing), "of the changes");
  const cut = listed.map(({ shown }) => [...shown.values()].filter(({ isCut }) => isCut).length);
  budget.leaveOut(sum(cut), "with values or texts that were shortened");
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function writeDrafts(
  drafts: readonly Draft[],
  { listed, isOpen }: { readonly listed: ReadonlySet<Draft>; readonly isOpen: boolean },
): string {
  const open = drafts.filter(({ shown }) => shown.size > 0).map((draft) => writeDraft(draft, isOpen));
  const closed = drafts.filter((draft) => listed.has(draft) && draft.shown.size === 0);
  const items = [...closed.map(({ item }) => item), ...moreItems(drafts.length - listed.size)];
  if (items.length === 0) return open.join("\n\n");
  return [...open, withoutDetails, items.join("\n")].join("\n\n");
}

function writeDraft({ head, inOrder, shown }: Draft, isOpen: boolean): string {
  const items = inOrder.flatMap((change) => {
    const item = shown.get(change);
    return item === undefined ? [] : [`${item.line}${item.values}`.trimEnd()];
  });
  const more = moreItems(inOrder.length - shown.size);
  if (isOpen) return [head, "", ...items, ...more].join("\n");
  return [`<details><summary>${head}</summary>`, "", ...items, ...more, "", "</details>"].join("\n");
}
