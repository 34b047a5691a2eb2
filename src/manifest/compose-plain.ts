import { CST, Lexer } from "yaml";
import type { ListNode, MapNode, PairNode, ScalarNode, YamlNode } from "./nodes.ts";
import { composeScalar } from "./plain-scalars.ts";

/** Longer keys are for the library's composer, which has a limit for them (YAML 1.2.2 §7.4.3: 1024 characters). */
const longestKey = 1000;

/** Collections within each other. Manifests need four levels. */
const deepest = 20;

/** What the library's lexer says beside slices of the text. */
const documentFollows = CST.DOCUMENT;
const scalarFollows = CST.SCALAR;

/** In the column's place: there is no line to go on with in this document. */
const atEnd = -1;

/**
 * Makes the nodes of a stream of plain documents: block mappings and lists with a value everywhere, and scalars. They
 * are those that the library's parser and composer make, without the way there; what a scalar, a comment or an
 * indicator is, its lexer says. `undefined` for everything else (flow collections, anchors, aliases, tags, explicit
 * keys, empty values, tabs between things) and for whatever may be a mistake: the library is to judge it. The text has
 * no control characters.
 */
export function composePlain(text: string): readonly YamlNode[] | undefined {
  return new PlainReader(text).read();
}

/**
 * Descends through the collections with one lexeme in hand. A method that reads a value leaves the first lexeme of the
 * next line in hand that is neither blank nor a comment; all give `undefined` where the text is not plain.
 */
class PlainReader {
  readonly #lexemes: Iterator<string, void>;
  /** In hand; `undefined` after the last one. */
  #lexeme: string | undefined;
  /** Of the lexeme in hand, in the text. */
  #offset = 0;
  /** Of the line, how far it is indented; {@link atEnd} before a `---` and after the last line. */
  #column = 0;
  #depth = 0;

  constructor(text: string) {
    this.#lexemes = new Lexer().lex(text);
    this.#advance();
  }

