import type { ParsedFile } from "./parse-cache.ts";
import { parseFile } from "./parse-manifest.ts";

/** A task of a worker thread: some files of a workspace. */
export interface ParseTask {
  readonly root: string;
  readonly files: readonly string[];
}

/** Parses the files of a task. The pool calls it with each task. */
export default function parseTask({ root, files }: ParseTask): readonly ParsedFile[] {
  return files.map((file) => parseFile(root, file));
}
