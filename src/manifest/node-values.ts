import { type Alias, isAlias, isMap, isScalar, type ParsedNode, type Scalar, type YAMLMap } from "yaml";
import { nearest } from "./nearest.ts";
import { quote, reveal, type Span, type YamlIssue } from "./source-text.ts";

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
  readonly targets: ReadonlyMap<ParsedNode, ParsedNode>;
  /**
   * The symbols in place of values that could not be read, which every schema refuses, each with its error. All of
   * them are in `issues`, too.
   */
  readonly unreadable: ReadonlyMap<unknown, YamlIssue>;
  /** Mappings of which a key could not be read, with the error: that a key is missing in them proves nothing. */
  readonly incomplete: ReadonlyMap<unknown, YamlIssue>;
}

/**
 * Makes the plain value of a document's nodes; `text` is that of the file. Depth is bounded by the parser, size by
 * {@link maxAliasedValues}.
 */
export function makeValue(root: ParsedNode, text: string): NodeValue {
  const maker = new ValueMaker(text);
  return {
    value: maker.make(root),
    issues: maker.issues,
    targets: maker.targets,
    unreadable: maker.unreadable,
    incomplete: maker.incomplete,
  };
}

/** The text of a key in the file; `undefined` unless the key is text on one line. */
export function keyName(key: ParsedNode): string | undefined {
  return isScalar(key) && key.source !== "" ? key.source : undefined;
}

/** The stretch of a node's own text, without its anchor. */
export function spanOf({ range: [start, end] }: ParsedNode): Span {
  return [start, end];
}

interface Anchored {
  readonly node: ParsedNode;
  /** Absent while the node is still being read: an alias to it would be a cycle. */
  made?: { readonly value: unknown; readonly size: number };
}

class ValueMaker {
  readonly issues: YamlIssue[] = [];
  readonly targets = new Map<ParsedNode, ParsedNode>();
  readonly unreadable = new Map<unknown, YamlIssue>();
  readonly incomplete = new Map<unknown, YamlIssue>();
  readonly #anchors = new Map<string, Anchored>();
  #made = 0;
  #aliased = 0;
  /** In place of each alias beyond {@link maxAliasedValues}. */
  #bomb: symbol | undefined;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  make(node: ParsedNode, isInFlow?: boolean): unknown {
    if (isAlias(node)) return this.#alias(node);
    const { anchor } = node;
    if (anchor === undefined) return this.#plain(node, isInFlow);
    const anchored: Anchored = { node };
    const before = this.#made;
    this.#anchors.set(anchor, anchored);
    const value = this.#plain(node, isInFlow);
    anchored.made = { value, size: this.#made - before };
    return value;
  }

