import { statSync } from "node:fs";
import type { Diagnostic } from "../model/diagnostic.ts";
import { below } from "./paths.ts";

/**
 * Notes the versions of manifests before they are read. The returned function, called after the reading, reports each
 * manifest that has changed since: a part of it may have been missing, and what is missing would be deleted.
 */
export function noteVersions(root: string, files: readonly string[]): () => Diagnostic[] {
  const before = files.map((file) => versionOf(root, file));
  return () => files.filter((file, index) => versionOf(root, file) !== before[index]).map(changed);
}

/** Differs between two versions of a file; empty when the file cannot be found, which its reading reports. */
function versionOf(root: string, file: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(below(root, file));
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return "";
  }
}

function changed(file: string): Diagnostic {
  return {
    severity: "error",
    code: "manifest-changed",
    message: "The file changed while the manifests were read",
    hint: "Run again when nothing writes to it.",
    place: { file, line: 1, column: 1 },
  };
}
