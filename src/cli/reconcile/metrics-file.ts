import { messageOf } from "../../model/errors.ts";
import { readFormer, replaceFile } from "../../model/replace-file.ts";

/**
 * Writes a file for a textfile collector: whole or not at all, and for every user to read, since the collector is another
 * one. Replaces nothing but metrics. Returns what went wrong, if anything did.
 */
export async function writeMetricsFile(path: string, text: string): Promise<string | undefined> {
  const former = await readFormer(path);
  if (former !== "" && !/^# (HELP|TYPE) /.test(former)) {
    return `the metrics file cannot be written: ${path} is there already, and holds no metrics`;
  }
  try {
    await replaceFile(path, text, 0o644);
    return undefined;
  } catch (error) {
    return `the metrics file cannot be written: ${messageOf(error)}`;
  }
}
