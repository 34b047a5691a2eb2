import { z } from "zod";
import { durationAdvice, durationPattern } from "../model/time.ts";
import type { Located } from "./located.ts";
import { nearest } from "./nearest.ts";
import { joinWords, quote, quoteList, reveal, type YamlIssue } from "./source-text.ts";

/** A value of a kind that its place does not allow. */
export interface WrongType {
  readonly value: unknown;
  readonly place: Located;
  readonly lookup: SchemaLookup;
  readonly path: readonly PropertyKey[];
  readonly label: string;
}

type DescribeIssue = Omit<YamlIssue, "span">;

/** Says what a value is, what it should be, and how to write it. */
export function explainType(wrong: WrongType): YamlIssue {
  const { value, lookup } = wrong;
  const wording =
    (value === null ? nothing(wrong) : undefined) ??
    (lookup.allows("integer") || lookup.allows("number") ? notANumber(wrong) : undefined) ??
    (lookup.allows("boolean") ? notABoolean(wrong) : undefined) ??
    (lookup.allows("string") && lookup.words.length === 0 ? notText(wrong) : undefined) ??
    otherwise(wrong);
  return { ...wording, span: wrong.place.span };
}

function nothing(wrong: WrongType): DescribeIssue {
  const { lookup, label } = wrong;
  const written = wrong.place.written?.text ?? "";
  const message = written === "" ? `${label} has no value` : `${label} is ${written}, which is no value`;
  return { code: "null-value", message, hint: nothingHint(wrong, lookup) };
}

function nothingHint(wrong: WrongType, lookup: SchemaLookup): string {
  if (typeof wrong.path.at(-1) !== "string") return "Remove it, or write a value.";
  if (lookup.allows("string") && lookup.words.length === 0) {
    return `To clear the text write ${line(wrong, '""')}; to leave it alone, remove the line.`;
  }
  if (lookup.allows("array")) return `For an empty list write ${line(wrong, "[]")}, or remove the line.`;
  return `Write ${lookup.expectation}; a key that is not needed is left out.`;
}

function notANumber(wrong: WrongType): DescribeIssue | undefined {
  const { value, label, place } = wrong;
  const written = place.written;
  if (written === undefined) return undefined;
  const text = reveal(written.text);
  if (typeof value === "symbol" && /^[1-9][0-9]*$/.test(written.text)) {
    return {
      code: "number-out-of-range",
      message: `${label} is ${text}, which is beyond 2^53 - 1 (9007199254740991), the largest whole number that is exact`,
      hint: "Check the number.",
    };
  }
  if (typeof value === "symbol" || typeof value === "number") return oddNumber(wrong, text);
  if (typeof value !== "string") return undefined;
  if (written.quoted && /^[0-9]+$/.test(value)) {
    return {
      code: "quoted-number",
      message: `${label} must be a number, and in quotes ${text} is text`,
      hint: `Remove the quotes: ${line(wrong, text.replace(/^0+(?=\d)/, ""))}`,
    };
  }
  return !written.quoted && /^[-+]?[0-9][0-9a-z_,.:]*$/i.test(value) ? oddNumber(wrong, text) : undefined;
}

function oddNumber({ label }: WrongType, text: string): DescribeIssue {
  return {
    code: "ambiguous-number",
    message: `${label} must be a whole number in plain decimal digits, and ${text} is not`,
    hint: "Write digits only: no sign, leading zero, point, exponent, prefix or separators.",
  };
}

function notABoolean(wrong: WrongType): DescribeIssue | undefined {
  const { value, label, place } = wrong;
  const text = place.written?.text ?? "";
  const yes = /^(?:y|yes|on|true|1)$/i.test(text);
  if (typeof value === "boolean" || (!yes && !/^(?:n|no|off|false|0)$/i.test(text))) return undefined;
  const quoted = place.written?.quoted === true && /^(?:true|false)$/i.test(text);
  return {
    code: "not-a-boolean",
    message: quoted
      ? `${label} must be true or false, and in quotes ${text} is text`
      : `${label} must be true or false; in YAML 1.2 ${text} is neither`,
    hint: `Write ${line(wrong, String(yes))}`,
  };
}

function notText(wrong: WrongType): DescribeIssue | undefined {
  const { value, label, place, lookup } = wrong;
  const text = reveal(place.written?.text ?? "");
  if (lookup.isDuration && (typeof value === "number" || typeof value === "symbol")) return noDuration(wrong);
  const kind = typeof value === "boolean" ? "as true or false" : "as a number";
  if (typeof value !== "boolean" && typeof value !== "number" && typeof value !== "symbol") return undefined;
  return {
    code: "unquoted-text",
    message: `${label} must be text, and YAML reads ${text} ${kind}`,
    hint: `Put it in quotes: ${line(wrong, quote(place.written?.text ?? ""))}`,
  };
}

