import { styleText } from "node:util";
import type { Action } from "../model/action.ts";

/** How a piece of text is meant; the palette says how it looks. */
export type Tone =
  | "added"
  | "removed"
  | "changed"
  | "final"
  | "muted"
  | "strong"
  | "error"
  | "warning"
  | "info"
  | "plain";

/** Gives text a tone. Without colour it returns the text as it is. */
export type Palette = (tone: Tone, text: string) => string;

const styles = {
  added: "green",
  removed: "red",
  changed: "yellow",
  final: "magenta",
  muted: "dim",
  strong: "bold",
  error: "red",
  warning: "yellow",
  info: "cyan",
} as const;

/** A palette of the terminal's own sixteen colours, or none at all. */
export function makePalette(colour: boolean): Palette {
  if (!colour) return (_tone, text) => text;
  return (tone, text) => (tone === "plain" || text === "" ? text : styleText(styles[tone], text));
}

/** The tone of each action. */
export const tones: Readonly<Record<Action, Tone>> = {
  create: "added",
  update: "changed",
  replace: "changed",
  adopt: "info",
  delete: "removed",
  publish: "final",
  duplicate: "final",
  forget: "muted",
  in_doubt: "warning",
  noop: "plain",
};
