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
