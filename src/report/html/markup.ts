import { sanitizeJson } from "../../model/sanitize-json.ts";
import { sanitizeText } from "../sanitize-text.ts";

let wrap: (text: string) => Markup;

/** HTML that was made in this file: by {@link html}, which escapes, or by the two ways to put something in whole. */
export class Markup {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static {
    wrap = (text) => new Markup(text);
  }

  toString(): string {
    return this.#text;
  }
}

/** A value in a template. Text is escaped; `undefined` and `false` are empty; the items of a list follow each other. */
export type Child = Markup | string | number | undefined | false | readonly Child[];

/**
 * Markup from a template. Every value is text, for an element's content or a quoted attribute, unless it is markup itself:
 * nothing from outside reaches the page in another way. Characters that act on their own (controls, bidirectional marks)
 * are spelled out as in every other format.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Child[]): Markup {
  let text = parts[0] ?? "";
  for (const [at, value] of values.entries()) text += render(value) + (parts[at + 1] ?? "");
  return wrap(text);
}

function render(child: Child): string {
  if (child === undefined || child === false) return "";
  if (typeof child === "string") return escapeText(child);
  if (typeof child === "object" && !(child instanceof Markup)) return child.map(render).join("");
  return String(child);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return sanitizeText(text).replace(/[&<>"']/g, (char) => entities[char] ?? char);
}

/**
 * Data for the page's script, as a block that no browser runs. What could end the block, or change how it is read
 * (HTML §4.12.1.3: `<!--`, `<script`, `</script`), is written with an escape of JSON; every other `<` stays, for its size.
 */
export function dataBlock(id: string, value: unknown): Markup {
  const json = sanitizeJson(value)
    .replaceAll("</", "<\\/")
    .replace(/<(?=!|script)/gi, "\\u003c");
  return wrap(`<script type="application/json" id="${escapeText(id)}">${json}</script>`);
}

/**
 * The page's own script or style, whole. Throws when the text contains what would end the element early: its digest would then be of another
 * text than the one the browser sees.
 */
export function ownBlock(element: "script" | "style", text: string): Markup {
  if (/<\/|<!--/.test(text)) throw new TypeError(`the page's ${element} cannot be part of a page`);
  return wrap(`<${element}>${text}</${element}>`);
}
