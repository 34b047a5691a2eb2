import { inertLine } from "./inert-text.ts";

/**
 * Text from a manifest or the service in Markdown: a code span (GFM §6.1), in which no mention, link, image, HTML or
 * emphasis takes effect. Its fence is longer than any run of backticks in it, and it may stand in a table.
 */
export function codeSpan(text: string): string {
  const inert = inertLine(text).replaceAll("|", "\\|");
  const longest = Math.max(0, ...(inert.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  const padded = inert === "" || inert.startsWith("`") || inert.endsWith("`") ? ` ${inert} ` : inert;
  return `${fence}${padded}${fence}`;
}
