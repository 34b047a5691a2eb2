import type { Diagnostic } from "../../model/diagnostic.ts";
import { formatLocation } from "../../model/source-location.ts";
import { isoTime } from "../../model/time.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** Diagnostics as one block; nothing when there is none. `id` is one of the page's elements, of plain letters. */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  { id, title }: { readonly id: string; readonly title: string },
): Markup | undefined {
  if (diagnostics.length === 0) return undefined;
  return html`<section class="callout warning" aria-labelledby="${id}"><h2 id="${id}">${title}</h2><ul>${diagnostics.map(formatDiagnostic)}</ul></section>`;
}

function formatDiagnostic({
  severity,
  message,
  code,
  place,
  address,
  excerpt = [],
  hint,
}: Diagnostic): Markup {
  const where = place === undefined ? address : formatLocation(place);
  const lines = excerpt.map(({ line, text }) => `${line} | ${text}`).join("\n");
  return html`<li><strong>${severity === "info" ? "note" : severity}:</strong> ${message} <span class="note">[${code}]</span>${where !== undefined && html` <code>${where}</code>`}${lines !== "" && html`<pre tabindex="0">${lines}</pre>`}${hint !== undefined && html` <span class="note">${hint}</span>`}</li>`;
}

/** Epoch milliseconds as people read them: `2026-11-21 18:30:00 UTC`. */
export function formatStamp(at: number): string {
  const iso = isoTime(at);
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}
