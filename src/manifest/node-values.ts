import { nearest } from "./nearest.ts";
import type { AliasNode, ListNode, MapNode, PairNode, ScalarNode, YamlNode } from "./nodes.ts";
import { quote, reveal } from "./quote.ts";
import type { Finding, Span } from "./source-text.ts";

/** Aliases of one document may stand for this many values in all: far more than a manifest needs, few for a machine. */
export const maxAliasedValues = 100_000;

/**
 * Stands for a value that could not be made; what is wrong with it has been reported. No schema accepts a symbol,
 * so it cannot pass for a value.
 */
export const brokenValue: unique symbol = Symbol("broken");

/**
 * The plain value of a document: strings, booleans, `null`, arrays, objects, and numbers written as plain decimals.
 * A number in any other notation (`0x1F`, `007`, `1e3`, `+5`, `3.0`, beyond 2^53 - 1) is a symbol described by its
 * text, which every schema refuses. Values under aliases are shared, not copied.
 */
export interface NodeValue {
  readonly value: unknown;
  readonly findings: readonly Finding[];
  /** What each alias stands for. */
  readonly targets: ReadonlyMap<YamlNode, YamlNode>;
  /** Mappings of which a key could not be read: that a key is missing in them proves nothing. */
  readonly incomplete: ReadonlySet<unknown>;
}

/** Makes the plain value of a document's nodes. Depth is bounded by the parser, size by {@link maxAliasedValues}. */
export function makeValue(root: YamlNode, text: string): NodeValue {
  const maker = new ValueMaker(text);
  return {
    value: maker.make(root),
    findings: maker.findings,
    targets: maker.targets,
    incomplete: maker.incomplete,
  };
}

/** The name of a key as it was written; `undefined` when the key is no text on one line. */
export function keyName(key: YamlNode | undefined): string | undefined {
  return key?.kind === "scalar" && key.source !== "" ? key.source : undefined;
}

/** The stretch of a node's own text, without its anchor. */
export function spanOf({ start, end }: YamlNode): Span {
  return [start, end];
}

interface Anchored {
  readonly node: YamlNode;
  /** Absent while the node is still being read: an alias to it would be a cycle. */
  made?: { readonly value: unknown; readonly size: number };
}

class ValueMaker {
  readonly findings: Finding[] = [];
  readonly targets = new Map<YamlNode, YamlNode>();
  readonly incomplete = new Set<unknown>();
  readonly #text: string;
  readonly #anchors = new Map<string, Anchored>();
  #made = 0;
  #aliased = 0;

  constructor(text: string) {
    this.#text = text;
  }

  make(node: YamlNode): unknown {
    if (node.kind === "alias") return this.#alias(node);
    const { anchor } = node;
    if (anchor === undefined) return this.#plain(node);
    const anchored: Anchored = { node };
    const before = this.#made;
    this.#anchors.set(anchor, anchored);
    const value = this.#plain(node);
    anchored.made = { value, size: this.#made - before };
    return value;
  }

  #plain(node: Exclude<YamlNode, AliasNode>): unknown {
    this.#made += 1;
    switch (node.kind) {
      case "scalar":
        return this.#scalar(node);
      case "map":
        return this.#map(node);
      case "list":
        return this.#list(node);
    }
  }

