import { z } from "zod";
import { messageOf } from "../model/errors.ts";

/** A kind of JSON document that carries its version. */
interface DocumentKind {
  readonly version: number;
  /** For messages: "an export of a ledger". */
  readonly title: string;
  /** What to do with a document of a different version. */
  readonly otherVersion: string;
  readonly invalid: (message: string, hint?: string) => Error;
}

const versionedSchema = z.looseObject({ format_version: z.int() });

/** The members of a JSON document but its version. Throws `kind.invalid`; `name` is how messages call the text. */
export function parseDocument(text: string, name: string, kind: DocumentKind): Record<string, unknown> {
  const found = versionedSchema.safeParse(parseJson(text, name, kind));
  if (!found.success) throw kind.invalid(`${name} is not ${kind.title}.`);
  const { format_version: version, ...members } = found.data;
  if (version === kind.version) return members;
  throw kind.invalid(
    `${name} has format version ${version}; this draftsync reads version ${kind.version}.`,
    kind.otherVersion,
  );
}

/** Where a document of the right version is damaged; `rename` gives a member the name that the document has for it. */
export function describeDamage(
  name: string,
  { issues: [issue] }: z.ZodError,
  rename: (member: string) => string = (member) => member,
): string {
  const path = issue?.path.map((step) => rename(String(step))).join(".");
  return `${name} is damaged at ${path}: ${issue?.message}.`;
}

function parseJson(text: string, name: string, { invalid }: DocumentKind): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${name} is not JSON (${messageOf(error)}).`);
  }
}
