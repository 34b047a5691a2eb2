import type { Node, Pair } from "yaml";
import { isAlias, isMap, isNode, isScalar, isSeq } from "yaml";

/** Where a node's own text is, without its anchor: offsets in UTF-16 code units, the end not included. */
interface Placed {
  readonly start: number;
  readonly end: number;
  readonly anchor?: string;
}

/** How a scalar is written. */
export type ScalarStyle = "plain" | "quoted" | "block";

/** A value that is no collection. */
export interface ScalarNode extends Placed {
  readonly kind: "scalar";
  /** By the core schema. */
  readonly value: unknown;
  /** The text that it was made from: what is between the quotes, if it has any. */
  readonly source: string;
  readonly style: ScalarStyle;
}

/** A mapping. */
export interface MapNode extends Placed {
  readonly kind: "map";
  /** Written in braces. */
  readonly isFlow: boolean;
  readonly pairs: readonly PairNode[];
}

/** A key and its value; either may be missing. */
export interface PairNode {
  readonly key: YamlNode | undefined;
  readonly value: YamlNode | undefined;
}

/** A list. */
export interface ListNode extends Placed {
  readonly kind: "list";
  /** Written in brackets. */
  readonly isFlow: boolean;
  readonly items: readonly YamlNode[];
}

/** An alias, and the anchor that it names. */
export interface AliasNode extends Placed {
  readonly kind: "alias";
  readonly name: string;
}

/** What is read of a document, and no more of it. */
export type YamlNode = ScalarNode | MapNode | ListNode | AliasNode;

/** Whether a value was left out: `key:`, `-`, or a document without content. */
export function isNothing(node: YamlNode): boolean {
  return node.kind === "scalar" && node.source === "" && node.style === "plain";
}

/** Converts the library's nodes. Depth is bounded by the parser. */
export function convertNode(node: Node): YamlNode {
  const [start, end] = node.range ?? [0, 0];
  if (isAlias(node)) return { kind: "alias", start, end, name: node.source };
  const { anchor } = node;
  const placed = anchor === undefined ? { start, end } : { start, end, anchor };
  if (isMap(node)) {
    return { kind: "map", ...placed, isFlow: node.flow === true, pairs: node.items.map(convertPair) };
  }
  if (isSeq(node)) {
    return { kind: "list", ...placed, isFlow: node.flow === true, items: node.items.map(convertItem) };
  }
  if (!isScalar(node)) throw new TypeError("a node is an alias, a collection or a scalar");
  const { value, source = "", type } = node;
  return { kind: "scalar", ...placed, value, source, style: styleOf(type) };
}

function convertPair({ key, value }: Pair): PairNode {
  return { key: convertPart(key), value: convertPart(value) };
}

function convertPart(part: unknown): YamlNode | undefined {
  return isNode(part) ? convertNode(part) : undefined;
}

function convertItem(item: unknown): YamlNode {
  if (!isNode(item)) throw new TypeError("the library composes every list item as a node");
  return convertNode(item);
}

function styleOf(type: string | undefined): ScalarStyle {
  if (type === "PLAIN") return "plain";
  return type?.startsWith("QUOTE") === true ? "quoted" : "block";
}
