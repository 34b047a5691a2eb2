import type { Action } from "../model/change.ts";
import type { ChangeView } from "./change-view.ts";
import type { TextDetail } from "./markdown-values.ts";
import { formatValues, fullText, shortText } from "./markdown-values.ts";
import type { CountView, GroupView } from "./plan-view.ts";
import { countActions } from "./plan-view.ts";
import type { Room } from "./room.ts";
import { moreItems } from "./room.ts";
import { codeSpan, htmlCode, plainWords } from "./sanitize-markdown.ts";

/** How much a reviewer wants to know of a change. */
const weights: Readonly<Record<Action, number>> = {
  in_doubt: 9,
  publish: 8,
  duplicate: 7,
  delete: 6,
  replace: 5,
  update: 4,
  create: 3,
  adopt: 2,
  forget: 1,
  noop: 0,
};

/** A draft's section while it grows. */
interface Draft {
  /** In HTML, for a section. */
  readonly summary: string;
  /** The same in Markdown, for an item of a list. */
  readonly item: string;
  /** The changes, the weightiest first. */
  readonly changes: readonly ChangeView[];
  readonly inOrder: readonly ChangeView[];
  /** What is shown of each change that is. */
  readonly shown: Map<ChangeView, Shown>;
}

interface Shown {
  readonly line: string;
  values: string;
  /** There was no room for the values as they are shown at most. */
  isCut: boolean;
}

/** What stands around the changes of a draft: tags, blank lines, and the line that tells of the others. */
const around = 80;

const withoutDetails = "Without details:";

/**
 * A collapsible section for each draft, in the order of the plan. There is a line for every draft before there is one for
 * any change, then a line for every change before any values, then short values, then long ones; the drafts with the
 * weightiest changes come first in each. A draft whose changes have no room is an item of a list at the end.
 */
export function formatDrafts(groups: readonly GroupView[], room: Room): string {
  if (groups.length === 0) return "";
  const hasRoom = room.take(2 * around);
  const drafts = groups.map(makeDraft);
  const byWeight = drafts.toSorted((one, other) => weightOf(other) - weightOf(one));
  const some = byWeight.findIndex(({ item }) => !hasRoom || !room.take(item.length + 1));
  const listed = some === -1 ? byWeight : byWeight.slice(0, some);
  for (const draft of listed) showChanges(draft, room);
  for (const detail of [shortText, fullText]) {
    for (const { shown } of listed) showValues(shown, detail, room);
  }
  noteLeftOut(drafts, listed, room);
  return hasRoom ? writeDrafts(drafts, new Set(listed)) : "";
}

/** `1 to create, 2 to update`. */
export function listCounts(counts: readonly CountView[]): string {
  return counts.map(({ text }) => text).join(", ");
}

function makeDraft({ heading, changes }: GroupView): Draft {
  const summary: Partial<Record<Action, number>> = {};
  for (const { action } of changes) summary[action] = (summary[action] ?? 0) + 1;
  const counts = listCounts(countActions(summary));
  return {
    summary: `${htmlCode(heading, 200)}: ${counts}`,
    item: `- ${codeSpan(heading, 200)}: ${counts}`,
    changes: changes.toSorted((one, other) => weights[other.action] - weights[one.action]),
    inOrder: changes,
    shown: new Map(),
  };
}

function weightOf({ changes }: Draft): number {
  return changes[0] === undefined ? 0 : weights[changes[0].action];
}

function showChanges({ changes, shown, summary, item }: Draft, room: Room): void {
  const cost = around + summary.length - item.length;
  if (!room.take(cost)) return;
  for (const change of changes) {
    const line = formatChange(change);
    if (!room.take(line.length + 1)) break;
    shown.set(change, { line, values: "", isCut: false });
  }
  if (shown.size === 0) room.take(-cost);
}

function formatChange({ symbol, label, note }: ChangeView): string {
  const name = label === "" ? "protection" : codeSpan(label, 300);
  return `- \`${symbol}\` ${name}${note === "" ? "" : ` (${plainWords(note)})`}`;
}

function showValues(shown: Draft["shown"], detail: TextDetail, room: Room): void {
  for (const [{ values }, item] of shown) {
    if (values.length === 0) continue;
    const text = formatValues(values, detail);
    item.isCut = !room.take(text.length - item.values.length);
    if (!item.isCut) item.values = text;
  }
}

function noteLeftOut(drafts: readonly Draft[], listed: readonly Draft[], room: Room): void {
  room.leaveOut(drafts.length - listed.length, "of the drafts");
  const missing = listed.map(({ changes, shown }) => changes.length - shown.size);
  room.leaveOut(sum(missing), "of the changes");
  const cut = listed.map(({ shown }) => [...shown.values()].filter(({ isCut }) => isCut).length);
  room.leaveOut(sum(cut), "with values or texts that were shortened");
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function writeDrafts(drafts: readonly Draft[], listed: ReadonlySet<Draft>): string {
  const open = drafts.filter(({ shown }) => shown.size > 0).map(writeDraft);
  const closed = drafts.filter((draft) => listed.has(draft) && draft.shown.size === 0);
  const items = [...closed.map(({ item }) => item), ...moreItems(drafts.length - listed.size)];
  if (items.length === 0) return open.join("\n\n");
  return [...open, withoutDetails, items.join("\n")].join("\n\n");
}

function writeDraft({ summary, inOrder, shown }: Draft): string {
  const items = inOrder.flatMap((change) => {
    const item = shown.get(change);
    return item === undefined ? [] : [`${item.line}\n${item.values}`.trimEnd()];
  });
  const more = moreItems(inOrder.length - shown.size);
  return [`<details><summary>${summary}</summary>`, "", ...items, ...more, "", "</details>"].join("\n");
}
