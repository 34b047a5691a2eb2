import type { Node, Pair } from "yaml";
import { isAlias, isMap, isNode, isScalar, isSeq } from "yaml";

/** Where a node's own text stands, without its anchor: offsets in UTF-16 code units, the end not included. */
interface Placed {
  readonly start: number;
  readonly end: number;
  readonly anchor?: string;
}

/** A value that is no collection. */
export interface ScalarNode extends Placed {
  readonly kind: "scalar";
  /** By the core schema. */
  readonly value: unknown;
  /** The text that it was made from: what stands between the quotes, if it has any. */
  readonly source: string;
  /** Neither quoted nor a block. */
  readonly isPlain: boolean;
}

/** A mapping. */
export interface MapNode extends Placed {
  readonly kind: "map";
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
  readonly items: readonly (YamlNode | undefined)[];
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
  return node.kind === "scalar" && node.source === "" && node.isPlain;
}

/** Takes over the nodes that the library has made. Depth is bounded by the parser. */
export function takeOver(node: Node): YamlNode {
  const [start, end] = node.range ?? [0, 0];
  if (isAlias(node)) return { kind: "alias", start, end, name: node.source };
  const { anchor } = node;
  const placed = anchor === undefined ? { start, end } : { start, end, anchor };
  if (isMap(node)) return { kind: "map", ...placed, pairs: node.items.map(takeOverPair) };
  if (isSeq(node)) return { kind: "list", ...placed, items: node.items.map(takeOverPart) };
  if (!isScalar(node)) throw new TypeError("a node is an alias, a collection or a scalar");
  const { value, source = "", type } = node;
  return { kind: "scalar", ...placed, value, source, isPlain: type === "PLAIN" };
}

function takeOverPair({ key, value }: Pair): PairNode {
  return { key: takeOverPart(key), value: takeOverPart(value) };
}

function takeOverPart(part: unknown): YamlNode | undefined {
  return isNode(part) ? takeOver(part) : undefined;
}
