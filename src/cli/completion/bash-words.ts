/** The words of a bash command line up to the cursor. Nothing in it is evaluated. */
export interface BashLine {
  /** The words after the program's name, without their quotes; the last one is at the cursor. */
  readonly words: readonly string[];
  /** The part of the last word that readline keeps: everything before its last word break, without quotes. */
  readonly kept: string;
  /** The quote that the cursor is in. */
  readonly quote: "" | "'" | '"';
}

/**
 * Parses a bash command line. `breaks` are readline's word breaks (COMP_WORDBREAKS), with `:` and `=`: readline replaces only
 * the text after the last break of a word. `undefined` if the word at the cursor contains a closed quote, after which readline
 * starts at another position.
 */
export function readBashLine(line: string, breaks: string): BashLine | undefined {
  const words: string[] = [];
  let current = empty;
  for (const [piece] of line.matchAll(/\s+|\\[\s\S]?|"(?:[^"\\]|\\[\s\S]?)*"?|'[^']*'?|[^\s\\"']/g)) {
    if (/^\s/.test(piece)) {
      if (current !== empty) words.push(current.word);
      current = empty;
    } else current = lengthen(current, piece, breaks);
  }
  if (current.closed) return undefined;
  return { words: [...words.slice(1), current.word], kept: current.kept, quote: current.quote };
}

interface OpenWord extends Pick<BashLine, "kept" | "quote"> {
  readonly word: string;
  readonly closed: boolean;
}

const empty: OpenWord = { word: "", kept: "", quote: "", closed: false };

function lengthen({ word, kept, closed }: OpenWord, piece: string, breaks: string): OpenWord {
  const quote = piece.startsWith("'") ? "'" : piece.startsWith('"') ? '"' : "";
  if (quote !== "") {
    const isClosed = piece.length > 1 && piece.endsWith(quote) && !/(?<!\\)(?:\\\\)*\\"$/.test(piece);
    const inner = piece.slice(1, isClosed ? -1 : undefined);
    const text = quote === '"' ? inner.replace(/\\(["\\$`])/g, "$1") : inner;
    return { word: word + text, kept: word, quote: isClosed ? "" : quote, closed: closed || isClosed };
  }
  if (piece.startsWith("\\")) return { word: word + piece.slice(1), kept, quote, closed };
  const longer = word + piece;
  return { word: longer, kept: breaks.includes(piece) ? longer : kept, quote, closed };
}

/**
 * The text that readline inserts for a word, escaped for bash; `undefined` if the word cannot be written in the quote at the
 * cursor.
 */
export function writeBashWord(word: string, { kept, quote }: BashLine): string | undefined {
  const text = word.slice(kept.length);
  if (quote === "'") return text.includes("'") ? undefined : text;
  // An exclamation mark in double quotes recalls the history, and a backslash before it would stay.
  if (quote === '"') return text.includes("!") ? undefined : text.replace(/["\\$`]/g, "\\$&");
  return text.replace(/[^\p{L}\p{N}_./:=@%+,-]/gu, "\\$&");
}