  #alias(alias: AliasNode): unknown {
    const anchored = this.#anchors.get(alias.name);
    if (anchored === undefined) return this.#unknownAlias(alias);
    if (anchored.made === undefined) {
      return this.#broken(alias, {
        code: "cyclic-alias",
        message: `The alias *${reveal(alias.name)} stands inside the value that it repeats`,
        hint: "A value cannot contain itself. Write out what is meant.",
        related: spanOf(anchored.node),
      });
    }
    this.#made += anchored.made.size;
    this.#aliased += anchored.made.size;
    if (this.#aliased > maxAliasedValues) {
      const first = this.#aliased - anchored.made.size <= maxAliasedValues;
      return first ? this.#tooManyAliased(alias) : brokenValue;
    }
    this.targets.set(alias, anchored.node);
    return anchored.made.value;
  }

  #unknownAlias(alias: AliasNode): unknown {
    const similar = this.findings.length < 50 ? nearest(alias.name, [...this.#anchors.keys()]) : undefined;
    return this.#broken(alias, {
      code: "unknown-alias",
      message: `The alias *${reveal(alias.name)} has no anchor &${reveal(alias.name)} before it in this document`,
      hint:
        similar === undefined
          ? "Anchors do not reach past ---. To mean the text itself, put it in quotes."
          : `Did you mean *${reveal(similar)}?`,
    });
  }

  #tooManyAliased(alias: AliasNode): unknown {
    return this.#broken(alias, {
      code: "alias-bomb",
      message: `Written out, the aliases of this document stand for more than ${maxAliasedValues.toLocaleString("en")} values`,
      hint: "Aliases of lists of aliases multiply. Write the values out, or use fewer aliases.",
    });
  }

  #list(list: ListNode): unknown {
    const values: unknown[] = [];
    for (const item of list.items) {
      // `[a: 1]` is a list with a mapping of one pair, which the library composes as a map.
      values.push(item === undefined ? brokenValue : this.make(item));
    }
    return values;
  }

  #map(map: MapNode): unknown {
    const values: Record<string, unknown> = {};
    const seen = new Map<string, YamlNode>();
    for (const pair of map.pairs) {
      const key = this.#key(pair, seen);
      const value = pair.value === undefined ? null : this.make(pair.value);
      if (key === undefined) this.incomplete.add(values);
      // As an assignment it would set the prototype; as a defined property it is an unknown key like any other.
      else if (key === "__proto__") Object.defineProperty(values, key, { value, enumerable: true });
      else values[key] = value;
    }
    return values;
  }

  /** The name of a pair's key, or `undefined` when it is reported as one that cannot be used. */
  #key(pair: PairNode, seen: Map<string, YamlNode>): string | undefined {
    const name = keyName(pair.key);
    if (pair.key === undefined || name === undefined) return this.#unusableKey(pair);
    if (pair.key.anchor !== undefined) this.#anchors.set(pair.key.anchor, anchoredKey(pair.key, name));
    if (name === "<<" && pair.key.kind === "scalar" && pair.key.isPlain) return this.#mergeKey(pair.key);
    // NFKC folds every form that Unicode holds to be the same text; most keys are ASCII and need no folding.
    const folded = /^[\x20-\x7e]*$/.test(name) ? name : name.normalize("NFKC");
    const earlier = seen.get(folded);
    if (earlier === undefined) {
      seen.set(folded, pair.key);
      return name;
    }
    const same = keyName(earlier) === name;
    this.#report(spanOf(pair.key), {
      code: same ? "duplicate-key" : "key-collision",
      message: same
        ? `The key ${quote(name)} is in this mapping twice`
        : `The keys ${quote(keyName(earlier) ?? "")} and ${quote(name)} differ only in how Unicode writes the same text`,
      hint: "Keep one of the two.",
      related: spanOf(earlier),
    });
    return undefined;
  }

  #unusableKey(pair: PairNode): undefined {
    const span: Span = pair.key === undefined ? [0, 0] : spanOf(pair.key);
    this.#report([span[0], Math.max(span[1], span[0] + 1)], {
      code: "bad-key",
      message: "A key must be a plain word, not a list, a mapping, an alias or nothing",
      hint: "Write the name of the key before the colon.",
    });
    return undefined;
  }

  #mergeKey(key: YamlNode): undefined {
    this.#report(spanOf(key), {
      code: "merge-key",
      message: 'The merge key "<<" is not part of YAML 1.2',
      hint: "Write the keys out. An alias can stand for a whole value: description: *text.",
    });
    return undefined;
  }

  #scalar(scalar: ScalarNode): unknown {
    const value = scalar.value;
    if (typeof value === "string") return this.#string(scalar, value);
    if (typeof value === "number") return plainNumber(value, scalar.source);
    return typeof value === "boolean" || value === null ? value : brokenValue;
  }

  #string(scalar: ScalarNode, value: string): unknown {
    const unusable = unusableCharacter(value);
    if (unusable === undefined) return value;
    // What stands in the file as it is has been reported by the parser; here it comes from an escape.
    if (!this.#text.slice(...spanOf(scalar)).includes("\\")) return brokenValue;
    return this.#broken(scalar, {
      code: "control-character",
      message: `The text contains the character U+${unusable}, which no name or description can have`,
      hint: "Remove the escape; line ends (\\n) and tabs (\\t) are fine in descriptions.",
    });
  }

  #broken(node: YamlNode, finding: Omit<Finding, "span">): unknown {
    this.#report(spanOf(node), finding);
    return brokenValue;
  }

  #report(span: Span, finding: Omit<Finding, "span">): void {
    this.findings.push({ ...finding, span });
  }
}

function anchoredKey(node: YamlNode, name: string): Anchored {
  return { node, made: { value: name, size: 1 } };
}

/** The number, when it is written the one way that leaves no doubt; otherwise a symbol of its text. */
function plainNumber(value: number, source: string): number | symbol {
  const decimal = /^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$/.test(source);
  const exact = source.includes(".") ? !Number.isInteger(value) : Number.isSafeInteger(value);
  return decimal && exact ? value : Symbol(source);
}

/** Hex code point of the first control character (line ends and tabs apart) or lone surrogate. */
function unusableCharacter(text: string): string | undefined {
  const found = /(?![\t\n\r])[\p{Cc}\p{Cs}]|\r(?!\n)/u.exec(text)?.[0];
  return found?.codePointAt(0)?.toString(16).padStart(4, "0").toUpperCase();
}