  #plain(node: Exclude<ParsedNode, Alias.Parsed>, isInFlow: boolean | undefined): unknown {
    this.#made += 1;
    if (isScalar(node)) return this.#scalar(node, isInFlow);
    if (isMap(node)) return this.#map(node);
    return node.items.map((item) => this.make(item, node.flow));
  }

  #alias(alias: Alias.Parsed): unknown {
    const anchored = this.#anchors.get(alias.source);
    if (anchored === undefined) return this.#unknownAlias(alias);
    if (anchored.made === undefined) {
      return this.#unreadable(alias, {
        code: "cyclic-alias",
        message: `The alias *${reveal(alias.source)} stands inside the value that it repeats`,
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

  #unknownAlias(alias: Alias.Parsed): unknown {
    const similar = this.issues.length < 50 ? nearest(alias.source, [...this.#anchors.keys()]) : undefined;
    return this.#unreadable(alias, {
      code: "unknown-alias",
      message: `The alias *${reveal(alias.source)} has no anchor &${reveal(alias.source)} before it in this document`,
      hint:
        similar === undefined
          ? "Anchors do not reach past ---. To mean the text itself, put it in quotes."
          : `Did you mean *${reveal(similar)}?`,
    });
  }

  #tooManyAliased(alias: Alias.Parsed): symbol {
    return this.#unreadable(alias, {
      code: "alias-bomb",
      message: `Written out, the aliases of this document stand for more than ${maxAliasedValues.toLocaleString("en")} values`,
      hint: "Aliases of lists of aliases multiply. Write the values out, or use fewer aliases.",
    });
  }

  #map(map: YAMLMap.Parsed): unknown {
    const values: Record<string, unknown> = {};
    const seen = new Map<string, ParsedNode>();
    for (const pair of map.items) {
      const key = this.#key(pair.key, seen, map.flow);
      const value = pair.value === null ? null : this.make(pair.value, map.flow);
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
  #key(key: ParsedNode, seen: Map<string, ParsedNode>, isInFlow: boolean | undefined): string | YamlIssue {
    const name = keyName(key);
    if (!isScalar(key) || name === undefined) return unusableKey(key);
    const misread = misreadScalar(this.#text, key, isInFlow);
    if (misread !== undefined) return misread;
    if (key.anchor !== undefined)
      this.#anchors.set(key.anchor, { node: key, made: { value: name, size: 1 } });
    if (name === "<<" && key.type === "PLAIN") return mergeKey(key);
    // NFKC folds every form that Unicode holds to be the same text; most keys are ASCII and need no folding.
    const folded = /^[\x20-\x7e]*$/.test(name) ? name : name.normalize("NFKC");
    const earlier = seen.get(folded);
    if (earlier === undefined) {
      seen.set(folded, key);
      return name;
    }
    const same = keyName(earlier) === name;
    return {
      code: same ? "duplicate-key" : "key-collision",
      message: same
        ? `The key ${quote(name)} is in this mapping twice`
        : `The keys ${quote(keyName(earlier) ?? "")} and ${quote(name)} differ only in how Unicode writes the same text`,
      hint: "Keep one of the two.",
      span: spanOf(key),
      related: spanOf(earlier),
    };
  }

  #scalar(scalar: Scalar.Parsed, isInFlow: boolean | undefined): unknown {
    const { value, source } = scalar;
    const misread = misreadScalar(this.#text, scalar, isInFlow);
    if (misread !== undefined) return this.#unreadable(scalar, misread);
    if (typeof value === "string") return this.#string(scalar, value);
    if (typeof value === "number") return plainNumber(value, source);
    if (typeof value === "boolean" || value === null) return value;
    return this.#unreadable(scalar, {
      code: "invalid-value",
      message: `${quote(source)} is not a value that a manifest can have`,
      hint: "Put it in quotes to make it text.",
    });
  }

  #string(scalar: Scalar.Parsed, value: string): unknown {
    const unusable = unusableCharacter(value);
    if (unusable === undefined) return value;
    return this.#unreadable(scalar, {
      code: "control-character",
      message: `The text contains the character U+${unusable}, which no name or description can have`,
      hint: "Remove the escape; line ends (\\n) and tabs (\\t) are fine in descriptions.",
    });
  }

  #unreadable(node: ParsedNode, wording: Omit<YamlIssue, "span">): symbol {
    const issue = { ...wording, span: spanOf(node) };
    const unreadable = Symbol(issue.code);
    this.issues.push(issue);
    this.unreadable.set(unreadable, issue);
    return unreadable;
  }
}

function unusableKey(key: ParsedNode): YamlIssue {
  const [start, end] = spanOf(key);
  return {
    code: "bad-key",
    message: "A key must be a plain word, not a list, a mapping, an alias or nothing",
    hint: "Write the name of the key before the colon.",
    span: [start, Math.max(end, start + 1)],
  };
}

function mergeKey(key: ParsedNode): YamlIssue {
  return {
    code: "merge-key",
    message: 'The merge key "<<" is not part of YAML 1.2',
    hint: "Write the keys out. An alias can stand for a whole value: description: *text.",
    span: spanOf(key),
  };
}

