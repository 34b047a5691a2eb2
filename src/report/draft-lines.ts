import stringWidth from "fast-string-width";
import { type Action, actions, actionTable } from "../model/action.ts";
import type { Palette } from "./palette.ts";
import { tones } from "./palette.ts";
import type { GroupView, PlanView } from "./plan-view.ts";
import { formatCount, plural } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

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
