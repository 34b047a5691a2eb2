import { readFile } from "node:fs/promises";
import { fileHint, messageOf } from "../../model/errors.ts";
import { CliError } from "./cli-error.ts";

/** What is said when a file that the user named cannot be read. */
export interface UnreadableFile {
  /** The beginning of the sentence: "the saved plan". */
  readonly what: string;
  readonly code: string;
  readonly hint: string;
}

/** Reads a file that the user named; `path` is absolute. Throws {@link CliError} when it cannot be read. */
export async function readGiven(path: string, { what, code, hint }: UnreadableFile): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new CliError(`${what} cannot be read: ${messageOf(error)}`, {
      code,
      hint: fileHint(error, hint),
      cause: error,
    });
  }
}
