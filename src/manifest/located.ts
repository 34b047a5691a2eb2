import { isMap, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap } from "yaml";
import type { Position } from "../model/source-location.ts";
import { keyName, spanOf } from "./node-values.ts";
import { isNothing } from "./parse-yaml.ts";
import type { SourceText, Span } from "./source-text.ts";

const fewKeys = 16;

type ParsedPair = Pair<ParsedNode, ParsedNode | null>;

/** The text and the aliases of a document, shared by all places in it. */
export interface LocatedDocument {
  readonly source: SourceText;
  readonly targets: ReadonlyMap<ParsedNode, ParsedNode>;
}

/**
 * A value's place in a document. It is a cursor over the parsed nodes and keeps them alive: use it while a document
 * is taken over, keep the {@link Position}s.
 */
export class Located {
  readonly #document: LocatedDocument;
  readonly #node: ParsedNode | undefined;
  #pairs: Map<string | undefined, ParsedPair> | undefined;
  /** The stretch to show. For a value of nothing it is the key (`key:`) or the dash (`-`). */
  readonly span: Span;
  /** The key the value stands under, or the span itself for the root and for list entries. */
  readonly keySpan: Span;

  constructor(document: LocatedDocument, node: ParsedNode | undefined, key?: ParsedNode) {
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
    return isScalar(node) ? { text: node.source, quoted: node.type !== "PLAIN" } : undefined;
  }

  /** The value under a key of a mapping or at an index (from 0) of a list, through aliases. */
  get(step: string | number): Located | undefined {
    const node = this.#target();
    if (typeof step === "number") {
      const item = isSeq(node) ? node.items[step] : undefined;
      return item === undefined ? undefined : new Located(this.#document, item);
    }
    const pair = isMap(node) ? this.#pair(node, step) : undefined;
    return pair && new Located(this.#document, pair.value ?? undefined, pair.key);
  }

  /** {@link get} for a value that the schema has accepted, so that nothing can be passed over. Throws when there is none. */
  at(step: string | number): Located {
    const place = this.get(step);
    if (place === undefined)
      throw new Error(`the document has no value at ${step}, and the schema found one`);
    return place;
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
  #pair({ items }: YAMLMap.Parsed, name: string): ParsedPair | undefined {
    if (items.length <= fewKeys) return items.find(({ key }) => keyName(key) === name);
    this.#pairs ??= new Map(items.map((pair) => [keyName(pair.key), pair]));
    return this.#pairs.get(name);
  }

  #target(): ParsedNode | undefined {
    return this.#node && (this.#document.targets.get(this.#node) ?? this.#node);
  }
}

function before(span: Span): Span {
  return [Math.max(0, span[0] - 1), span[0]];
}
