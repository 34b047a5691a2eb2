import { z } from "zod";
import { type NonEmpty, nonEmpty } from "../model/lists.ts";
import { explainType, noDuration, SchemaLookup } from "./explain-type.ts";
import type { Located } from "./located.ts";
import { nearest } from "./nearest.ts";
import type { NodeValue } from "./node-values.ts";
import { quote, type YamlIssue } from "./source-text.ts";

type Issue = z.core.$ZodIssue;

/** So many unknown keys of one mapping get a suggestion; with more, something else is wrong. */
const suggestedKeys = 50;

/**
 * What a schema's own rule may say beside its message: `z.string().refine(test, { error: "…", params })`.
 * `key`: the finding is about this key of the mapping. `oneOf`: one of these keys is missing; the finding is left
 * out when the mapping has a misspelled one of them.
 */
export const ruleParams = z.object({
  code: z.string(),
  hint: z.string(),
  key: z.string().optional(),
  oneOf: z.array(z.string()).readonly().optional(),
});

/** A document that did not fit its schema. */
export interface Misfit {
  readonly schema: z.ZodType;
  readonly issues: readonly Issue[];
  readonly content: NodeValue;
  readonly root: Located;
}

/**
 * Findings for all issues of a document, in words and at places of the user's text. No issue is passed over: one about
 * a value that could not be read, or a key that was misspelled, gives the finding about that.
 */
export function explainIssues(misfit: Misfit): YamlIssue[] {
  const issues = withoutUnions(misfit.issues);
  const unknownKeys = issues.flatMap((issue) => explainUnknownKeys(misfit, issue));
  const misspelled = new Map(
    unknownKeys.flatMap(({ meant, finding }) => (meant === undefined ? [] : [[meant, finding] as const])),
  );
  const others = issues.filter(({ code }) => code !== "unrecognized_keys");
  return [
    ...unknownKeys.map(({ finding }) => finding),
    ...others.map((issue) => explain(misfit, issue, misspelled)),
  ];
}

/** The issues with those of unions replaced by the issues of the alternative that was meant, where that is clear. */
export function withoutUnions(issues: readonly Issue[]): readonly Issue[] {
  return issues.flatMap((issue) => relevantBranch(issue));
}

/** The finding about each unknown key, by the path ({@link pathId}) of the key that was probably meant. */
type Misspelled = ReadonlyMap<string, YamlIssue>;

interface UnknownKey {
  readonly meant?: string;
  readonly finding: YamlIssue;
}

function explainUnknownKeys({ schema, root }: Misfit, issue: Issue): UnknownKey[] {
  if (issue.code !== "unrecognized_keys") return [];
  const place = root.closest(issue.path);
  const known = SchemaLookup.at(schema, issue.path).keys;
  return issue.keys.map((key, index) => {
    const similar = index < suggestedKeys ? nearest(key, known) : undefined;
    const finding = {
      code: "unknown-key",
      message: `The key ${quote(key)} is not known ${issue.path.length === 0 ? "at the top of a document" : "here"}`,
      hint: similar === undefined ? `Allowed here: ${known.join(", ")}.` : `Did you mean ${quote(similar)}?`,
      span: place.get(key)?.keySpan ?? place.span,
    };
    const isMeant = similar !== undefined && place.get(similar) === undefined;
    return { finding, ...(isMeant ? { meant: pathId([...issue.path, similar]) } : {}) };
  });
}

function explain(misfit: Misfit, issue: Issue, misspelled: Misspelled): YamlIssue {
  const value = valueAt(misfit.content, issue.path);
  if (value.unreadable !== undefined) return value.unreadable;
  if (value.missing) return explainMissing(misfit, issue, misspelled);
  const place = misfit.root.closest(issue.path);
  const lookup = SchemaLookup.at(misfit.schema, issue.path);
  const label = labelOf(issue.path);
  switch (issue.code) {
    case "invalid_type":
    case "invalid_union":
      return explainType({ value: value.of, place, lookup, path: issue.path, label });
    case "too_small":
    case "too_big":
      return { ...explainSize(issue, value.of, label), span: place.span };
    case "invalid_value":
      return { ...explainChoice(value.of, lookup, label), span: place.span };
    case "custom":
      return explainRule(misfit, issue, misspelled);
    default:
      return { ...explainForm(issue, { place, lookup, label }), span: place.span };
  }
}

/** Of a union, the issues of the one alternative that has the shape of the value; the union's own otherwise. */
function relevantBranch(issue: Issue): NonEmpty<Issue> {
  if (issue.code !== "invalid_union") return [issue];
  const fitting = issue.errors.filter(
    (branch) => !branch.some((inner) => inner.path.length === 0 && isMismatch(inner)),
  );
  const branch = fitting.length === 1 ? (fitting[0] ?? []) : [];
  const inner = branch.flatMap((each) => relevantBranch({ ...each, path: [...issue.path, ...each.path] }));
  return nonEmpty(inner) ?? [issue];
}

