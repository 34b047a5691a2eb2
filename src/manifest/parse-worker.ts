import type { ParsedText } from "./parse-cache.ts";
import { parseFile } from "./parse-manifest.ts";

/** A task of a worker thread: some files of a workspace. */
export interface ParseTask {
  readonly root: string;
  readonly files: readonly string[];
}

/** Parses the files of a task. The pool calls it with each task. */
export default function parseTask({ root, files }: ParseTask): readonly ParsedText[] {
  return files.map((file) => {
    const { parsed, ...read } = parseFile(root, file);
    return { ...read, json: JSON.stringify(parsed) };
  });
}
