import type { Document } from "yaml";
import { Composer, CST, isNode, Lexer, Parser } from "yaml";
import { composePlain } from "./compose-plain.ts";
import type { YamlNode } from "./nodes.ts";
import { isNothing, takeOver } from "./nodes.ts";
import { composerOptions } from "./plain-scalars.ts";
import { reveal } from "./quote.ts";
import type { Finding } from "./source-text.ts";
import { syntaxFindings } from "./syntax-findings.ts";

/** One document of a stream as nodes. `root` is `null` for a document without content. */
export interface ParsedDocument {
  readonly root: YamlNode | null;
  /** The document has syntax errors; its nodes are not to be relied on. */
  readonly broken: boolean;
}

/** Collections may be nested this deep. Manifests need four levels; the bound keeps hostile files off the stack. */
export const maxDepth = 100;

/** What YAML 1.2.2 §5.1 calls non-printable, and carriage returns that do not belong to a line's end. */
const unprintable = /(?![\t\n\r\u0085])[\p{Cc}\ufffe\uffff]|\r(?!\n)/gu;

/**
 * Parses a YAML 1.2 stream with the core schema. Explicit tags, directives other than `%YAML 1.2`, nesting beyond
 * {@link maxDepth} and control characters are findings, as are syntax errors (one a line).
 */
export function parseYaml(text: string): {
  readonly documents: ParsedDocument[];
  readonly findings: Finding[];
} {
  const findings = unprintableFindings(text);
  // Control characters in the text would pass for those that the lexer puts between its lexemes.
  const plain = findings.length === 0 ? composePlain(text) : undefined;
  if (plain !== undefined) return { documents: plain.map((root) => ({ root, broken: false })), findings };
  const stream = new Stream(text);
  const composed = stream.read();
  const isCut = stream.cutAt !== undefined;
  const documents = composed.map((document, index) => {
    // The document that was cut off has errors that only say so.
    const cut = isCut && index === composed.length - 1;
    const errors = document.errors.filter((error) => error.code !== "TAG_RESOLVE_FAILED");
    if (!cut) findings.push(...syntaxFindings(text, document, [...errors, ...otherWarnings(document)]));
    const { contents } = document;
    return { root: isNode(contents) ? takeOver(contents) : null, broken: cut || errors.length > 0 };
  });
  findings.push(...stream.findings);
  return { documents: documents.filter(({ root, broken }) => broken || !isEmpty(root)), findings };
}

/** Drives the library's lexer, parser and composer one lexeme at a time, so that depth and tags are seen on the way. */
class Stream {
  readonly findings: Finding[] = [];
  cutAt: number | undefined;
  readonly #text: string;
  readonly #parser = new Parser();
  readonly #composer = new Composer(composerOptions);
  readonly #documents: Document[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  read(): readonly Document[] {
    let inScalar = false;
    for (const lexeme of new Lexer().lex(this.#text)) {
      if (!inScalar && lexeme.charCodeAt(0) === 0x21) this.#foundTag(lexeme);
      // The lexer announces a scalar's text by a lexeme of its own.
      inScalar = !inScalar && lexeme === CST.SCALAR;
      this.#compose(this.#parser.next(lexeme));
      if (this.#parser.stack.length > maxDepth) {
        this.#foundDepth();
        break;
      }
    }
    this.#compose(this.#parser.end());
    for (const document of this.#composer.end()) this.#documents.push(document);
    if (this.#documents.length === 0) this.#foundStreamErrors();
    return this.#documents;
  }

  #compose(tokens: Iterable<CST.Token>): void {
    for (const token of tokens) {
      // Kept from the composer: `%YAML 1.1` would change what `yes` and `010` mean.
      if (token.type === "directive") this.#foundDirective(token.offset, token.source);
      else for (const document of this.#composer.next(token)) this.#documents.push(document);
    }
  }

  #foundTag(tag: string): void {
    this.findings.push({
      code: "yaml-tag",
      message: `The tag ${reveal(tag)} is not allowed: every value has the type it is written as`,
      hint: 'Remove the tag; to make a value text, put it in quotes: "2020".',
      span: [this.#parser.offset, this.#parser.offset + tag.length],
    });
  }

  #foundDepth(): void {
    this.cutAt = this.#parser.offset;
    this.findings.push({
      code: "nesting-too-deep",
      message: `Lists and mappings are nested more than ${maxDepth} levels deep; the rest of the file was not read`,
      hint: "A manifest needs four levels. Look for brackets or dashes that were repeated by mistake.",
      span: [this.cutAt - 1, this.cutAt],
    });
  }

  #foundDirective(offset: number, source: string): void {
    if (/^%YAML\s+1\.2\s*$/.test(source)) return;
    this.findings.push({
      code: "yaml-directive",
      message: `The directive ${reveal(source)} is not supported: files are read as YAML 1.2`,
      hint: "Remove the line.",
      span: [offset, offset + source.length],
    });
  }

  #foundStreamErrors(): void {
    for (const error of this.#composer.streamInfo().errors) {
      this.findings.push({
        code: "yaml-syntax",
        message: "There is something here that belongs to no document",
        hint: "Remove it, or start a document above it with ---.",
        span: [error.pos[0], error.pos[1]],
      });
    }
  }
}

function otherWarnings(document: Document) {
  return document.warnings.filter((warning) => warning.code === "BAD_ALIAS");
}

/** Nothing between two `---`, or comments only. */
function isEmpty(root: YamlNode | null): boolean {
  return root === null || (isNothing(root) && root.anchor === undefined);
}

function unprintableFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  let lineEnd = -1;
  for (const match of text.matchAll(unprintable)) {
    if (match.index < lineEnd) continue;
    lineEnd = text.indexOf("\n", match.index);
    if (lineEnd < 0) lineEnd = text.length;
    const point = (match[0].codePointAt(0) ?? 0).toString(16).padStart(4, "0").toUpperCase();
    const lone = match[0] === "\r";
    findings.push({
      code: "control-character",
      message: lone
        ? "A carriage return (U+000D) stands here without a line feed after it"
        : `The character U+${point} cannot be printed and is not allowed in YAML`,
      hint: lone ? "Save the file with LF or CRLF line ends." : "Remove it.",
      span: [match.index, match.index + 1],
    });
  }
  return findings;
}
