import stringWidth from "fast-string-width";

/**
 * Breaks the lines of a text that are longer than the terminal between words, so that no path is cut in two. What follows is
 * indented below its line. Colors take no room. A word that is longer than a line stays whole.
 */
export function wrapText(text: string, columns: number | undefined): string {
  if (columns === undefined || columns < minColumns) return text;
  return text
    .split("\n")
    .map((line) => (stringWidth(line) > columns ? wrapLine(line, columns) : line))
    .join("\n");
}

/** Narrower terminals wrap as they do. */
const minColumns = 40;

function wrapLine(line: string, columns: number): string {
  const indent = `${/^ */.exec(line)?.[0] ?? ""}  `;
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(/(?<=\S )(?=\S)/)) {
    const isFull = current.trim() !== "" && stringWidth(current) + stringWidth(word.trimEnd()) > columns;
    if (isFull) lines.push(current.trimEnd());
    current = isFull ? `${indent}${word}` : `${current}${word}`;
  }
  return [...lines, current].join("\n");
}
