import {
  Composer,
  type CST,
  type Document,
  isScalar,
  Lexer,
  type ParsedNode,
  Parser,
  type Scalar,
  CST as Tokens,
} from "yaml";
import { type NonEmpty, nonEmpty } from "../model/lists.ts";
import { reveal, type Span, type YamlIssue } from "./source-text.ts";
import { syntaxIssues, unclosedQuote } from "./syntax-findings.ts";

/** One document of a stream: its nodes, or the errors that keep it from being read. */
export type ParsedDocument =
  | { readonly ok: true; readonly root: ParsedNode }
  | { readonly ok: false; readonly errors: NonEmpty<YamlIssue> };

/** The documents of a stream that have content, and the errors of the text itself. */
export interface ParsedStream {
  readonly documents: readonly ParsedDocument[];
  /** With an error here, no document of the stream is complete. */
  readonly issues: readonly YamlIssue[];
}

/** Collections may be nested this deep. Manifests need four levels; the bound keeps hostile files off the stack. */
export const maxDepth = 100;

const composerOptions = {
  version: "1.2",
  schema: "core",
  // Duplicate keys are found while values are made, in linear time.
  uniqueKeys: false,
  resolveKnownTags: false,
  merge: false,
  prettyErrors: false,
  logLevel: "silent",
} as const;

/** What YAML 1.2.2 §5.1 allows nowhere, and carriage returns that do not belong to a line end. */
const forbidden = /[^\P{Cc}\t\n\r\x7f-\x9f]|\r(?!\n)/u;

/** What it allows in quoted scalars only (§5.1, `nb-json`). U+0085 is printable in YAML 1.2, and no line end. */
const quotedOnly = /[\x7f-\x84\x86-\x9f\ufffe\uffff]/u;

/**
 * Parses a YAML 1.2 stream with the core schema. Explicit tags, directives other than `%YAML 1.2`, nesting beyond
 * {@link maxDepth} and control characters are errors, as are syntax errors (one a line), and a quote that is never closed
 * even where the library accepts it.
 */
export function parseYaml(text: string): ParsedStream {
  // Some control characters would pass for those that the lexer puts between its lexemes.
  const stream = new Stream(text.replace(new RegExp(forbidden, "gu"), "\ufffd"));
  const composed = stream.read();
  const { cut } = stream;
  const documents = composed.flatMap((document, index): ParsedDocument[] => {
    // The library's errors about the document that was cut off only say so.
    if (cut !== undefined && index === composed.length - 1) return [{ ok: false, errors: [cut] }];
    const { contents, errors, warnings } = document;
    // The stream reports every tag; what is under it can still be checked.
    const problems = [...errors, ...warnings].filter(({ code }) => code !== "TAG_RESOLVE_FAILED");
    const found = nonEmpty(syntaxIssues(text, document, problems));
    if (found !== undefined) return [{ ok: false, errors: found }];
    const isEmpty = contents === null || (isNothing(contents) && contents.anchor === undefined);
    return isEmpty ? [] : [{ ok: true, root: contents }];
  });
  return { documents, issues: [...controlIssues(text, stream.quoted), ...stream.issues] };
}

/** Whether a value was left out: `key:`, `-`, or a document of comments only. */
export function isNothing(node: ParsedNode): node is Scalar.Parsed {
  return isScalar(node) && node.source === "" && node.type === "PLAIN";
}

/** Drives the library's lexer, parser and composer one lexeme at a time, so that depth and tags are seen on the way. */
class Stream {
  readonly issues: YamlIssue[] = [];
  /** The quoted scalars, where the text has characters that only they may have. */
  readonly quoted: Span[] = [];
  /** Why the rest of the text was not read. */
  cut: YamlIssue | undefined;
  readonly #text: string;
  readonly #hasQuotedOnly: boolean;
  readonly #parser = new Parser();
  readonly #composer = new Composer(composerOptions);
  readonly #documents: Document.Parsed[] = [];
  #directive: CST.Directive | undefined;
  #isUnclosed = false;

  constructor(text: string) {
    this.#text = text;
    this.#hasQuotedOnly = quotedOnly.test(text);
  }

