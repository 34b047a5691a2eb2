import type { z } from "zod";
import { readYaml } from "../manifest/read-yaml.ts";
import { hasErrors } from "../model/diagnostic.ts";
import { DiagnosticsError } from "./cli-error.ts";

/** Parses a YAML file of one document; `file` is for messages. Throws {@link DiagnosticsError} with every mistake. */
export function parseSettings<T>(given: {
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly schema: z.ZodType<T>;
}): T {
  const { documents, diagnostics } = readYaml({ ...given, documents: "one", isLittle: true });
  const [document] = documents;
  if (document === undefined || hasErrors(diagnostics)) throw new DiagnosticsError(diagnostics);
  return document.value;
}
