import { diffArrays } from "diff";
import { lazily } from "../model/lazily.ts";

/** A stretch of text that is in both texts, or in one of them. */
export interface Segment {
  readonly op: "same" | "added" | "removed";
  readonly text: string;
}

/** Past this many characters on both sides together, two texts are shown whole instead of being compared. */
const largest = 100_000;

/**
 * Texts that differ by more words than this are another text: they are shown whole too. The time that a comparison takes
 * grows with the square of it: a minute for two
 * descriptions of 50,000 characters with nothing in common.
 */
const maxChangedWords = 1_000;

/**
 * The locale only matters for rules that no script of its own has; it is fixed so that every machine agrees. To load the
 * rules takes as long as to plan a small workspace, where nothing may have to be compared.
 */
const segmenter = lazily(() => new Intl.Segmenter("en", { granularity: "word" }));

/**
 * Two texts compared word by word. Words are found by `Intl.Segmenter` (UAX #29), so that languages that are written
 * without spaces are compared word by word too. The segments put together give either text back.
 */
export function diffWords(before: string, after: string): readonly Segment[] {
  if (before === after) return [{ op: "same", text: after }];
  const isOneSided = before === "" || after === "";
  if (isOneSided || before.length + after.length > largest) return whole(before, after);
  const changes = diffArrays(wordsOf(before), wordsOf(after), { maxEditLength: maxChangedWords });
  if (changes === undefined) return whole(before, after);
  return changes.map(({ added, removed, value }) => ({
    op: added ? "added" : removed ? "removed" : "same",
    text: value.join(""),
  }));
}

function wordsOf(text: string): string[] {
  return Array.from(segmenter().segment(text), ({ segment }) => segment);
}

function whole(before: string, after: string): Segment[] {
  const segments: Segment[] = [
    { op: "removed", text: before },
    { op: "added", text: after },
  ];
  return segments.filter(({ text }) => text !== "");
}

/** A line of a compared text. */
export type SegmentLine = readonly Segment[];

/** Segments divided at the line feeds, which are left out. A removed line feed keeps its place in the order. */
export function splitLines(segments: readonly Segment[]): readonly SegmentLine[] {
  const lines: Segment[][] = [[]];
  for (const { op, text } of segments) {
    const [first = "", ...others] = text.split("\n");
    if (first !== "") lines.at(-1)?.push({ op, text: first });
    for (const part of others) lines.push(part === "" ? [] : [{ op, text: part }]);
  }
  return lines;
}

/** A line of a compared text, or how many lines were left out. */
export type ShownLine = SegmentLine | number;

/** The first `most` lines of a text that is new; one more is shown rather than counted. */
export function shortenNew(lines: readonly SegmentLine[], most: number): readonly ShownLine[] {
  return lines.length <= most + 1 ? lines : [...lines.slice(0, most), lines.length - most];
}

/** The lines that changed, with `context` unchanged lines around each. */
export function shortenUnchanged(lines: readonly SegmentLine[], context: number): readonly ShownLine[] {
  const near = lines.map((_line, at) =>
    lines
      .slice(Math.max(0, at - context), at + context + 1)
      .some((line) => line.some(({ op }) => op !== "same")),
  );
  const shown: ShownLine[] = [];
  for (const [at, line] of lines.entries()) {
    const last = shown.at(-1);
    if (near[at]) shown.push(line);
    else if (typeof last === "number") shown[shown.length - 1] = last + 1;
    else shown.push(1);
  }
  return shown;
}

/** When nothing but white space differs, it is made visible: line feeds as `⏎`, tabs as `⇥`, spaces as `·`. */
export function markWhitespace(segments: readonly Segment[]): readonly Segment[] {
  const changed = segments.filter(({ op }) => op !== "same");
  if (changed.length === 0 || changed.some(({ text }) => text.trim() !== "")) return segments;
  return segments.map(({ op, text }) => {
    if (op === "same") return { op, text };
    return { op, text: text.replaceAll(" ", "·").replaceAll("\t", "⇥").replaceAll("\n", "⏎\n") };
  });
}

/** A line feed at the very end, which block scalars have, would only show as an empty line. */
export function trimEnd(segments: readonly Segment[]): readonly Segment[] {
  const last = segments.at(-1);
  if (last === undefined || last.op === "removed" || !last.text.endsWith("\n")) return segments;
  return [...segments.slice(0, -1), { ...last, text: last.text.slice(0, -1) }];
}
