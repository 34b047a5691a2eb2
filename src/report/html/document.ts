import { createHash } from "node:crypto";
import type { Diagnostic } from "../../model/diagnostic.ts";
import { formatLocation } from "../../model/source-location.ts";
import { isoTime } from "../../model/time.ts";
import type { Child, Markup } from "./markup.ts";
import { html, ownBlock } from "./markup.ts";

/** What every page has inlined: the text of its one script and of its one stylesheet. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** What a page shows. */
export interface PageContent {
  readonly title: string;
  /** Below the title: what the page is of. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  readonly main: Child;
}

/**
 * A whole page in one file. Its policy lets it load nothing: the script and the style are known by their digests, pictures
 * are `data:` URLs, and a form leads nowhere. Ends with a line feed.
 */
export function formatPage({ title, facts, main }: PageContent, { script, style }: PageAssets): string {
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
${ownBlock("style", style)}
</head>
<body>
<a class="skip" href="#list">Skip to the list</a>
<header class="top">
<div><p class="brand">draftsync</p><h1>${title}</h1></div>
<div class="tools" hidden><button type="button" id="theme" aria-pressed="false">Dark</button><button type="button" id="help" aria-haspopup="dialog">Keys <kbd>?</kbd></button></div>
<dl class="facts">${facts.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
</header>
<main>
${main}
</main>
${keys}
${ownBlock("script", script)}
</body>
</html>
`.toString();
}

const keys = html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2><dl>
<div><dt><kbd>/</kbd></dt><dd>search</dd></div>
<div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous entry</dd></div>
<div><dt><kbd>o</kbd> <kbd>Enter</kbd></dt><dd>open or close an entry</dd></div>
<div><dt><kbd>Esc</kbd></dt><dd>clear search and filters</dd></div>
<div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
</dl><form method="dialog"><button>Close</button></form></dialog>`;

/** For a Content-Security-Policy: the digest of the text between the tags. */
function digestOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

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
