import stringWidth from "fast-string-width";
import { inertLine } from "./inert-text.ts";
import type { Palette } from "./palette.ts";
import type { StateEntry } from "./state-view.ts";

/** One line an entry, in columns; ends with a line feed unless there is none. */
export function formatEntryList(entries: readonly StateEntry[], paint: Palette): string {
  const widths = entries.map(({ address }) => stringWidth(inertLine(address)));
  const width = Math.min(
    72,
    widths.reduce((most, one) => Math.max(most, one), 0),
  );
  return entries
    .map((entry) => {
      const what = entry.type === "operation" ? paint("warning", entry.is) : inertLine(entry.is);
      const address = inertLine(entry.address);
      const gap = " ".repeat(Math.max(0, width - stringWidth(address)));
      return `${address}${gap}  ${what}  ${paint("muted", provenance(entry))}\n`;
    })
    .join("");
}

/** Everything that is recorded of an entry, a line each; no final line feed. */
export function formatEntry(entry: StateEntry, paint: Palette): string {
  const width = Math.max(...Object.keys(entry.details).map((name) => name.length));
  const values = Object.entries(entry.details).map(([name, value]) => {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return `  ${name.padEnd(width)}  ${inertLine(text)}`;
  });
  const head = `${paint("strong", inertLine(entry.address))}  ${entry.type}, ${paint("muted", provenance(entry))}`;
  return [head, ...values].join("\n");
}

function provenance({ confirmed_by, at }: StateEntry): string {
  if (confirmed_by === "nobody") return `sent ${at}, outcome unknown`;
  return at === "" ? `by ${confirmed_by}` : `confirmed by ${confirmed_by} ${at}`;
}