  read(): readonly Document.Parsed[] {
    let inScalar = false;
    for (const lexeme of new Lexer().lex(this.#text)) {
      if (!inScalar) this.#inspect(lexeme);
      // The lexer announces a scalar's text by a lexeme of its own.
      inScalar = !inScalar && lexeme === Tokens.SCALAR;
      this.#compose(this.#parser.next(lexeme));
      if (this.#parser.stack.length > maxDepth) {
        this.#foundDepth();
        break;
      }
    }
    this.#compose(this.#parser.end());
    for (const document of this.#composer.end()) this.#documents.push(document);
    if (this.cut === undefined) this.#foundStreamErrors();
    return this.#documents;
  }

  #inspect(lexeme: string): void {
    const { offset } = this.#parser;
    const first = lexeme.charAt(0);
    if (first === "!") this.#foundTag(lexeme);
    if (first !== '"' && first !== "'") return;
    // After the first one, quotes open where they are meant to close.
    if (!this.#isUnclosed && !isClosed(lexeme)) {
      this.#isUnclosed = true;
      this.issues.push(unclosedQuote(offset));
    }
    if (this.#hasQuotedOnly) this.quoted.push([offset, offset + lexeme.length]);
  }

  #compose(tokens: Iterable<CST.Token>): void {
    for (const token of tokens) {
      if (token.type === "document") this.#directive = undefined;
      if (token.type === "directive") {
        if (this.#directive !== undefined) this.#found(token, "A document has one directive at most");
        this.#directive = token;
        // Kept from the composer: `%YAML 1.1` would change what `yes` and `010` mean.
        if (!this.#isSupported(token)) continue;
      }
      for (const document of this.#composer.next(token)) this.#documents.push(document);
    }
  }

  #foundTag(tag: string): void {
    this.issues.push({
      code: "yaml-tag",
      message: `The tag ${reveal(tag)} is not allowed: every value has the type it is written as`,
      hint: 'Remove the tag; to make a value text, put it in quotes: "2020".',
      span: [this.#parser.offset, this.#parser.offset + tag.length],
    });
  }

  #foundDepth(): void {
    const { offset } = this.#parser;
    this.cut = {
      code: "nesting-too-deep",
      message: `Lists and mappings are nested more than ${maxDepth} levels deep; the rest of the file was not read`,
      hint: "A manifest needs four levels. Look for brackets or dashes that were repeated by mistake.",
      span: [offset - 1, offset],
    };
    this.issues.push(this.cut);
  }

  #isSupported({ offset, source }: CST.Directive): boolean {
    if (/^%YAML\s+1\.2\s*$/.test(source)) return true;
    this.issues.push({
      code: "yaml-directive",
      message: `The directive ${reveal(source)} is not supported: files are read as YAML 1.2`,
      hint: "Remove the line.",
      span: [offset, offset + source.length],
    });
    return false;
  }

  /** What the library reports of no document. */
  #foundStreamErrors(): void {
    for (const { pos } of this.#composer.streamInfo().errors) {
      this.issues.push({
        code: "yaml-syntax",
        message: "This text belongs to no document",
        hint: "Remove it, or start a document above it with ---.",
        span: [pos[0], pos[1]],
      });
    }
    if (this.#directive !== undefined) this.#found(this.#directive, "No document follows this directive");
  }

  #found({ offset, source }: CST.Directive, message: string): void {
    const span: Span = [offset, offset + source.length];
    this.issues.push({ code: "yaml-syntax", message, hint: "Remove the line.", span });
  }
}

/** Whether a quoted scalar ends with its own quote. The library also accepts `"say \"` and `'it''`. */
function isClosed(lexeme: string): boolean {
  const quote = lexeme.charAt(0);
  const last = lexeme.length - 1;
  if (last === 0 || lexeme.charAt(last) !== quote) return false;
  const mark = quote === '"' ? "\\" : "'";
  let at = last - 1;
  while (at > 0 && lexeme.charAt(at) === mark) at -= 1;
  return (last - 1 - at) % 2 === 0;
}

/** An error for each line with a character that YAML does not allow there. `quoted`: the quoted scalars, in order. */
function controlIssues(text: string, quoted: readonly Span[]): YamlIssue[] {
  const issues: YamlIssue[] = [];
  let next = 0;
  const either = new RegExp(`${forbidden.source}|${quotedOnly.source}`, "gu");
  for (let match = either.exec(text); match !== null; match = either.exec(text)) {
    const { 0: found, index } = match;
    while ((quoted[next]?.[1] ?? Number.POSITIVE_INFINITY) <= index) next += 1;
    const isQuoted = (quoted[next]?.[0] ?? Number.POSITIVE_INFINITY) <= index;
    if (isQuoted && quotedOnly.test(found)) continue;
    issues.push({ ...describeControl(text.charCodeAt(index)), span: [index, index + 1] });
    const lineEnd = text.indexOf("\n", index);
    if (lineEnd < 0) break;
    either.lastIndex = lineEnd;
  }
  return issues;
}

function describeControl(code: number): Omit<YamlIssue, "span"> {
  if (code === 0x0d) {
    return {
      code: "control-character",
      message: "This carriage return (U+000D) has no line feed after it",
      hint: "Save the file with LF or CRLF line ends.",
    };
  }
  const point = code.toString(16).padStart(4, "0").toUpperCase();
  const isInQuotes = quotedOnly.test(String.fromCharCode(code));
  return {
    code: "control-character",
    message: `The character U+${point} cannot be printed; YAML does not allow it ${isInQuotes ? "outside of quotes" : "anywhere"}`,
    hint: isInQuotes ? "Remove it, or put the text in quotes." : "Remove it.",
  };
}
