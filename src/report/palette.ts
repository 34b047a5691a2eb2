import { styleText } from "node:util";

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
