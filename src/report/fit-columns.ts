import stringWidth from "fast-string-width";
import { lazily } from "../model/lazily.ts";

const segmenter = lazily(() => new Intl.Segmenter("en", { granularity: "grapheme" }));

/** The beginning of a line that fits into so many columns; what is cut off is shown as `…`. */
export function fitColumns(line: string, columns: number): string {
  if (stringWidth(line) <= columns) return line;
  let fitting = "";
  let width = 1;
  for (const { segment } of segmenter().segment(line)) {
    width += stringWidth(segment);
    if (width > columns) break;
    fitting += segment;
  }
  return `${fitting}…`;
}
