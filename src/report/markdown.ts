import type { ValueView } from "./change-view.ts";
import { formatCount, plural } from "./quantities.ts";
import { codeSpan, headOf, htmlText, tailOf } from "./sanitize-markdown.ts";
import type { SegmentLine, ShownLine } from "./word-diff.ts";
import { markWhitespace, shortenNew, shortenUnchanged, splitLines, trimEnd } from "./word-diff.ts";

/** The default size. GitHub allows 65,536 characters in a comment; the rest is for a bot that adds a line of its own. */
export const markdownChars = 65_000;

/** The smallest size that has space for the head, the foot and some changes. */
export const minMarkdownChars = 4_000;

/** The characters (UTF-16 units) available for a text, and what was left out of it. */
export class MarkdownBudget {
  #free: number;
  readonly #leftOut: string[];

  constructor(free: number, leftOut: string[] = []) {
    this.#free = free;
    this.#leftOut = leftOut;
  }

  /** What was left out, in order: `12 of the drafts`. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  /** Takes `count` characters if that many are free; a negative count returns them. */
  take(count: number): boolean {
    if (count > this.#free) return false;
    this.#free -= count;
    return true;
  }

  /** Calls `fill` with a share (0 to 1) of the free characters; what it does not take stays free. */
  share<Result>(share: number, fill: (budget: MarkdownBudget) => Result): Result {
    const given = Math.max(0, Math.floor(this.#free * share));
    const budget = new MarkdownBudget(given, this.#leftOut);
    const result = fill(budget);
    this.#free -= given - budget.#free;
    return result;
  }

  /** The first lines that fit. */
  fit(lines: readonly string[]): readonly string[] {
    const at = lines.findIndex((line) => !this.take(line.length + 1));
    return at === -1 ? lines : lines.slice(0, at);
  }

  /** Notes that `count` items are left out. */
  leaveOut(count: number, what: string): void {
    if (count > 0) this.#leftOut.push(`${formatCount(count)} ${what}`);
  }
}

/** The last item of a list that leaves out `count` items. */
export function moreItems(count: number): string[] {
  return count === 0 ? [] : [`- … and ${formatCount(count)} more`];
}

/** The paragraph that lists what was left out, and the command that shows it. */
export function formatLeftOut(leftOut: readonly string[], maxChars: number, command: string): string {
  if (leftOut.length === 0) return "";
  return `**Left out** to stay within ${formatCount(maxChars)} characters: ${leftOut.join(", ")}. To see all: ${command}.`;
}

/** How much of a text is shown. */
export interface TextDetail {
  /** Unchanged lines around a changed one. */
  readonly context: number;
  /** Of an unchanged stretch in a changed line, on either side of a change; characters. */
  readonly stretch: number;
  /** Of a stretch that was added or removed, characters. */
  readonly longest: number;
  /** Of a text that is new, lines. */
  readonly newLines: number;
  /** Of any text, lines. */
  readonly lines: number;
}

/** As much as helps a reader. */
export const fullText: TextDetail = { context: 2, stretch: 120, longest: 2_000, newLines: 12, lines: 80 };
/** As little as still says what changed. */
export const shortText: TextDetail = { context: 0, stretch: 20, longest: 120, newLines: 2, lines: 6 };

/** Longer values are cut: a comment has no room for more. */
const maxValueLength = 120;

/** The title of a draft, and an address below it. */
export function formatName({
  address,
  title,
}: {
  readonly address: string;
  readonly title?: string | undefined;
}): string {
  return title === undefined ? codeSpan(address) : `**${codeSpan(title, 100)}** ${codeSpan(address)}`;
}

/** Short values in one line, after the change that they belong to; `undefined` if one of them is a text. */
export function formatInline(values: readonly ValueView[], isDeleted: boolean): string | undefined {
  const items: string[] = [];
  for (const value of values) {
    if (value.kind === "text") return undefined;
    const { name, before = "" } = value;
    items.push(isDeleted ? `${codeSpan(name)} ${codeSpan(before, maxValueLength)}` : formatShortValue(value));
  }
  return items.join(", ");
}

/** The values of a change as items of a list below it, which is indented by two; each ends with a line feed. */
export function formatValues(values: readonly ValueView[], detail: TextDetail): string {
  const made = values.filter((value) => value.kind === "value" && value.before === undefined);
  const inLine = made.map(formatShortValue).join(", ");
  const rest = values
    .filter((value) => !made.includes(value))
    .map((value) => (value.kind === "text" ? formatText(value, detail) : formatShortValue(value)));
  return [...(inLine === "" ? [] : [inLine]), ...rest].map((item) => `  - ${item}\n`).join("");
}

/** A value in one line; of a text, that it changed. */
export function formatShortValue(value: ValueView): string {
  const name = codeSpan(value.name);
  if (value.kind === "text") return `${name} was changed`;
  const { before, after } = value;
  const shownAfter = after === undefined ? "" : ` ${codeSpan(after, maxValueLength)}`;
  return before === undefined || before === after
    ? `${name}${shownAfter}`
    : `${name} ${codeSpan(before, maxValueLength)} →${shownAfter === "" ? " nothing" : shownAfter}`;
}

/**
 * A text in an HTML block of one line, where no Markdown is read. Each of its lines is in a `code` of its own, which GitHub
 * and GitLab both wrap, and in which they make no mention, link or reference; what was added and removed is in `ins` and
 * `del`, which they underline and strike through whatever the colours of the page.
 */
function formatText({ name, segments, isNew }: ValueView & { kind: "text" }, detail: TextDetail): string {
  const lines = splitLines(trimEnd(markWhitespace(segments)));
  const shown = isNew ? shortenNew(lines, detail.newLines) : shortenUnchanged(lines, detail.context);
  const left = Math.max(0, shown.length - detail.lines);
  const items = shown.slice(0, detail.lines).map((line) => formatLine(line, isNew, detail));
  if (left > 0) items.push(`<i>… ${plural(left, "line")} more</i>`);
  return `${codeSpan(name)}\n    <blockquote>${items.join("<br>")}</blockquote>`;
}

function formatLine(line: ShownLine, isNew: boolean, detail: TextDetail): string {
  if (typeof line === "number") return `<i>… ${plural(line, "line")} ${isNew ? "more" : "unchanged"}</i>`;
  const isCompared = !isNew && line.some(({ op }) => op !== "same");
  const html = line.map(({ op, text }, at) => {
    if (!isCompared) return cutLong(text, detail);
    if (op === "same") return cutMiddle(text, { line, at, detail });
    const tag = op === "added" ? "ins" : "del";
    return `<${tag}>${cutLong(text, detail)}</${tag}>`;
  });
  return html.length === 0 ? "" : `<code>${html.join("")}</code>`;
}

function cutLong(text: string, { longest }: TextDetail): string {
  if (text.length <= longest) return htmlText(text);
  const head = headOf(text, longest);
  return `${htmlText(head)}<i>… ${formatCount(text.length - head.length)} more characters</i>`;
}

interface Stretch {
  readonly line: SegmentLine;
  readonly at: number;
  readonly detail: TextDetail;
}

/** An unchanged stretch keeps what is next to a change. */
function cutMiddle(text: string, { line, at, detail }: Stretch): string {
  const { stretch } = detail;
  const [isFirst, isLast] = [at === 0, at === line.length - 1];
  const kept = (isFirst ? 0 : stretch) + (isLast ? 0 : stretch);
  if (text.length <= kept + 20) return htmlText(text);
  const head = isFirst ? "" : htmlText(headOf(text, stretch));
  const tail = isLast ? "" : htmlText(tailOf(text, stretch));
  return `${head} <i>…</i> ${tail}`;
}
