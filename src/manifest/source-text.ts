import type { Diagnostic, ExcerptLine, Severity } from "../model/diagnostic.ts";
import type { Position, SourceLocation } from "../model/source-location.ts";
import { locationAt, packPosition } from "../model/source-location.ts";

/** A stretch of a text: offsets in UTF-16 code units, the end not included. */
export type Span = readonly [start: number, end: number];

/** Something that is wrong at a stretch of a text; {@link SourceText.diagnose} makes a {@link Diagnostic} of it. */
export interface YamlIssue {
  /** The default is `error`. */
  readonly severity?: Severity;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly address?: string;
  readonly span: Span;
  /** An earlier stretch of the same text that the message speaks of: its line is shown too, without a mark. */
  readonly related?: Span;
}

/** Each once, in the order of the text: an aliased value is checked at each of its uses, and a misspelled key may give several. */
export function distinctIssues(issues: readonly YamlIssue[]): YamlIssue[] {
  const seen = new Set<string>();
  return [...issues]
    .sort((a, b) => a.span[0] - b.span[0])
    .filter(({ code, span, message }) => {
      const id = `${code} ${span[0]} ${message}`;
      return !seen.has(id) && seen.add(id);
    });
}

const widest = 160;

/**
 * A file's text with its lines. Columns count UTF-16 code units, as editors do. A byte order mark is no part of
 * the text. The table of lines is made when it is first asked for.
 */
export class SourceText {
  readonly file: string;
  readonly text: string;
  #lineStarts: readonly number[] | undefined;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
  }

  /** Line and column of an offset. */
  position(offset: number): Position {
    const line = this.#lineAt(offset);
    return packPosition(line + 1, offset - this.#startOf(line) + 1);
  }

  /** File, line and column of an offset. */
  place(offset: number): SourceLocation {
    return locationAt(this.file, this.position(offset));
  }

  /** The issue with its place and the lines it is about. */
  diagnose(issue: YamlIssue): Diagnostic {
    const { severity = "error", code, message, hint, address, span, related } = issue;
    return {
      severity,
      code,
      message,
      ...(hint === undefined ? {} : { hint }),
      ...(address === undefined ? {} : { address }),
      place: this.place(span[0]),
      excerpt: this.excerpt(span, related),
    };
  }

  /**
   * The line of the span with the part of it on that line marked; before it the related line or, without one, the
   * line above. Long lines are cut to 160 characters around the mark, whose column counts in the text as it is
   * shown. Characters that act on a terminal are replaced one for one.
   */
  excerpt(span: Span, related?: Span): readonly ExcerptLine[] {
    const line = this.#lineAt(span[0]);
    const other = related === undefined ? line - 1 : this.#lineAt(related[0]);
    const marked = this.#markedLine(line, span);
    if (other < 0 || other === line) return [marked];
    const plain = { line: other + 1, text: shorten(this.#textOf(other), 0).text };
    return other < line ? [plain, marked] : [marked, plain];
  }

  #markedLine(line: number, span: Span): ExcerptLine {
    const text = this.#textOf(line);
    const from = span[0] - this.#startOf(line);
    const to = Math.min(span[1] - this.#startOf(line), text.length);
    const shown = shorten(text, from);
    const column = from - shown.removed + 1;
    const length = Math.max(1, Math.min(to - from, shown.text.length - column + 1));
    return { line: line + 1, text: shown.text, mark: { column, length } };
  }

  #textOf(line: number): string {
    const end = this.#starts()[line + 1] ?? this.text.length + 1;
    const text = this.text.slice(this.#startOf(line), end - 1);
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  #startOf(line: number): number {
    return this.#starts()[line] ?? 0;
  }

  /** Index of the line an offset is on. */
  #lineAt(offset: number): number {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low;
  }

  #starts(): readonly number[] {
    if (this.#lineStarts === undefined) {
      const starts = [0];
      for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1))
        starts.push(at + 1);
      this.#lineStarts = starts;
    }
    return this.#lineStarts;
  }
}

/** At most 160 characters of a line with the column `from` among them; `removed`: by how much columns move left. */
function shorten(line: string, from: number): { readonly text: string; readonly removed: number } {
  const clean = (text: string) =>
    text.replace(/\t/g, " ").replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
  if (line.length <= widest) return { text: clean(line), removed: 0 };
  const start = Math.max(0, Math.min(from - widest / 4, line.length - widest));
  const end = Math.min(line.length, start + widest);
  const text = `${start > 0 ? "…" : ""}${line.slice(start, end)}${end < line.length ? "…" : ""}`;
  return { text: clean(text), removed: start > 0 ? start - 1 : 0 };
}

/** Characters that could act on a terminal or reorder a line: controls, line separators, direction controls, BOM. */
const hidden = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const longestQuote = 60;

/**
 * A user's text between double quotes, fit for one line of a message: characters that cannot be seen are escaped
 * as `\u{202e}`, and everything after the first 60 characters is cut off.
 */
export function quote(text: string): string {
  return `"${reveal(text)}"`;
}

/** Like {@link quote}, without the quotes. */
export function reveal(text: string): string {
  const points = text.length > longestQuote ? Array.from(text.slice(0, longestQuote * 2)) : [];
  const short = points.length > longestQuote ? `${points.slice(0, longestQuote).join("")}…` : text;
  return short.replace(hidden, escapePoint);
}

/** `"a"`, `"a" or "b"`, `"a", "b" or "c"`. */
export function quoteList(words: readonly string[], joint: "and" | "or"): string {
  return joinWords(words.map(quote), joint);
}

/** `a`, `a or b`, `a, b or c`. */
export function joinWords(words: readonly string[], joint: "and" | "or"): string {
  const last = words[words.length - 1] ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} ${joint} ${last}`;
}

function escapePoint(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
