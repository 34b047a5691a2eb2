import { sanitizeLine, sanitizeText } from "./sanitize-text.ts";

/**
 * Text from a manifest or the service in Markdown: a code span (GFM §6.1), in which no mention, link, image, HTML or
 * emphasis takes effect. Its fence is longer than any run of backticks in it. In a table it needs {@link tableCell}.
 * Beyond `longest` characters of what is shown, it is cut.
 */
export function codeSpan(text: string, longest = 1_000): string {
  const sanitize = cutText(sanitizeLine(text), longest);
  const runs = sanitize.match(/`+/g) ?? [];
  const fence = "`".repeat(runs.reduce((most, { length }) => Math.max(most, length), 0) + 1);
  // One space on both sides is taken off again by the renderer, so text that has its own needs another.
  const needsSpace = /^$|^`|`$|^ .* $/.test(sanitize);
  return needsSpace ? `${fence} ${sanitize} ${fence}` : `${fence}${sanitize}${fence}`;
}

/** Markdown as a cell of a table (GFM §4.10): a pipe would end the cell, in a code span too. */
export function tableCell(markdown: string): string {
  return markdown.replaceAll("|", "\\|");
}

/**
 * A few words that may hold text from outside: as they are when they are nothing but plain words and numbers, from which
 * no renderer makes a link, a mention or a reference; a code span otherwise.
 */
export function plainWords(text: string, longest = 400): string {
  const isPlain = text.split(/[ ;,()']/).every((word) => /^(?:[a-z]*|\d+(?:\.\d+)?)$/i.test(word));
  return isPlain && text.length <= longest ? text : codeSpan(text, longest);
}

/** Text as HTML that makes no element; line feeds stay. Inside `code` or `pre` it makes no mention or link either. */
export function htmlText(text: string): string {
  return sanitizeText(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** {@link codeSpan} in HTML, for where Markdown is not read: a summary, an HTML block. */
export function htmlCode(text: string, longest = 1_000): string {
  return `<code>${htmlText(cutText(sanitizeLine(text), longest))}</code>`;
}

/** At most `longest` UTF-16 units of a text and a `…`; no character is cut in two. */
export function cutText(text: string, longest: number): string {
  return text.length <= longest ? text : `${headOf(text, longest)}…`;
}

/** The first `count` UTF-16 units of a text, or one fewer where they would end within a character. */
export function headOf(text: string, count: number): string {
  const head = text.slice(0, count);
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

/** The last `count` UTF-16 units of a text, or one fewer where they would begin within a character. */
export function tailOf(text: string, count: number): string {
  const tail = text.slice(Math.max(0, text.length - count));
  return /^[\udc00-\udfff]/.test(tail) ? tail.slice(1) : tail;
}

/**
 * The first line of a comment, by which a bot finds it: `<!-- draftsync:plan workspace=studio-a -->`. It is the same for
 * every comment of a kind and a workspace. Dashes that would end the HTML comment are percent-encoded.
 */
export function commentMarker(kind: "plan" | "drift", workspace: string): string {
  const name = encodeURIComponent(cutText(sanitizeLine(workspace), 80)).replaceAll("--", "%2D%2D");
  return `<!-- draftsync:${kind} workspace=${name} -->`;
}