function isMismatch(issue: Issue): boolean {
  return issue.code === "invalid_type" || issue.code === "invalid_value" || issue.code === "invalid_union";
}

function explainMissing(misfit: Misfit, issue: Issue, misspelled: Misspelled): YamlIssue {
  const path = issue.path.slice(0, -1);
  const name = String(issue.path.at(-1));
  const known =
    misfit.content.incomplete.get(valueAt(misfit.content, path).of) ?? misspelled.get(pathId(issue.path));
  if (known !== undefined) return known;
  const lookup = SchemaLookup.at(misfit.schema, issue.path);
  const about = lookup.description ?? `It must be ${lookup.expectation}.`;
  return {
    code: "missing-key",
    message:
      path.length === 0 ? `${quote(name)} is missing` : `${quote(name)} is missing in ${labelOf(path)}`,
    hint: `Add ${name}: ${about}`,
    span: misfit.root.closest(path).span,
  };
}

function explainSize(
  issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall,
  value: unknown,
  label: string,
) {
  if (typeof value === "number") {
    const bound =
      issue.code === "too_big" ? `${issue.maximum} is the largest` : `${issue.minimum} is the smallest`;
    return {
      code: "number-out-of-range",
      message: `${label} is ${value}, and ${bound} allowed`,
      hint: "Check the number.",
    };
  }
  const message = `${label} is empty`;
  return Array.isArray(value)
    ? { code: "empty-list", message, hint: "Add an entry, or remove the key." }
    : { code: "empty-text", message, hint: "Write the text, or remove the key." };
}

interface Misplaced {
  readonly place: Located;
  readonly lookup: SchemaLookup;
  readonly label: string;
}

function explainForm(issue: Issue, { place, lookup, label }: Misplaced) {
  if (issue.code === "invalid_format" && lookup.isDuration) {
    return noDuration({ place, path: issue.path, label });
  }
  return {
    code: "invalid-value",
    message: `${label}: ${issue.message}`,
    hint: lookup.description ?? `It must be ${lookup.expectation}.`,
  };
}

function explainChoice(value: unknown, lookup: SchemaLookup, label: string) {
  const similar = typeof value === "string" ? nearest(value, lookup.words) : undefined;
  return {
    code: "unknown-value",
    message: `${label} must be ${lookup.expectation}`,
    hint: similar === undefined ? "Write one of these." : `Did you mean ${quote(similar)}?`,
  };
}

function explainRule(misfit: Misfit, issue: Issue & { code: "custom" }, misspelled: Misspelled): YamlIssue {
  const params = ruleParams.safeParse(issue.params);
  const place = misfit.root.closest(issue.path);
  const message = issue.message.startsWith("{label}")
    ? issue.message.replace("{label}", labelOf(issue.path))
    : `${labelOf(issue.path)}: ${issue.message}`;
  if (!params.success) return { code: "invalid-value", message, hint: "Check the value.", span: place.span };
  const { code, hint, key, oneOf = [] } = params.data;
  // An unreadable or misspelled key is probably the one that is missing.
  const incomplete =
    oneOf.length > 0 ? misfit.content.incomplete.get(valueAt(misfit.content, issue.path).of) : undefined;
  const meant = oneOf.map((name) => misspelled.get(pathId([...issue.path, name])));
  const known = incomplete ?? meant.find((finding) => finding !== undefined);
  const span = key === undefined ? place.span : (place.get(key)?.keySpan ?? place.span);
  return known ?? { code, message, hint, span };
}

/** `"format_version"`, `entry 3 of "product_files"` or `the document`. */
function labelOf(path: readonly PropertyKey[]): string {
  const last = path.at(-1);
  if (last === undefined) return "the document";
  if (typeof last !== "number") return quote(String(last));
  return `entry ${last + 1} of ${labelOf(path.slice(0, -1))}`;
}

interface ValueAtPath {
  readonly of: unknown;
  readonly missing: boolean;
  /** Why it, or what holds it, could not be read. */
  readonly unreadable?: YamlIssue;
}

function valueAt({ value: root, unreadable }: NodeValue, path: readonly PropertyKey[]): ValueAtPath {
  let value = root;
  for (const step of path) {
    const finding = unreadable.get(value);
    if (finding !== undefined) return { of: value, missing: false, unreadable: finding };
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) {
      return { of: undefined, missing: true };
    }
    value = Reflect.get(value, step);
  }
  const finding = unreadable.get(value);
  return { of: value, missing: false, ...(finding === undefined ? {} : { unreadable: finding }) };
}

/** A path as one text, to compare. */
export function pathId(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}
