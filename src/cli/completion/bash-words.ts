/** A bash command line up to the cursor, as far as completion needs to understand it. Nothing in it is evaluated. */
export interface BashLine {
  /** The words after the program's name, without their quotes; the last one is at the cursor. */
  readonly words: readonly string[];
  /** Of the last word, what readline leaves as it stands: all before the last break in it, without quotes. */
  readonly kept: string;
  /** The quote that the cursor is in. */
  readonly quote: "" | "'" | '"';
}

/**
 * Takes a bash command line apart. `breaks` are readline's word breaks (COMP_WORDBREAKS): what is inserted replaces only
 * what follows the last of them in a word, and `:` and `=` are among them. `undefined` when a word at the cursor holds a
 * quote that was closed: where readline begins there is not worth guessing.
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
 * What readline is to insert for a word, so that bash reads exactly that word; `undefined` when it cannot be written
 * inside the quote that the cursor is in.
 */
export function writeBashWord(word: string, { kept, quote }: BashLine): string | undefined {
  const text = word.slice(kept.length);
  if (quote === "'") return text.includes("'") ? undefined : text;
  // An exclamation mark in double quotes recalls the history, and a backslash before it would stay.
  if (quote === '"') return text.includes("!") ? undefined : text.replace(/["\\$`]/g, "\\$&");
  return text.replace(/[^\p{L}\p{N}_./:=@%+,-]/gu, "\\$&");
}
