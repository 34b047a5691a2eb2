import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf } from "../../model/errors.ts";
import { readIfThere, replaceFile } from "../../model/replace-file.ts";
import { CliError } from "../runtime/cli-error.ts";

/** The content of a file that `init` writes. */
export type FileContent = string | Uint8Array;

/**
 * Writes files below a folder, all of them or none: when one cannot be written, those before it stay unchanged, and
 * folders that were made for them are gone. Returns a function that undoes it. Throws {@link CliError} `not-written`.
 */
export async function writeAll(
  root: string,
  files: Readonly<Record<string, FileContent>>,
): Promise<() => Promise<void>> {
  const steps: (() => Promise<void>)[] = [];
  const undo = async () => {
    for (const step of steps) await step().catch(() => {});
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name);
    try {
      const before = await readIfThere(path);
      const made = await mkdir(dirname(path), { recursive: true });
      if (made !== undefined) steps.unshift(() => rm(made, { recursive: true, force: true }));
      steps.unshift(() => (before === undefined ? rm(path, { force: true }) : replaceFile(path, before)));
      await replaceFile(path, text);
    } catch (error) {
      // The original error is enough: it says which file could not be written.
      await undo();
      throw new CliError(`${path} cannot be written: ${messageOf(error)}`, {
        code: "not-written",
        hint: "Choose a writable folder.",
        cause: error,
      });
    }
  }
  return undo;
}
