import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** Width and height of every drawing, and the margins around it, in its own units. */
export const plotSize = { width: 760, height: 250, left: 56, right: 16, top: 14, bottom: 44 } as const;

/** A plot with what it shows in words and in numbers. */
export interface Plot {
  /** Of the page's elements; unique, and of plain letters. */
  readonly id: string;
  readonly title: string;
  /** Below the title: how it is to be read, and what it leaves out. */
  readonly caption: string;
  /** What is to be seen, for who cannot see it. */
  readonly description: string;
  readonly drawing: Markup;
  readonly height?: number;
  /** What classes of marks mean. */
  readonly legend?: readonly { readonly name: string; readonly mark: string; readonly hatch?: string }[];
  readonly table: {
    readonly head: readonly string[];
    readonly rows: readonly (readonly (string | number)[])[];
  };
}

/** A figure: the drawing, its legend, and its numbers below. */
export function formatPlot({
  id,
  title,
  caption,
  description,
  drawing,
  height,
  legend = [],
  table,
}: Plot): Markup {
  const entries = legend.map(
    ({ name, mark, hatch }) =>
      html`<li><svg viewBox="0 0 14 14" aria-hidden="true"><rect class="mark ${mark}" x="1" y="1" width="12" height="12"></rect>${hatch !== undefined && html`<rect fill="${hatch}" x="1" y="1" width="12" height="12"></rect>`}</svg>${name}</li>`,
  );
  const head = table.head.map((name) => html`<th scope="col">${name}</th>`);
  const rows = table.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`);
  return html`<figure aria-labelledby="${id}-h"><h3 id="${id}-h">${title}</h3><figcaption>${caption}</figcaption>
<div class="drawing" tabindex="0" role="group" aria-label="${title}"><svg viewBox="0 0 ${plotSize.width} ${height ?? plotSize.height}" role="img" aria-labelledby="${id}-t ${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${drawing}</svg></div>
${entries.length > 0 && html`<ul class="legend">${entries}</ul>`}
<details><summary>Numbers</summary><div class="scroll" tabindex="0" role="group" aria-label="Numbers: ${title}"><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div></details></figure>`;
}

/** Lines and dots over a mark, so that marks are told apart without their colours; the first is none. */
const hatches: readonly Markup[] = [
  html``,
  html`<path class="hatch" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"></path>`,
  html`<circle class="hatch" cx="3" cy="3" r="0.6"></circle>`,
  html`<path class="hatch" d="M0 3H6"></path>`,
  html`<path class="hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"></path>`,
  html`<path class="hatch" d="M3 0V6"></path>`,
];

/** The patterns, for one drawing of the page; every drawing may use them. */
export const hatchPatterns: Markup = html`<defs>${hatches.map((lines, at) => html`<pattern id="hatch-${at}" width="6" height="6" patternUnits="userSpaceOnUse">${lines}</pattern>`)}</defs>`;

/** The `fill` of the pattern of the `at`th kind of mark. */
export function hatchOf(at: number): string {
  return `url(#hatch-${at % hatches.length})`;
}

/** A place on an axis, in the drawing's units, and what stands there. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** Two axes with their ticks and labels. Labels name the unit. */
export interface Axes {
  readonly x: { readonly label: string; readonly ticks: readonly Tick[] };
  readonly y: { readonly label: string; readonly ticks: readonly Tick[] };
  readonly height?: number;
}

/** The axes, to stand behind the marks. */
export function formatAxes({ x, y, height = plotSize.height }: Axes): Markup {
  const { width, left, right, top, bottom } = plotSize;
  const base = height - bottom;
  const middle = (left + width - right) / 2;
  return html`<g aria-hidden="true">${y.ticks.map(({ at, text }) => html`<line class="grid" x1="${left}" x2="${width - right}" y1="${n(at)}" y2="${n(at)}"></line><text x="${left - 8}" y="${n(at + 4)}" text-anchor="end">${text}</text>`)}
${x.ticks.map(({ at, text }) => html`<line class="axis" x1="${n(at)}" x2="${n(at)}" y1="${base}" y2="${base + 5}"></line><text x="${n(at)}" y="${base + 18}" text-anchor="middle">${text}</text>`)}
<line class="axis" x1="${left}" x2="${width - right}" y1="${base}" y2="${base}"></line>
<text class="name" x="${middle}" y="${height - 6}" text-anchor="middle">${x.label}</text>
<text class="name" transform="translate(14 ${(top + base) / 2}) rotate(-90)" text-anchor="middle">${y.label}</text></g>`;
}

/** A coordinate, with no more digits than can be seen. */
export function n(value: number): number {
  return Math.round(value * 100) / 100;
}
