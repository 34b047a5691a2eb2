import { z } from "zod";
import { durationPattern } from "../../src/model/time.ts";

/** The part of JSON Schema that zod writes for the config and the manifests. */
const schemaNode = z.object({
  type: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  pattern: z.string().optional(),
  required: z.array(z.string()).optional(),
  get items() {
    return schemaNode.optional();
  },
  get properties() {
    return z.record(z.string(), schemaNode).optional();
  },
  get additionalProperties() {
    return z.union([z.literal(false), schemaNode]).optional();
  },
  get anyOf() {
    return z.array(schemaNode).optional();
  },
});

type SchemaNode = z.output<typeof schemaNode>;

interface SourceLocation {
  readonly path: string;
  readonly node: SchemaNode;
  readonly required: boolean;
  readonly level: number;
}

/** The Markdown of every setting of a JSON Schema, in its order, each with a heading. */
export function schemaReference(schema: object, level = 2): string {
  return settingsOf(schemaNode.parse(schema), "", level).join("\n\n");
}

function settingsOf(node: SchemaNode, prefix: string, level: number): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, each]) =>
    settingOf({
      path: `${prefix}${name}`,
      node: each,
      required: node.required?.includes(name) ?? false,
      level,
    }),
  );
}

function settingOf({ path, node, required, level }: SourceLocation): string[] {
  const details = [
    typeOf(node),
    ...(required ? ["required"] : []),
    ...(isWorthShowing(node.default) ? [`default \`${yaml(node.default)}\``] : []),
  ];
  const described = (node.anyOf ?? []).filter((each) => each.description !== undefined);
  return [
    `${"#".repeat(level)} \`${path}\``,
    sentence(node.description ?? ""),
    `*${details.join("; ")}*`,
    ...(node.items?.description === undefined ? [] : [`Each: ${node.items.description}`]),
    ...(described.length === 0
      ? []
      : [described.map((each) => `- ${typeOf(each)}: ${sentence(each.description ?? "")}`).join("\n")]),
    ...childrenOf(node, path, level + 1),
  ];
}

function childrenOf(node: SchemaNode, path: string, level: number): string[] {
  const own = [node, ...(node.anyOf ?? [])].flatMap((each) => settingsOf(each, `${path}.`, level));
  const named = node.additionalProperties || undefined;
  return [
    ...own,
    ...(node.items === undefined ? [] : childrenOf(node.items, `${path}[]`, level)),
    ...(named === undefined ? [] : childrenOf(named, `${path}.NAME`, level)),
  ];
}

/** The default of a section is not shown, because it consists of those of its settings. */
function isWorthShowing(value: unknown): boolean {
  return value !== undefined && (typeof value !== "object" || Array.isArray(value));
}

function typeOf(node: SchemaNode): string {
  if (node.anyOf !== undefined) return node.anyOf.map(typeOf).join(", or ");
  if (node.const !== undefined) return `\`${yaml(node.const)}\``;
  if (node.enum !== undefined) return `one of ${node.enum.map((each) => `\`${each}\``).join(", ")}`;
  switch (node.type) {
    case "string":
      return node.pattern === durationPattern ? "duration, such as `500ms`, `30s`, `5m`, `2h`, `1d`" : "text";
    case "integer":
      return `whole number${rangeOf(node)}`;
    case "number":
      return `number${rangeOf(node)}`;
    case "boolean":
      return "`true` or `false`";
    case "array":
      return `${(node.minItems ?? 0) > 0 ? "non-empty list" : "list"}: ${typeOf(node.items ?? {})}`;
    case "object":
      return "mapping";
    case "null":
      return "`null`";
    default:
      throw new Error(`the reference cannot describe ${JSON.stringify(node)}`);
  }
}

function rangeOf({ minimum, maximum }: SchemaNode): string {
  if (minimum === undefined || maximum === undefined) return "";
  return maximum >= Number.MAX_SAFE_INTEGER ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`;
}

function yaml(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A description as a sentence of a page. */
export function sentence(text: string): string {
  if (text === "") throw new Error("the reference needs a description here");
  const shown = text.replaceAll("<", "&lt;").replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return /[.:!]$/.test(shown) ? shown : `${shown}.`;
}
