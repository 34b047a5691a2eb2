import type { Span, YamlIssue } from "./source-text.ts";

/** What YAML 1.2.2 §5.1 allows nowhere, and carriage returns that do not belong to a line end. */
const forbidden = /(?![\t\n\r\x7f-\x9f])\p{Cc}|\r(?!\n)/u;

/** What it allows in quoted scalars only (§5.1, `nb-json`). U+0085 is printable in YAML 1.2, and no line end. */
const quotedOnly = /[\x7f-\x84\x86-\x9f\ufffe\uffff]/u;

/** Whether a text holds characters that only quoted scalars may have. */
export function isQuotedOnly(text: string): boolean {
  return quotedOnly.test(text);
}

/**
 * The text for the lexer, with U+FFFD in place of each forbidden character: some would pass for those that the lexer
 * puts between its lexemes. {@link unprintableIssues} has an error for each line with one.
 */
export function withoutControls(text: string): string {
  return text.replace(new RegExp(forbidden, "gu"), "\ufffd");
}

/** An error for each line with a character that YAML does not allow there. `quoted`: the quoted scalars, in order. */
export function unprintableIssues(text: string, quoted: readonly Span[]): YamlIssue[] {
  const issues: YamlIssue[] = [];
  const either = new RegExp(`${forbidden.source}|${quotedOnly.source}`, "gu");
  for (let match = either.exec(text); match !== null; match = either.exec(text)) {
    const { 0: found, index } = match;
    if (isQuotedOnly(found) && isInside(index, quoted)) continue;
    issues.push({ ...describeIssue(text.charCodeAt(index)), span: [index, index + 1] });
    const lineEnd = text.indexOf("\n", index);
    if (lineEnd < 0) break;
    either.lastIndex = lineEnd;
  }
  return issues;
}

/** Whether one of the spans, which are in order, holds an offset. */
function isInside(offset: number, spans: readonly Span[]): boolean {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.[1] ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return (spans[low]?.[0] ?? Number.POSITIVE_INFINITY) <= offset;
}

function describeIssue(code: number): Omit<YamlIssue, "span"> {
  if (code === 0x0d) {
    return {
      code: "control-character",
      message: "This carriage return (U+000D) has no line feed after it",
      hint: "Save the file with LF or CRLF line ends.",
    };
  }
  const point = code.toString(16).padStart(4, "0").toUpperCase();
  const isInQuotes = isQuotedOnly(String.fromCharCode(code));
  return {
    code: "control-character",
    message: `The character U+${point} cannot be printed; YAML does not allow it ${isInQuotes ? "outside of quotes" : "anywhere"}`,
    hint: isInQuotes ? "Remove it, or put the text in quotes." : "Remove it.",
  };
}
