import MarkdownIt from "markdown-it";
import type { DefaultTreeAdapterTypes } from "parse5";
import { parseFragment } from "parse5";

/** An element of a rendered page. */
export interface Rendered {
  readonly tag: string;
  readonly attributes: readonly string[];
  /** Tags of the elements around it, the outermost first. */
  readonly path: readonly string[];
  /** The complete text. */
  readonly text: string;
}

/** A page as built by a browser. */
export interface RenderedPage {
  readonly elements: readonly Rendered[];
  readonly comments: readonly string[];
  /** The text outside `code` and `pre`, where GitHub and GitLab make mentions, links and references. */
  readonly livelyText: string;
}

/** CommonMark with HTML, tables, strikethrough and automatic links. */
const renderer = new MarkdownIt({ html: true, linkify: true });

/** Renders Markdown and parses the HTML. */
export function render(markdown: string): RenderedPage {
  const elements: Rendered[] = [];
  const comments: string[] = [];
  const lively: string[] = [];
  const visit = (node: DefaultTreeAdapterTypes.ChildNode, path: readonly string[]): string => {
    if (node.nodeName === "#comment" && "data" in node) comments.push(node.data);
    if ("value" in node) {
      if (!path.includes("code") && !path.includes("pre")) lively.push(node.value);
      return node.value;
    }
    if (!("tagName" in node)) return "";
    const { tagName: tag, attrs, childNodes } = node;
    const text = childNodes.map((child) => visit(child, [...path, tag])).join("");
    elements.push({ tag, attributes: attrs.map(({ name }) => name), path, text });
    return text;
  };
  for (const node of parseFragment(renderer.render(markdown)).childNodes) visit(node, []);
  return { elements, comments, livelyText: lively.join("\n") };
}
