import { z } from "zod";
import { durationPattern } from "../model/duration.ts";
import { joinWords, quote, quoteList } from "./source-text.ts";

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
