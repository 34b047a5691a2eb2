import type { z } from "zod";
import { readYaml, type YamlDocument } from "../../manifest/read-yaml.ts";
import type { SourceText } from "../../manifest/source-text.ts";
import { DiagnosticsError } from "./cli-error.ts";

/** A file of settings; `source` is for more diagnostics about it. */
interface Settings<T> extends YamlDocument<T> {
  readonly source: SourceText;
}

/**
 * Parses a YAML file of one document; `file` is for messages. `root` has the places of its values. Throws
 * {@link DiagnosticsError} with every mistake.
 */
export function parseSettings<T>(given: {
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly schema: z.ZodType<T>;
}): Settings<T> {
  const read = readYaml({ ...given, documents: "one", isLittle: true });
  if (!read.ok) throw new DiagnosticsError(read.errors);
  const [document] = read.documents;
  if (document === undefined) throw new Error("a file of one document has one");
  return { ...document, source: read.source };
}
