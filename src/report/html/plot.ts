import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** Size and margins of every drawing, in its own units. */
export const plotSize = { width: 760, height: 250, left: 56, right: 16, top: 14, bottom: 44 } as const;

/** A drawing, its description, and its numbers as a table. */
export interface Plot {
  /** Unique in the page, plain letters. */
  readonly id: string;
  readonly title: string;
  /** How to read the drawing, and what it leaves out. */
  readonly caption: string;
  /** The content of the drawing, for screen readers. */
  readonly description: string;
  readonly drawing: Markup;
  readonly height?: number;
  /** The meaning of each class of marks. */
  readonly legend?: readonly { readonly name: string; readonly mark: string; readonly hatch?: string }[];
  readonly table: {
    readonly head: readonly string[];
    readonly rows: readonly (readonly (string | number)[])[];
  };
}

/** A figure with the drawing, its legend and its numbers. */
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

/** Patterns over marks, which distinguish them without colors; the first is empty. */
const hatches: readonly Markup[] = [
  html``,
  html`<path class="hatch" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"></path>`,
  html`<circle class="hatch" cx="3" cy="3" r="0.6"></circle>`,
  html`<path class="hatch" d="M0 3H6"></path>`,
  html`<path class="hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"></path>`,
  html`<path class="hatch" d="M3 0V6"></path>`,
];

/** The patterns. One drawing of the page contains them for all. */
export const hatchPatterns: Markup = html`<defs>${hatches.map((lines, at) => html`<pattern id="hatch-${at}" width="6" height="6" patternUnits="userSpaceOnUse">${lines}</pattern>`)}</defs>`;

/** The `fill` of the pattern of the `at`th kind of mark. */
export function hatchOf(at: number): string {
  return `url(#hatch-${at % hatches.length})`;
}

/** Maps values to coordinates, and chooses the values that an axis labels. */
export interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

/** A linear scale from 0 to `max`, with about `count` ticks of 1, 2 or 5 times a power of ten. */
export function linearScale(max: number, [from, to]: readonly [number, number], count: number): Scale {
  const rough = max / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => rough <= factor * power * Math.SQRT2) ?? 10);
  const ticks = Array.from({ length: Math.floor(max / step) + 1 }, (_none, i) =>
    Number((i * step).toPrecision(12)),
  );
  return { at: (value) => from + (value / max) * (to - from), ticks };
}

/** A logarithmic scale; lower values than `min` are at `min`. */
export function logScale(
  [min, max]: readonly [number, number],
  [from, to]: readonly [number, number],
): Scale {
  const part = (value: number) => Math.log(Math.max(min, value) / min) / Math.log(max / min);
  const decades = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];
  const ticks = decades.flatMap((decade) => [decade, decade * 2, decade * 5]);
  return {
    at: (value) => from + part(value) * (to - from),
    ticks: ticks.filter((value) => value >= min && value <= max),
  };
}

/** The x and y coordinates between the margins of a drawing. */
export function innerSize(height: number = plotSize.height) {
  const { width, left, right, top, bottom } = plotSize;
  return { x: [left, width - right], y: [height - bottom, top] } as const;
}

/** An axis; its label names the unit. */
export interface Axis {
  readonly label: string;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

/** The axis of a scale. */
export function axisOf({ at, ticks }: Scale, label: string, format: (value: number) => string): Axis {
  return { label, ticks: ticks.map((value) => ({ at: at(value), text: format(value) })) };
}

/** The axes, to draw before the marks. */
export function formatAxes(x: Axis, y: Axis, height: number = plotSize.height): Markup {
  const inner = innerSize(height);
  const [[left, right], [base, top]] = [inner.x, inner.y];
  return html`<g aria-hidden="true">${y.ticks.map(({ at, text }) => html`<line class="grid" x1="${left}" x2="${right}" y1="${n(at)}" y2="${n(at)}"></line><text x="${left - 8}" y="${n(at + 4)}" text-anchor="end">${text}</text>`)}
${x.ticks.map(({ at, text }) => html`<line class="axis" x1="${n(at)}" x2="${n(at)}" y1="${base}" y2="${base + 5}"></line><text x="${n(at)}" y="${base + 18}" text-anchor="middle">${text}</text>`)}
<line class="axis" x1="${left}" x2="${right}" y1="${base}" y2="${base}"></line>
<text class="name" x="${(left + right) / 2}" y="${height - 6}" text-anchor="middle">${x.label}</text>
<text class="name" transform="translate(14 ${(top + base) / 2}) rotate(-90)" text-anchor="middle">${y.label}</text></g>`;
}

/** The attributes of a rectangle, from its left, right, top and base. */
export function placeArea(left: number, right: number, top: number, base: number): Markup {
  return html`x="${n(left)}" y="${n(top)}" width="${n(right - left)}" height="${n(base - top)}"`;
}

/** A coordinate, rounded to what can be seen. */
export function n(value: number): number {
  return Math.round(value * 100) / 100;
}