/** Says how a duration is written, of a number or a text that is none. */
export function noDuration(wrong: Pick<WrongType, "place" | "path" | "label">): DescribeIssue {
  const text = reveal(wrong.place.written?.text ?? "");
  return {
    code: "not-a-duration",
    message: `${wrong.label} must be a duration, and ${text} is none`,
    hint: `Write ${line(wrong, durationAdvice(text))}`,
  };
}

function otherwise(wrong: WrongType): DescribeIssue {
  const { value, lookup, label } = wrong;
  const meant = typeof value === "string" ? nearest(value, lookup.words) : undefined;
  const listWanted = lookup.allows("array") && typeof value === "object";
  return {
    code: "wrong-type",
    message: `${label} must be ${lookup.expectation}, and this is ${kindOf(value, wrong.place)}`,
    hint:
      meant !== undefined
        ? `Did you mean ${quote(meant)}?`
        : listWanted
          ? 'Start each entry with "- ".'
          : (lookup.description ?? `Write ${lookup.expectation}.`),
  };
}

function kindOf(value: unknown, place: Located): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  const text = place.written?.text ?? "";
  return typeof value === "string" ? `the text ${quote(text)}` : reveal(text);
}

/** `key: value` or `- value`, as in the file. */
function line({ path }: Pick<WrongType, "path">, value: string): string {
  const last = path.at(-1);
  return typeof last === "string" ? `${last}: ${value}` : `- ${value}`;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

const made = new WeakMap<z.ZodType, JsonSchema>();

/**
 * What a schema allows at a place. It reads the JSON Schema of a zod schema, which is public and stable, and is
 * asked only when something is wrong.
 */
export class SchemaLookup {
  readonly #schemas: readonly JsonSchema[];

  private constructor(schemas: readonly JsonSchema[]) {
    this.#schemas = schemas;
  }

  static at(schema: z.ZodType, path: readonly PropertyKey[]): SchemaLookup {
    let level = alternatives(jsonSchemaOf(schema));
    for (const step of path) level = level.flatMap((each) => below(each, step)).flatMap(alternatives);
    return new SchemaLookup(level);
  }

  /** Whether one of the alternatives is of a JSON type. */
  allows(type: string): boolean {
    return this.#schemas.some((schema) => schema.type === type);
  }

  /** Whether a duration stands here. */
  get isDuration(): boolean {
    return this.#schemas.some((schema) => schema.pattern === durationPattern);
  }

  /** Names of the keys a mapping may have here. */
  get keys(): readonly string[] {
    return [...new Set(this.#schemas.flatMap((schema) => Object.keys(schema.properties ?? {})))];
  }

  /** The words a text may be, when it is one of a few. */
  get words(): readonly string[] {
    return this.#schemas.flatMap(wordsOf);
  }

  /** The first sentence that describes what stands here. */
  get description(): string | undefined {
    return this.#schemas.find((schema) => schema.description !== undefined)?.description;
  }

  /** What may stand here, in words: `true, false or a mapping with "revision"`. */
  get expectation(): string {
    return joinWords([...new Set(this.#schemas.flatMap(inWords))], "or") || "something else";
  }
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any", target: "draft-7" });
  made.set(schema, json);
  return json;
}

function alternatives(schema: JsonSchema): JsonSchema[] {
  const parts = schema.anyOf ?? (schema.type === undefined ? schema.oneOf : undefined);
  if (parts === undefined) return [schema];
  return parts.flatMap((part) => (typeof part === "boolean" ? [] : alternatives(part)));
}

function below(schema: JsonSchema, step: PropertyKey): JsonSchema[] {
  const child = typeof step === "string" ? propertyOf(schema, step) : schema.items;
  const children = Array.isArray(child) ? child : [child];
  return children.filter((each) => typeof each === "object");
}

function propertyOf(schema: JsonSchema, name: string) {
  const properties = schema.properties ?? {};
  return Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
}

function wordsOf(schema: JsonSchema): string[] {
  return choicesOf(schema).filter((choice) => typeof choice === "string");
}

function choicesOf(schema: JsonSchema): readonly unknown[] {
  return schema.const === undefined ? (schema.enum ?? []) : [schema.const];
}

function inWords(schema: JsonSchema): string | string[] {
  const choices = choicesOf(schema);
  if (choices.length > 0)
    return choices.map((choice) => (typeof choice === "string" ? quote(choice) : `${choice}`));
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
      return "a whole number";
    case "number":
      return "a number";
    case "boolean":
      return ["true", "false"];
    case "array":
      return "a list";
    case "object":
      return schema.required === undefined || schema.required.length === 0
        ? "a mapping"
        : `a mapping with ${quoteList(schema.required, "and")}`;
    default:
      return "a value";
  }
}
