import type { ValueView } from "../change-view.ts";
import { formatCount } from "../quantities.ts";
import type { Segment } from "../word-diff.ts";
import { markWhitespace } from "../word-diff.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** Unchanged lines kept on each side of a changed one; longer stretches are folded. */
const contextLines = 2;

/** Values before and after: the short ones in one table, each text in a table of its own, side by side. */
export function formatValues(values: readonly ValueView[]): Markup {
  const short = values.flatMap((value) => (value.kind === "value" ? [value] : []));
  return html`${short.length > 0 && formatShort(short)}${values.map((value) => value.kind === "text" && formatText(value))}`;
}

/**
 * Values in the line of their change: one of any kind but a text, or several that are only before or only after. `undefined` for
 * all others, which need a table.
 */
export function formatInline(values: readonly ValueView[]): Markup | undefined {
  const short = values.flatMap((value) => (value.kind === "value" ? [value] : []));
  const isOneSided = (side: "before" | "after") => short.every((value) => value[side] === undefined);
  const fits = short.length === 1 || isOneSided("before") || isOneSided("after");
  if (short.length === 0 || short.length < values.length || !fits) return undefined;
  return html`${short.map(({ name, before, after }) =>
    before === after
      ? html` <span class="value">${name} ${after}</span>`
      : html` <span class="value">${name} ${before !== undefined && html`<del>${before}</del>`}${before !== undefined && after !== undefined && " → "}${after !== undefined && html`<ins>${after}</ins>`}</span>`,
  )}`;
}

function formatShort(values: readonly Extract<ValueView, { kind: "value" }>[]): Markup {
  const rows = values.map(({ name, before, after }) =>
    before === after
      ? html`<tr><th scope="row">${name}</th><td colspan="2">${after}</td></tr>`
      : html`<tr><th scope="row">${name}</th><td data-of="Before">${before === undefined ? none : html`<del>${before}</del>`}</td><td data-of="After">${after === undefined ? none : html`<ins>${after}</ins>`}</td></tr>`,
  );
  return html`<table class="values"><thead><tr><th scope="col">Attribute</th><th scope="col">Before</th><th scope="col">After</th></tr></thead><tbody>${rows}</tbody></table>`;
}

const none = html`<span class="none">none</span>`;

function formatText({ name, segments, isNew }: Extract<ValueView, { kind: "text" }>): Markup {
  if (isNew) {
    const text = segments.map((segment) => segment.text).join("");
    return html`<table class="text new"><thead><tr><th scope="col">${name}</th></tr></thead><tbody><tr><td><ins>${text.replace(/\n$/, "")}</ins></td></tr></tbody></table>`;
  }
  const rows = pairLines(markWhitespace(segments));
  return html`<table class="text"><caption>${name}</caption><thead><tr><th scope="col">Before</th><th scope="col">After</th></tr></thead>${fold(rows).map(formatStretch)}</table>`;
}

/** What stands side by side: a line that is in both texts, or the lines that one has in place of the other's. */
interface Row {
  readonly before: Segment[];
  readonly after: Segment[];
}

/** Two texts in rows. A line feed that both have ends a row; one that is in one of them stays within its side. */
function pairLines(segments: readonly Segment[]): readonly Row[] {
  const rows: Row[] = [{ before: [], after: [] }];
  for (const segment of segments) {
    if (segment.op === "removed") rows.at(-1)?.before.push(segment);
    else if (segment.op === "added") rows.at(-1)?.after.push(segment);
    else {
      for (const [at, text] of segment.text.split("\n").entries()) {
        if (at > 0) rows.push({ before: [], after: [] });
        if (text === "") continue;
        rows.at(-1)?.before.push({ op: "same", text });
        rows.at(-1)?.after.push({ op: "same", text });
      }
    }
  }
  const last = rows.at(-1);
  return last !== undefined && last.before.length + last.after.length === 0 ? rows.slice(0, -1) : rows;
}

/** Rows that follow each other, shown or folded. */
interface Stretch {
  readonly folded: boolean;
  readonly rows: Row[];
}

function fold(rows: readonly Row[]): readonly Stretch[] {
  const changed = rows.map(({ before, after }) => [...before, ...after].some(({ op }) => op !== "same"));
  const stretches: Stretch[] = [];
  for (const [at, row] of rows.entries()) {
    const folded = !changed.slice(Math.max(0, at - contextLines), at + contextLines + 1).includes(true);
    const last = stretches.at(-1);
    if (last?.folded === folded) last.rows.push(row);
    else stretches.push({ folded, rows: [row] });
  }
  return stretches.map((stretch) => ({ ...stretch, folded: stretch.folded && stretch.rows.length > 1 }));
}

function formatStretch({ folded, rows }: Stretch): Markup {
  if (!folded) return html`<tbody>${rows.map(formatRow)}</tbody>`;
  const text = rows.map(({ after }) => after.map((segment) => segment.text).join("")).join("\n");
  return html`<tbody><tr><td colspan="2"><details class="fold"><summary>${formatCount(rows.length)} unchanged lines</summary><div>${text}</div></details></td></tr></tbody>`;
}

function formatRow({ before, after }: Row): Markup {
  return html`<tr><td data-of="Before">${before.map(formatSegment)}</td><td data-of="After">${after.map(formatSegment)}</td></tr>`;
}

function formatSegment({ op, text }: Segment): Markup {
  if (op === "same") return html`${text}`;
  return op === "added" ? html`<ins>${text}</ins>` : html`<del>${text}</del>`;
}
