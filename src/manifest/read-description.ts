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
    const [found] = control.exec(text) ?? [];
    if (found === undefined) return { text };
    const line = text.slice(0, text.indexOf(found)).split("\n").length;
    return { problem: problems.control(found, line) };
  } finally {
    closeSync(descriptor);
  }
}