/** The number, when it is written the one way that leaves no doubt; otherwise a symbol of its text. */
function plainNumber(value: number, source: string): number | symbol {
  const decimal = /^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$/.test(source);
  const exact = source.includes(".") ? !Number.isInteger(value) : Number.isSafeInteger(value);
  return decimal && exact ? value : Symbol(source);
}

/** Hex code point of the first C0 control character (line ends and tabs apart) or lone surrogate. */
function unusableCharacter(text: string): string | undefined {
  const found = /[^\P{Cc}\t\n\r\x7f-\x9f]|\p{Cs}|\r(?!\n)/u.exec(text)?.[0];
  return found?.codePointAt(0)?.toString(16).padStart(4, "0").toUpperCase();
}

/** The end of one entry and the start of the next, as in `{ file_id: 1 }, {` or `a, upload_key: b`, or a line that starts with a bracket. */
const entryInText = /[}\]]\s*,\s*[{[]|\n[^\S\n]*[{[]|,[^\S\n]*(?:file_id|upload_id|upload_key):\s/;

/** The start of an entry on a line of its own. */
const listedFileInText = /\n[^\S\n]*-[^\S\n]+["']?(?:file_id|upload_id|upload_key|source)["']?:\s/;

/** In double quotes, an escaped line break and an empty line after it: the library drops the empty line. */
const lostLine = /(?<!\\)(?:\\\\)*\\\r?\n[ \t]*\r?\n/;

/** A block scalar with an indentation of its own (`|2`) that holds blanks only. */
const blockOfBlanks = /^[|>][-+]?[1-9][^\n]*\n[\r\n]* /;

/** A block scalar with an indentation of its own. */
const ownIndentation = /^[|>][-+]?[1-9]/;

/** A line of blanks. */
const lineOfBlanks = /[\r\n]*[ \t]+(?:\r?\n|$)/y;

/**
 * An error for a scalar whose text is probably not the one that was meant: in brackets, a quote that is closed in a later
 * entry takes the entries in between into its text; and the library drops the text of {@link blockOfBlanks}, and the blanks at
 * the end of one whose first line is indented further, which YAML 1.2.2 §8.1.1.1 keeps.
 */
function misreadScalar(
  text: string,
  scalar: Scalar.Parsed,
  isInFlow: boolean | undefined,
): YamlIssue | undefined {
  const { type, value } = scalar;
  if (type === "PLAIN") return undefined;
  const span = spanOf(scalar);
  const written = text.slice(...span);
  const isQuoted = type?.startsWith("QUOTE") === true;
  if (isQuoted && ((isInFlow === true && entryInText.test(written)) || listedFileInText.test(written))) {
    return {
      code: "yaml-syntax",
      message: "This text in quotes contains what looks like an entry of its own",
      hint: "Close the quote where the text ends. If it is meant, write the entry without brackets and the text as a block (|).",
      span,
    };
  }
  if (type === "QUOTE_DOUBLE" && lostLine.test(written)) {
    return {
      code: "yaml-syntax",
      message: "The empty line after this escaped line break cannot be read",
      hint: "Write \\n where the text has a line break, or write the text as a block (|).",
      span,
    };
  }
  if (isQuoted || typeof value !== "string") return undefined;
  lineOfBlanks.lastIndex = span[1];
  const leavesBlanks = ownIndentation.test(written) && lineOfBlanks.test(text);
  if (leavesBlanks && /^\n*[ \t]/.test(value)) {
    return {
      code: "yaml-syntax",
      message: "The blanks at the end of this text cannot be read",
      hint: 'Remove them, or write the text in double quotes, with \\n for its line breaks ("  text\\n ").',
      span,
    };
  }
  if (!/^\n*$/.test(value) || !(leavesBlanks || blockOfBlanks.test(written))) return undefined;
  return {
    code: "yaml-syntax",
    message: "The blanks of this text cannot be read",
    hint: 'Put them in quotes ("  "), or write "" for an empty text.',
    span,
  };
}
