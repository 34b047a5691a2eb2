import type { ScalarNode, YamlNode } from "./nodes.ts";
import type { YamlIssue } from "./source-text.ts";

/** The end of one entry and the start of the next, as in `{ file_id: 1 }, {`, or a line that starts with a bracket. */
const entryInText = /(?:[}\]]\s*,|\n)\s*[{[]/;

/** In double quotes, an escaped line break and an empty line after it: the library drops the empty line. */
const lostLine = /(?<!\\)(?:\\\\)*\\\r?\n[ \t]*\r?\n/;

/** A block scalar with an indentation of its own (`|2`) that holds blanks only. */
const blockOfBlanks = /^[|>][-+]?[1-9][^\n]*\n[\r\n]* /;

/**
 * Errors for scalars whose text is probably not the one that was meant: in brackets, a quote that is closed in a later
 * entry takes the entries in between into its text; and the library drops the text of {@link blockOfBlanks}, which
 * YAML 1.2.2 §8.1.1.1 keeps. Depth is bounded by the parser.
 */
export function misreadScalars(text: string, root: YamlNode): YamlIssue[] {
  const issues: YamlIssue[] = [];
  const visit = (node: YamlNode | undefined, isInFlow: boolean): void => {
    switch (node?.kind) {
      case "scalar": {
        const issue = misread(text, node, isInFlow);
        if (issue !== undefined) issues.push(issue);
        return;
      }
      case "map":
        for (const { key, value } of node.pairs) {
          visit(key, node.isFlow);
          visit(value, node.isFlow);
        }
        return;
      case "list":
        for (const item of node.items) visit(item, node.isFlow);
        return;
    }
  };
  visit(root, false);
  return issues;
}

function misread(
  text: string,
  { style, value, start, end }: ScalarNode,
  isInFlow: boolean,
): YamlIssue | undefined {
  if (style === "quoted" && isInFlow && entryInText.test(text.slice(start, end))) {
    return {
      code: "yaml-syntax",
      message: "This text in quotes contains what looks like an entry of its own",
      hint: "Close the quote where the text ends. If it is meant, write the entry without brackets and the text as a block (|).",
      span: [start, end],
    };
  }
  if (style === "quoted" && text[start] === '"' && lostLine.test(text.slice(start, end))) {
    return {
      code: "yaml-syntax",
      message: "The empty line after this escaped line break cannot be read",
      hint: "Write \\n where the text has a line break, or write the text as a block (|).",
      span: [start, end],
    };
  }
  if (style !== "block" || typeof value !== "string" || !/^\n*$/.test(value)) return undefined;
  if (!blockOfBlanks.test(text.slice(start, end))) return undefined;
  return {
    code: "yaml-syntax",
    message: "The blanks of this text cannot be read",
    hint: 'Put them in quotes ("  "), or write "" for an empty text.',
    span: [start, end],
  };
}
