import type { Segment, SegmentLine } from "./word-diff.ts";

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
