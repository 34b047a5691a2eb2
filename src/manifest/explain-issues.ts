import { z } from "zod";
import { explainType, noDuration } from "./explain-type.ts";
import type { Located } from "./located.ts";
import { nearest } from "./nearest.ts";
import type { NodeValue } from "./node-values.ts";
import { brokenValue } from "./node-values.ts";
import { quote } from "./quote.ts";
import { SchemaLookup } from "./schema-lookup.ts";
import type { Finding } from "./source-text.ts";

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

/** Findings for all issues of a document, in words and at places of the user's text. */
export function explainIssues(misfit: Misfit): Finding[] {
  const { unknownKeys, misspelled } = explainUnknownKeys(misfit);
  const others = misfit.issues.flatMap((issue) => explain(misfit, issue, misspelled));
  const seen = new Set<string>();
  // An aliased value is judged at each of its uses, and a number can be too large in two ways: once is enough.
  return [...unknownKeys, ...others].filter((finding) => {
    const id = `${finding.code} ${finding.span[0]} ${finding.message}`;
    return !seen.has(id) && seen.add(id);
  });
}

/** By path of a mapping, the keys that its unknown keys were probably meant to be. */
type Misspelled = ReadonlyMap<string, ReadonlySet<string>>;

function explainUnknownKeys({ schema, issues, root }: Misfit) {
  const unknownKeys: Finding[] = [];
  const misspelled = new Map<string, Set<string>>();
  for (const issue of issues.flatMap((each) => relevantBranch(each))) {
    if (issue.code !== "unrecognized_keys") continue;
    const place = root.closest(issue.path);
    const known = SchemaLookup.at(schema, issue.path).keys;
    const meant = misspelled.get(pathId(issue.path)) ?? new Set();
    misspelled.set(pathId(issue.path), meant);
    for (const [index, key] of issue.keys.entries()) {
      const similar = index < suggestedKeys ? nearest(key, known) : undefined;
      if (similar !== undefined && place.get(similar) === undefined) meant.add(similar);
      unknownKeys.push({
        code: "unknown-key",
        message: `The key ${quote(key)} is not known ${issue.path.length === 0 ? "at the top of a document" : "here"}`,
        hint:
          similar === undefined ? `Allowed here: ${known.join(", ")}.` : `Did you mean ${quote(similar)}?`,
        span: place.get(key)?.keySpan ?? place.span,
      });
    }
  }
  return { unknownKeys, misspelled };
}

function explain(misfit: Misfit, outer: Issue, misspelled: Misspelled): Finding[] {
  return relevantBranch(outer).flatMap((issue): Finding[] => {
    const value = valueAt(misfit.content.value, issue.path);
    if (value.of === brokenValue || issue.code === "unrecognized_keys") return [];
    if (value.missing) return explainMissing(misfit, issue, misspelled);
    const place = misfit.root.closest(issue.path);
    const lookup = SchemaLookup.at(misfit.schema, issue.path);
    const label = labelOf(issue.path);
    switch (issue.code) {
      case "invalid_type":
      case "invalid_union":
        return [explainType({ value: value.of, place, lookup, path: issue.path, label })];
      case "too_small":
      case "too_big":
        return [{ ...explainSize(issue, value.of, label), span: place.span }];
      case "invalid_value":
        return [{ ...explainChoice(value.of, lookup, label), span: place.span }];
      case "custom":
        return explainRule(misfit, issue, misspelled);
      default:
        return [{ ...explainForm(issue, { place, lookup, label }), span: place.span }];
    }
  });
}

/** Of a union, the issues of the one alternative that has the shape of the value; the union's own otherwise. */
function relevantBranch(issue: Issue): Issue[] {
  if (issue.code !== "invalid_union") return [issue];
  const fitting = issue.errors.filter(
    (branch) => !branch.some((inner) => inner.path.length === 0 && isMismatch(inner)),
  );
  const branch = fitting.length === 1 ? fitting[0] : undefined;
  if (branch === undefined) return [issue];
  return branch.flatMap((inner) => relevantBranch({ ...inner, path: [...issue.path, ...inner.path] }));
}

function isMismatch(issue: Issue): boolean {
  return issue.code === "invalid_type" || issue.code === "invalid_value" || issue.code === "invalid_union";
}

function explainMissing(misfit: Misfit, issue: Issue, misspelled: Misspelled): Finding[] {
  const path = issue.path.slice(0, -1);
  const name = String(issue.path.at(-1));
  if (misfit.content.incomplete.has(valueAt(misfit.content.value, path).of)) return [];
  if (misspelled.get(pathId(path))?.has(name) === true) return [];
  const lookup = SchemaLookup.at(misfit.schema, issue.path);
  const about = lookup.description ?? `It must be ${lookup.expectation}.`;
  return [
    {
      code: "missing-key",
      message:
        path.length === 0 ? `${quote(name)} is missing` : `${quote(name)} is missing in ${labelOf(path)}`,
      hint: `Add ${name}: ${about}`,
      span: misfit.root.closest(path).span,
    },
  ];
}

function explainSize(issue: Issue, value: unknown, label: string) {
  if (issue.code === "too_big" && typeof value === "number") {
    return {
      code: "number-out-of-range",
      message: `${label} is ${value}, and ${issue.maximum} is the largest allowed`,
      hint: "Check the number.",
    };
  }
  if (issue.code === "too_small" && typeof value === "number") {
    return {
      code: "number-out-of-range",
      message: `${label} is ${value}, and ${issue.minimum} is the smallest allowed`,
      hint: "Check the number.",
    };
  }
  const list = Array.isArray(value);
  const large = issue.code === "too_big";
  return {
    code: large ? "too-long" : list ? "empty-list" : "empty-text",
    message: large ? `${label} is longer than ${issue.maximum}` : `${label} is empty`,
    hint: large
      ? "Make it shorter."
      : list
        ? "Add an entry, or remove the key."
        : "Write the text, or remove the key.",
  };
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

function explainRule(misfit: Misfit, issue: Issue & { code: "custom" }, misspelled: Misspelled): Finding[] {
  const params = ruleParams.safeParse(issue.params);
  const place = misfit.root.closest(issue.path);
  const message = issue.message.startsWith("{label}")
    ? issue.message.replace("{label}", labelOf(issue.path))
    : `${labelOf(issue.path)}: ${issue.message}`;
  if (!params.success)
    return [{ code: "invalid-value", message, hint: "Check the value.", span: place.span }];
  const { code, hint, key, oneOf } = params.data;
  const meant = misspelled.get(pathId(issue.path));
  const incomplete = misfit.content.incomplete.has(valueAt(misfit.content.value, issue.path).of);
  if (oneOf !== undefined && (incomplete || oneOf.some((name) => meant?.has(name)))) return [];
  const span = key === undefined ? place.span : (place.get(key)?.keySpan ?? place.span);
  return [{ code, message, hint, span }];
}

/** `"format_version"`, `entry 3 of "product_files"` or `the document`. */
function labelOf(path: readonly PropertyKey[]): string {
  const last = path.at(-1);
  if (last === undefined) return "the document";
  if (typeof last !== "number") return quote(String(last));
  return `entry ${last + 1} of ${labelOf(path.slice(0, -1))}`;
}

function valueAt(
  root: unknown,
  path: readonly PropertyKey[],
): { readonly of: unknown; readonly missing: boolean } {
  let value = root;
  for (const step of path) {
    if (value === brokenValue) return { of: brokenValue, missing: false };
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) {
      return { of: undefined, missing: true };
    }
    value = Reflect.get(value, step);
  }
  return { of: value, missing: false };
}

function pathId(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}
