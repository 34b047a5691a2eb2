import { isUtf8 } from "node:buffer";
import { closeSync, fstatSync } from "node:fs";
import type { FileProblem, FileProblems } from "./file-problems.ts";
import { openRegular } from "./hash-file.ts";
import { readAll } from "./read-manifest.ts";

/** A description may have this many bytes (1 MiB). */
const maxBytes = 1024 * 1024;

const decoder = new TextDecoder();

/** What no YAML scalar can hold: control characters other than tabs and line feeds. */
const control = /(?![\t\n\x7f-\x9f])\p{Cc}/u;

/** The first and the last line of what git leaves in a file that it could not merge. */
const conflict = { start: /^<{7} /m, end: /^>{7} /m };

function lineOf(text: string, { index }: RegExpExecArray): number {
  return text.slice(0, index).split("\n").length;
}

/**
 * The text of a description file: UTF-8 without its byte order mark, with line feeds as line ends, as YAML reads a block.
 * The path must have no links left in it. Throws as {@link hashFile} does, but for a file that changes while it is read.
 */
export function readDescription(
  real: string,
  problems: FileProblems,
): { readonly text: string } | { readonly problem: FileProblem } {
  const descriptor = openRegular(real);
  try {
    const { size } = fstatSync(descriptor);
    if (size > maxBytes) return { problem: problems.tooLarge(size, maxBytes) };
    const bytes = readAll(descriptor, size);
    if (!isUtf8(bytes)) return { problem: problems.notUtf8() };
    const text = decoder.decode(bytes).replace(/\r\n?/g, "\n");
    const found = control.exec(text);
    if (found !== null) return { problem: problems.control(found[0], lineOf(text, found)) };
    const marker = conflict.end.test(text) ? conflict.start.exec(text) : null;
    return marker === null ? { text } : { problem: problems.conflict(lineOf(text, marker)) };
  } finally {
    closeSync(descriptor);
  }
}
