import stringWidth from "fast-string-width";
import { draftIdOf } from "../model/address.ts";
import { minuteText } from "../model/time.ts";
import type { Palette } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { describeEvidence } from "./provenance-text.ts";
import { sanitizeLine } from "./sanitize-text.ts";
import type { StateEntry } from "./state-view.ts";

/**
 * One line an entry, in columns, below a line for its draft; two lines an entry where one would be wider than `columns`. Ends with
 * a line feed unless there is none.
 */
export function formatEntryList(entries: readonly StateEntry[], paint: Palette, columns = Infinity): string {
  const widths = entries.map(({ address }) => stringWidth(sanitizeLine(address)));
  const width = Math.min(
    72,
    widths.reduce((most, one) => Math.max(most, one), 0),
  );
  const isNarrow = entries.some((entry) => width + 6 + entry.is.length + provenance(entry).length > columns);
  let lastDraft: number | undefined;
  return entries
    .map((entry) => {
      const draftId = draftIdOf(entry.address);
      const isFirst = draftId !== undefined && draftId !== lastDraft;
      lastDraft = draftId;
      const heading = withTitle({ address: `drafts/${draftId}`, title: entry.title });
      const what = entry.type === "operation" ? paint("warning", entry.is) : sanitizeLine(entry.is);
      const address = sanitizeLine(entry.address);
      const margin = draftId === undefined ? "" : "  ";
      const gap = isNarrow ? `\n${margin}  ` : `${" ".repeat(Math.max(0, width - stringWidth(address)))}  `;
      const line = `${margin}${address}${gap}${what}  ${paint("muted", provenance(entry))}\n`;
      return isFirst ? `${paint("strong", sanitizeLine(heading))}\n${line}` : line;
    })
    .join("");
}

/** Everything that is recorded of an entry, a line each; no final line feed. */
export function formatEntry(entry: StateEntry, paint: Palette): string {
  const width = Math.max(...Object.keys(entry.details).map((name) => name.length));
  const values = Object.entries(entry.details).map(([name, value]) => {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return `  ${name.padEnd(width)}  ${sanitizeLine(text)}`;
  });
  const head = `${paint("strong", sanitizeLine(withTitle(entry)))}  ${entry.type}, ${paint("muted", provenance(entry))}`;
  return [head, ...values].join("\n");
}

function provenance({ confirmed_by, at: time }: StateEntry): string {
  const at = minuteText(time);
  switch (confirmed_by) {
    case "nobody":
      return `sent ${at}, outcome unknown`;
    case "manifest":
      return "by the manifest";
    case "service":
    case "storage":
      return `confirmed by the ${confirmed_by} ${at}`;
    default:
      return `${describeEvidence(confirmed_by)} ${at}`;
  }
}