  read(): readonly YamlNode[] | undefined {
    const roots: YamlNode[] = [];
    this.#startLine();
    if (!this.#isAt(documentFollows)) return undefined;
    this.#advance();
    this.#startLine();
    do {
      if (this.#isAt("---") && !this.#passMark()) return undefined;
      const key = this.#column === atEnd ? undefined : this.#takeScalar();
      const root = key === undefined ? undefined : this.#map(this.#column, key);
      if (root === undefined || this.#column !== atEnd) return undefined;
      roots.push(root);
    } while (this.#lexeme !== undefined);
    return roots;
  }

  /** From its first key on, which has been taken, to the first line that is less indented. */
  #map(indent: number, firstKey: CST.FlowScalar): MapNode | undefined {
    const pairs: PairNode[] = [];
    let end = firstKey.offset;
    let key: CST.FlowScalar | undefined = firstKey;
    while (key !== undefined) {
      const keyNode = this.#key(key);
      const value = keyNode === undefined ? undefined : this.#value(indent);
      if (value === undefined) return undefined;
      pairs.push({ key: keyNode, value });
      end = value.end;
      if (this.#column < indent) break;
      key = this.#column === indent ? this.#takeScalar() : undefined;
      if (key === undefined) return undefined;
    }
    return { kind: "map", start: firstKey.offset, end, pairs };
  }

  /** The node of a scalar that a colon follows at once. */
  #key(key: CST.FlowScalar): ScalarNode | undefined {
    if (!this.#isAt(":") || key.source.length > longestKey || key.source.includes("\n")) return undefined;
    this.#advance();
    return composeScalar(key);
  }

  /** What follows a key's colon: on the same line a scalar, on the next ones a collection. */
  #value(indent: number): YamlNode | undefined {
    const isApart = this.#passSpaces();
    if (isBlockHeader(this.#lexeme)) return this.#blockScalar(indent);
    const scalar = this.#takeScalar();
    if (scalar !== undefined) return this.#endValue(scalar);
    if (!this.#endLine(isApart)) return undefined;
    if (this.#isAt("-") && this.#column >= indent) return this.#nested(() => this.#list(this.#column));
    if (this.#column <= indent) return undefined;
    const key = this.#takeScalar();
    return key && this.#nested(() => this.#map(this.#column, key));
  }

  /** From its first dash on to the first line that is not another item. */
  #list(indent: number): ListNode | undefined {
    const start = this.#offset;
    const items: YamlNode[] = [];
    let end = start;
    while (this.#isAt("-") && this.#column === indent) {
      const item = this.#item(indent);
      if (item === undefined) return undefined;
      items.push(item);
      end = item.end;
    }
    return { kind: "list", start, end, items };
  }

  #item(indent: number): YamlNode | undefined {
    const dash = this.#offset;
    this.#advance();
    this.#passSpaces();
    if (isBlockHeader(this.#lexeme)) return this.#blockScalar(indent);
    const column = indent + this.#offset - dash;
    const scalar = this.#takeScalar();
    if (scalar === undefined) return undefined;
    if (this.#isAt(":")) return this.#nested(() => this.#map(column, scalar));
    return this.#endValue(scalar);
  }

  #nested<Node>(read: () => Node | undefined): Node | undefined {
    if (this.#depth === deepest) return undefined;
    this.#depth += 1;
    const node = read();
    this.#depth -= 1;
    return node;
  }

  #endValue(scalar: CST.FlowScalar): ScalarNode | undefined {
    return this.#endLine(this.#passSpaces()) ? composeScalar(scalar) : undefined;
  }

  /** Its header stands alone on its line; with a comment beside it, it is for the library. */
  #blockScalar(indent: number): ScalarNode | undefined {
    const offset = this.#offset;
    const header = this.#lexeme ?? "";
    this.#advance();
    const newline = this.#lexeme ?? "";
    if (!this.#passNewline() || !this.#isAt(scalarFollows)) return undefined;
    this.#advance();
    const source = this.#lexeme ?? "";
    this.#advance();
    this.#startLine();
    const props: CST.SourceToken[] = [
      { type: "block-scalar-header", offset, indent, source: header },
      { type: "newline", offset: offset + header.length, indent, source: newline },
    ];
    return composeScalar({ type: "block-scalar", offset, indent, props, source });
  }

  /** The scalar in hand, when it is one that may be a key. */
  #takeScalar(): CST.FlowScalar | undefined {
    const type = scalarType(this.#lexeme);
    if (type === "scalar") this.#advance();
    const source = this.#lexeme;
    if (type === undefined || source === undefined) return undefined;
    const offset = this.#offset;
    this.#advance();
    return { type, offset, indent: this.#column, source };
  }

  /** The end of a document's first line, after its `---`. */
  #passMark(): boolean {
    this.#advance();
    return this.#endLine(this.#passSpaces());
  }

  /** Whether nothing but a comment is left of the line. `isApart`: there are spaces before it. */
  #endLine(isApart: boolean): boolean {
    if (isComment(this.#lexeme)) {
      if (!isApart) return false;
      this.#advance();
    }
    if (this.#lexeme !== undefined && !this.#passNewline()) return false;
    this.#startLine();
    return true;
  }

  /** Goes on to the first line that is neither blank nor a comment. */
  #startLine(): void {
    do {
      const start = this.#offset;
      this.#passSpaces();
      this.#column = this.#offset - start;
      if (isComment(this.#lexeme)) this.#advance();
    } while (this.#passNewline());
    if (this.#lexeme === undefined || this.#isAt("---")) this.#column = atEnd;
  }

  #passNewline(): boolean {
    if (!this.#isAt("\n") && !this.#isAt("\r\n")) return false;
    this.#advance();
    return true;
  }

  /** Tabs are left in hand, where nothing takes them. */
  #passSpaces(): boolean {
    if (this.#lexeme?.[0] !== " " || this.#lexeme.includes("\t")) return false;
    this.#advance();
    return true;
  }

  #isAt(lexeme: string): boolean {
    return this.#lexeme === lexeme;
  }

  #advance(): void {
    const lexeme = this.#lexeme;
    if (lexeme !== undefined && lexeme !== scalarFollows && lexeme !== documentFollows)
      this.#offset += lexeme.length;
    this.#lexeme = this.#lexemes.next().value ?? undefined;
  }
}

function scalarType(lexeme: string | undefined): CST.FlowScalar["type"] | undefined {
  if (lexeme === scalarFollows) return "scalar";
  if (lexeme?.[0] === '"') return "double-quoted-scalar";
  return lexeme?.[0] === "'" ? "single-quoted-scalar" : undefined;
}

function isBlockHeader(lexeme: string | undefined): boolean {
  return lexeme?.[0] === "|" || lexeme?.[0] === ">";
}

function isComment(lexeme: string | undefined): boolean {
  return lexeme?.[0] === "#";
}
