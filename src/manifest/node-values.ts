import { nearest } from "./nearest.ts";
import type { AliasNode, ListNode, MapNode, PairNode, ScalarNode, YamlNode } from "./nodes.ts";
import { quote, reveal } from "./quote.ts";
import type { Span, YamlIssue } from "./source-text.ts";

/** Aliases of one document may stand for this many values in all: far more than a manifest needs, few for a machine. */
export const maxAliasedValues = 100_000;

/**
 * The plain value of a document: strings, booleans, `null`, arrays, objects, and numbers written as plain decimals.
 * A number in any other notation (`0x1F`, `007`, `1e3`, `+5`, `3.0`, beyond 2^53 - 1) is a symbol described by its
 * text, which every schema refuses. Values under aliases are shared, not copied.
 */
export interface NodeValue {
  /** Complete when there is no error in `issues`. */
  readonly value: unknown;
  readonly issues: readonly YamlIssue[];
  /** What each alias refers to. */
  readonly targets: ReadonlyMap<YamlNode, YamlNode>;
  /**
   * The symbols in place of values that could not be read, which every schema refuses, each with its error. All of
   * them are in `issues`, too.
   */
  readonly unreadable: ReadonlyMap<unknown, YamlIssue>;
  /** Mappings of which a key could not be read, with the error: that a key is missing in them proves nothing. */
  readonly incomplete: ReadonlyMap<unknown, YamlIssue>;
}

/** Makes the plain value of a document's nodes. Depth is bounded by the parser, size by {@link maxAliasedValues}. */
export function makeValue(root: YamlNode): NodeValue {
  const maker = new ValueMaker();
  return {
    value: maker.make(root),
    issues: maker.issues,
    targets: maker.targets,
    unreadable: maker.unreadable,
    incomplete: maker.incomplete,
  };
}

