import { statSync } from "node:fs";
import { dirname } from "node:path";
import { repository } from "./source-files.ts";

/** An unprivileged user that every Unix has. */
export const NOBODY = 65_534;

/**
 * The suffix of a test's title when root runs it, the test starts the binary as another user, and that user cannot reach
 * the repository.
 */
export function skipNoteUnreachable(): string {
  const isReachable = process.getuid?.() !== 0 || isOpen(repository);
  return isReachable ? "" : " (skipped: only root can reach the folder of the repository)";
}

function isOpen(folder: string): boolean {
  if ((statSync(folder).mode & 0o001) === 0) return false;
  return dirname(folder) === folder || isOpen(dirname(folder));
}
