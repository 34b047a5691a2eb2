import type { z } from "zod";
import { ApiError, type Problem } from "./api-error.ts";
import type { Behavior } from "./behavior.ts";

/**
 * Checks a request document against its payload table.
 *
 * Members that the table does not list are violations or left out, as the behavior settings say.
 *
 * @throws ApiError 422 with every violation. A pointer names the offending value; where a value is missing it names the
 * nearest part of the document that exists, since a pointer "MUST point to a value in the request document that exists"
 * (JSON:API 1.1, error objects), and the detail names what is missing.
 */
export function checkDocument<Schema extends z.ZodType>(
  schema: Schema,
  document: unknown,
  { unknownAttributes }: Pick<Behavior, "unknownAttributes">,
): z.output<Schema> {
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const isUnknown = parsed.error.issues.some(({ code }) => code === "unrecognized_keys");
  if (isUnknown && unknownAttributes === "ignored") {
    const known = withoutUnknown(document, parsed.error.issues);
    return checkDocument(schema, known, { unknownAttributes: "refused" });
  }
  const [first, ...others] = parsed.error.issues.flatMap((issue) => problemsOf(issue, document));
  if (first === undefined) throw parsed.error;
  throw new ApiError([first, ...others]);
}

/** A copy without the members that the schema does not know. */
function withoutUnknown(document: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(document);
  for (const issue of issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const part = valueAt(copy, issue.path);
    if (typeof part === "object" && part !== null)
      for (const key of issue.keys) Reflect.deleteProperty(part, key);
  }
  return copy;
}

type Path = readonly PropertyKey[];

function problemsOf(issue: z.core.$ZodIssue, document: unknown): Problem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) =>
      violation(
        "unknown-field",
        [...issue.path, key],
        `${named([...issue.path, key])} is not accepted here.`,
      ),
    );
  }
  const value = valueAt(document, issue.path);
  const name = named(issue.path);
  if (value === undefined) {
    return [violation("required", existingPart(document, issue.path), `${name} is required.`)];
  }
  if (issue.code === "invalid_type" && issue.expected !== "int") {
    return [
      violation(
        "wrong-type",
        issue.path,
        `${name} must be ${article(issue.expected)}, not ${kindOf(value)}.`,
      ),
    ];
  }
  if (issue.code === "custom") {
    return [violation("wrong-resource-type", issue.path, `${name} ${issue.message}.`)];
  }
  if (typeof value === "number") {
    return [
      violation(
        "not-an-id",
        issue.path,
        `${name} must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`,
      ),
    ];
  }
  return [violation("wrong-value", issue.path, `${name} ${issue.message}.`)];
}

function violation(code: string, path: Path, detail: string): Problem {
  return { status: 422, code, detail, source: { pointer: pointerTo(path) } };
}

/** RFC 6901 §3. */
function pointerTo(path: Path): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The document's own notation: `data[attributes][file_id]`. */
function named(path: Path): string {
  const [first, ...others] = path.map(String);
  return first === undefined ? "The body" : first + others.map((part) => `[${part}]`).join("");
}

function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => memberOf(value, part), document);
}

function memberOf(value: unknown, part: PropertyKey): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, part)?.value;
}

function existingPart(document: unknown, path: Path): Path {
  const missing = path.findIndex((_, index) => valueAt(document, path.slice(0, index + 1)) === undefined);
  return path.slice(0, missing < 0 ? path.length : missing);
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return article(Array.isArray(value) ? "array" : typeof value);
}
