import type { Document, Node, YAMLError } from "yaml";
import { isCollection, isScalar, visit } from "yaml";
import { quote, type Span, type YamlIssue } from "./source-text.ts";

type DescribeIssue = Pick<YamlIssue, "message" | "hint"> & Partial<Pick<YamlIssue, "code" | "span">>;

/** Lines with a syntax error that are reported of a document. */
const maxLines = 20;

/**
 * The parser's errors of a document in the words of a user, one a line and at most twenty: what follows the first
 * error is mostly its consequence.
 */
export function syntaxIssues(text: string, document: Document, errors: readonly YAMLError[]): YamlIssue[] {
  const issues = new Map<number, YamlIssue>();
  let lineEnd = 0;
  for (const error of [...errors].sort((a, b) => a.pos[0] - b.pos[0])) {
    if (issues.size > 0 && error.pos[0] < lineEnd) continue;
    if (issues.size === maxLines) break;
    lineEnd = lineEndOf(text, error.pos);
    const described = describeIssue(text, document, error);
    const issue = { code: "yaml-syntax", span: trim(text, error.pos), ...described };
    const line = lineStart(text, issue.span);
    if (!issues.has(line)) issues.set(line, issue);
  }
  return [...issues.values()];
}

function lineStart(text: string, span: Span): number {
  return text.lastIndexOf("\n", span[0] - 1);
}

function lineEndOf(text: string, pos: Span): number {
  const newline = text.indexOf("\n", pos[0]);
  return newline < 0 ? text.length : newline;
}

function describeIssue(text: string, document: Document, error: YAMLError): DescribeIssue {
  switch (error.code) {
    case "TAB_AS_INDENT":
      return {
        code: "yaml-tab",
        message: "A tab stands where YAML wants spaces",
        hint: "Indent with spaces; set the editor to insert spaces for tabs.",
        span: tabSpan(text, error.pos),
      };
    case "BAD_INDENT":
      return unclosedCollection(text, document, error) ?? badIndent(text, error);
    case "MISSING_CHAR":
      return (
        missingQuote(document, error) ??
        unclosedCollection(text, document, error) ??
        missingCharacter(text, error)
      );
    case "MULTILINE_IMPLICIT_KEY":
      return notAPair(text, error);
    case "BLOCK_AS_IMPLICIT_KEY":
      return colonInValue(text, error);
    case "BAD_SCALAR_START":
      return {
        message: `A value cannot start with ${text.charAt(error.pos[0])} unless it is in quotes`,
        hint: "Put the whole value in double quotes.",
      };
    case "BAD_DQ_ESCAPE":
      return {
        message: `${quote(text.slice(error.pos[0], error.pos[0] + 2))} is not an escape that YAML knows in double quotes`,
        hint: "For a backslash write \\\\, or put the text in single quotes.",
      };
    case "ALIAS_PROPS":
      return {
        message: "An alias cannot have a tag or an anchor of its own",
        hint: "Remove what stands before the *.",
      };
    case "BAD_ALIAS":
      return {
        message: "An anchor (&name) or alias (*name) needs a name that does not end in a colon",
        hint: "Put a space before the colon, or give it another name.",
      };
    case "UNEXPECTED_TOKEN":
      return unexpected(text, error);
    default:
      return {
        message: `YAML cannot be read here: ${error.message}`,
        hint: "Check the indentation and the quotes.",
      };
  }
}

function colonInValue(text: string, error: YAMLError): DescribeIssue {
  const span = lineFrom(text, error.pos[0]);
  if (!/:\s*$|:\s/.test(text.slice(...span))) {
    return {
      message: "This line is indented more than the key above it, which has a value already",
      hint: "Start all keys of a mapping in the same column.",
      span: lineFrom(text, span[1]),
    };
  }
  return {
    message: "This value has a colon followed by a space in it, which makes it look like a key of its own",
    hint: 'Put the whole value in quotes: description: "Dragon: winter edition".',
    span,
  };
}

function badIndent(text: string, error: YAMLError): DescribeIssue {
  const what = error.message.startsWith("All sequence") ? "list entry" : "key";
  return {
    message: `This ${what} is not indented like the ones it belongs to`,
    hint: "Start all keys of a mapping, and all dashes of a list, in the same column.",
    span: lineFrom(text, error.pos[0]),
  };
}