/** The text of a key in the file; `undefined` unless the key is text on one line. */
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
  readonly issues: YamlIssue[] = [];
  readonly targets = new Map<YamlNode, YamlNode>();
  readonly unreadable = new Map<unknown, YamlIssue>();
  readonly incomplete = new Map<unknown, YamlIssue>();
  readonly #anchors = new Map<string, Anchored>();
  #made = 0;
  #aliased = 0;
  /** In place of each alias beyond {@link maxAliasedValues}. */
  #bomb: symbol | undefined;

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
      return this.#unreadable(alias, {
        code: "cyclic-alias",
        message: `The alias *${reveal(alias.name)} stands inside the value that it repeats`,
        hint: "A value cannot contain itself. Write out what is meant.",
        related: spanOf(anchored.node),
      });
    }
    this.#made += anchored.made.size;
    this.#aliased += anchored.made.size;
    if (this.#aliased > maxAliasedValues) {
      this.#bomb ??= this.#tooManyAliased(alias);
      return this.#bomb;
    }
    this.targets.set(alias, anchored.node);
    return anchored.made.value;
  }

  #unknownAlias(alias: AliasNode): unknown {
    const similar = this.issues.length < 50 ? nearest(alias.name, [...this.#anchors.keys()]) : undefined;
    return this.#unreadable(alias, {
      code: "unknown-alias",
      message: `The alias *${reveal(alias.name)} has no anchor &${reveal(alias.name)} before it in this document`,
      hint:
        similar === undefined
          ? "Anchors do not reach past ---. To mean the text itself, put it in quotes."
          : `Did you mean *${reveal(similar)}?`,
    });
  }

  #tooManyAliased(alias: AliasNode): symbol {
    return this.#unreadable(alias, {
      code: "alias-bomb",
      message: `Written out, the aliases of this document stand for more than ${maxAliasedValues.toLocaleString("en")} values`,
      hint: "Aliases of lists of aliases multiply. Write the values out, or use fewer aliases.",
    });
  }

  #list(list: ListNode): unknown {
    return list.items.map((item) => this.make(item));
  }

  #map(map: MapNode): unknown {
    const values: Record<string, unknown> = {};
    const seen = new Map<string, YamlNode>();
    for (const pair of map.pairs) {
      const key = this.#key(pair, seen);
      const value = pair.value === undefined ? null : this.make(pair.value);
      if (typeof key !== "string") {
        this.issues.push(key);
        if (!this.incomplete.has(values)) this.incomplete.set(values, key);
      } else if (key === "__proto__") {
        // As an assignment it would set the prototype; as a defined property it is an unknown key like any other.
        Object.defineProperty(values, key, { value, enumerable: true });
      } else values[key] = value;
    }
    return values;
  }

  /** The name of a pair's key, or why it cannot be used. */
  #key(pair: PairNode, seen: Map<string, YamlNode>): string | YamlIssue {
    const name = keyName(pair.key);
    if (pair.key === undefined || name === undefined) return unusableKey(pair);
    if (pair.key.anchor !== undefined) this.#anchors.set(pair.key.anchor, anchoredKey(pair.key, name));
    if (name === "<<" && pair.key.kind === "scalar" && pair.key.style === "plain") return mergeKey(pair.key);
    // NFKC folds every form that Unicode holds to be the same text; most keys are ASCII and need no folding.
    const folded = /^[\x20-\x7e]*$/.test(name) ? name : name.normalize("NFKC");
    const earlier = seen.get(folded);
    if (earlier === undefined) {
      seen.set(folded, pair.key);
      return name;
    }
    const same = keyName(earlier) === name;
    return {
      code: same ? "duplicate-key" : "key-collision",
      message: same
        ? `The key ${quote(name)} is in this mapping twice`
        : `The keys ${quote(keyName(earlier) ?? "")} and ${quote(name)} differ only in how Unicode writes the same text`,
      hint: "Keep one of the two.",
      span: spanOf(pair.key),
      related: spanOf(earlier),
    };
  }

  #scalar(scalar: ScalarNode): unknown {
    const { value, source } = scalar;
    if (typeof value === "string") return this.#string(scalar, value);
    if (typeof value === "number") return plainNumber(value, source);
    if (typeof value === "boolean" || value === null) return value;
    return this.#unreadable(scalar, {
      code: "invalid-value",
      message: `${quote(source)} is not a value that a manifest can have`,
      hint: "Put it in quotes to make it text.",
    });
  }

  #string(scalar: ScalarNode, value: string): unknown {
    const unusable = unusableCharacter(value);
    if (unusable === undefined) return value;
    return this.#unreadable(scalar, {
      code: "control-character",
      message: `The text contains the character U+${unusable}, which no name or description can have`,
      hint: "Remove the escape; line ends (\\n) and tabs (\\t) are fine in descriptions.",
    });
  }

  #unreadable(node: YamlNode, wording: Omit<YamlIssue, "span">): symbol {
    const issue = { ...wording, span: spanOf(node) };
    const unreadable = Symbol(issue.code);
    this.issues.push(issue);
    this.unreadable.set(unreadable, issue);
    return unreadable;
  }
}

function unusableKey({ key }: PairNode): YamlIssue {
  const [start, end] = key === undefined ? [0, 0] : spanOf(key);
  return {
    code: "bad-key",
    message: "A key must be a plain word, not a list, a mapping, an alias or nothing",
    hint: "Write the name of the key before the colon.",
    span: [start, Math.max(end, start + 1)],
  };
}

function mergeKey(key: YamlNode): YamlIssue {
  return {
    code: "merge-key",
    message: 'The merge key "<<" is not part of YAML 1.2',
    hint: "Write the keys out. An alias can stand for a whole value: description: *text.",
    span: spanOf(key),
  };
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

/** Hex code point of the first C0 control character (line ends and tabs apart) or lone surrogate. */
function unusableCharacter(text: string): string | undefined {
  const found = /(?![\t\n\r\x7f-\x9f])[\p{Cc}\p{Cs}]|\r(?!\n)/u.exec(text)?.[0];
  return found?.codePointAt(0)?.toString(16).padStart(4, "0").toUpperCase();
}
