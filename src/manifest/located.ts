import type { Node, Pair, YAMLMap } from "yaml";
import { isMap, isNode, isScalar, isSeq } from "yaml";
import type { Position } from "../model/position.ts";
import { keyName, spanOf } from "./node-values.ts";
import type { SourceText, Span } from "./source-text.ts";

const fewKeys = 16;

/** The text and the aliases of a document, shared by all places in it. */
export interface LocatedDocument {
  readonly source: SourceText;
  readonly targets: ReadonlyMap<Node, Node>;
}

/**
 * A value's place in a document. It is a cursor over the parsed nodes and keeps them alive: use it while a document
 * is taken over, keep the {@link Position}s.
 */
export class Located {
  readonly #document: LocatedDocument;
  readonly #node: Node | undefined;
  #pairs: Map<string | undefined, Pair> | undefined;
  /** The stretch to show. For a value of nothing it is the key (`key:`) or the dash (`-`). */
  readonly span: Span;
  /** The key the value stands under, or the span itself for the root and for list entries. */
  readonly keySpan: Span;

  constructor(document: LocatedDocument, node: Node | undefined, key?: Node) {
    this.#document = document;
    this.#node = node;
    const shown = key ?? node;
    this.keySpan = shown === undefined ? [0, 0] : spanOf(shown);
    const nothing = node === undefined || isNothing(node);
    this.span = !nothing ? spanOf(node) : key === undefined ? before(this.keySpan) : this.keySpan;
  }

  /** Of the value: where its text starts; for an alias, of the alias. */
  get position(): Position {
    return this.#document.source.position(this.span[0]);
  }

  /** What the value was written as, when it is a scalar: the text between the quotes, if it has any. */
  get written(): { readonly text: string; readonly quoted: boolean } | undefined {
    const node = this.#target();
    if (!isScalar(node)) return undefined;
    return { text: node.source ?? "", quoted: node.type !== "PLAIN" };
  }

  /** The value under a key of a mapping or at an index (from 0) of a list, through aliases. */
  get(step: string | number): Located | undefined {
    const node = this.#target();
    if (typeof step === "number") {
      const item = isSeq(node) ? node.items[step] : undefined;
      return isNode(item) ? new Located(this.#document, item) : undefined;
    }
    const pair = isMap(node) ? this.#pair(node, step) : undefined;
    if (!isNode(pair?.key)) return undefined;
    return new Located(this.#document, isNode(pair.value) ? pair.value : undefined, pair.key);
  }

  /** The value at a path, or the nearest one above it that exists. */
  closest(path: readonly PropertyKey[]): Located {
    let place: Located = this;
    for (const step of path) {
      const next = typeof step === "symbol" ? undefined : place.get(step);
      if (next === undefined) break;
      place = next;
    }
    return place;
  }

  /** Of the mappings that manifests have, a scan is quickest; a large one gets an index. */
  #pair(map: YAMLMap, name: string): Pair | undefined {
    if (map.items.length <= fewKeys) return map.items.find(({ key }) => keyName(key) === name);
    this.#pairs ??= new Map(map.items.map((pair) => [keyName(pair.key), pair]));
    return this.#pairs.get(name);
  }

  #target(): Node | undefined {
    return this.#node && (this.#document.targets.get(this.#node) ?? this.#node);
  }
}

function before(span: Span): Span {
  return [Math.max(0, span[0] - 1), span[0]];
}

function isNothing(node: Node): boolean {
  return isScalar(node) && node.source === "" && node.type === "PLAIN";
}