function missingCharacter(text: string, error: YAMLError): DescribeIssue {
  if (error.message.startsWith("Implicit map keys") || error.message.startsWith("Implicit keys")) {
    return notAPair(text, error);
  }
  if (error.message.startsWith("Comments")) {
    return {
      message: "A comment needs a space before its #",
      hint: 'Write " #", or put the text in quotes.',
    };
  }
  if (error.message.startsWith("Sequence item without")) {
    return {
      message: "This stands among list entries but has no dash",
      hint: 'Start it with "- ", or give it the indentation of the key it belongs to.',
      span: lineFrom(text, error.pos[0]),
    };
  }
  return {
    message: `YAML cannot be read here: ${error.message}`,
    hint: "Check the indentation and the quotes.",
  };
}

function notAPair(text: string, error: YAMLError): DescribeIssue {
  const span = lineFrom(text, error.pos[0]);
  const glued = /^([\w-]+):(\S.*)$/.exec(text.slice(...span));
  if (glued !== null) {
    return {
      message: "There is no space after the colon, so this is not a key with a value",
      hint: `Write ${glued[1]}: ${glued[2]}`,
      span,
    };
  }
  return {
    message: `This line is neither "key: value" nor a list entry: ${quote(text.slice(...span))}`,
    hint: "Write a colon and a space after the key, or indent the line under the text it continues.",
    span,
  };
}

function unexpected(text: string, error: YAMLError): DescribeIssue {
  if (error.message.includes("block-seq-ind on same line")) {
    return {
      message: "A list cannot start on the line of its key",
      hint: 'Put each "- " on a line of its own under the key.',
    };
  }
  const span = trim(text, error.pos);
  return {
    message: `${quote(text.slice(...span))} is not expected here`,
    hint: "Check the line above: a quote, bracket or indentation may be wrong there.",
    span,
  };
}

/** The error for a quote that starts at an offset and is never closed. */
export function unclosedQuote(offset: number): YamlIssue {
  return {
    code: "yaml-syntax",
    message: "This quote is never closed",
    hint: "Add the closing quote at the end of the text.",
    span: [offset, offset + 1],
  };
}

/** The library reports a missing quote where the text ends; users look for where it starts. */
function missingQuote(document: Document, error: YAMLError): DescribeIssue | undefined {
  if (!error.message.startsWith("Missing closing")) return undefined;
  const start = lastStart(
    document,
    error.pos[0],
    (node) => isScalar(node) && node.type?.startsWith("QUOTE") === true,
  );
  return start === undefined ? undefined : unclosedQuote(start);
}

function unclosedCollection(text: string, document: Document, error: YAMLError): DescribeIssue | undefined {
  const bracket = /end with a (.)$/.exec(error.message)?.[1];
  if (bracket === undefined) return undefined;
  const start = lastStart(
    document,
    error.pos[0],
    (node) => isCollection(node) && node.flow === true && !isClosed(text, node),
  );
  if (start === undefined) return undefined;
  return {
    message: `This bracket is never closed, or what is inside it is not indented enough`,
    hint: `Add the ${bracket} that closes it.`,
    span: [start, start + 1],
  };
}

function isClosed(text: string, node: Node): boolean {
  if (!node.range) return false;
  const [start, end] = node.range;
  return /[\]}]/.test(text.charAt(end - 1)) && end - start > 1;
}

/** Start of the innermost matching node that reaches up to an offset. */
function lastStart(document: Document, offset: number, matches: (node: Node) => boolean): number | undefined {
  let start: number | undefined;
  visit(document, {
    Node: (_key, node) => {
      const range = node.range;
      if (range && range[0] <= offset && range[1] >= offset - 1 && matches(node)) start = range[0];
    },
  });
  return start;
}

/** From an offset to the end of what stands on its line, spaces before and after left out. */
function lineFrom(text: string, offset: number): Span {
  let start = offset;
  while (text[start] === " " || text[start] === "\n" || text[start] === "\r") start += 1;
  if (start >= text.length) start = Math.max(0, Math.min(offset, text.length) - 1);
  const newline = text.indexOf("\n", start);
  const line = text.slice(start, newline < 0 ? text.length : newline);
  return [start, start + Math.max(1, line.trimEnd().length)];
}

function tabSpan(text: string, pos: Span): Span {
  const tab = text.indexOf("\t", pos[0]);
  const start = tab < 0 ? pos[0] : tab;
  return [start, start + 1];
}

function trim(text: string, pos: Span): Span {
  const start = Math.min(pos[0], Math.max(0, text.length - 1));
  return [start, Math.max(start + 1, Math.min(pos[1], text.length))];
}
