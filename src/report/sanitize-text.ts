/**
 * Characters that can take effect in a terminal or a log, or make text read as something else: control characters
 * (with ESC, BEL and carriage return), bidirectional marks and overrides (UAX #9), line and paragraph separators,
 * zero-width characters that join nothing, tags, and lone surrogates.
 */
const active =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be found
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/**
 * Text from a manifest or the service, made inert: every active character is spelled out as `\u{…}`. Line feeds and
 * tabs stay, so that a text keeps its lines; {@link sanitizeLine} is for what must stay on one line. So are the commands
 * that CI systems find in logs.
 */
export function sanitizeText(text: string): string {
  return text
    .replace(active, spellOut)
    .replace(logCommands, (match) => match.slice(0, -1) + spellOut(match.slice(-1)));
}

/**
 * What CI systems take for a command in a log: `::error` and the like at the start of a line (GitHub), `##[error]` and
 * `##vso[` anywhere (GitHub, Azure), `##teamcity[`. The last character of each match is spelled out.
 */
const logCommands = /^[^\S\n]*::|##\w*\[/gm;

function spellOut(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** {@link sanitizeText} on one line: line feeds and tabs are spelled out too. */
export function sanitizeLine(text: string): string {
  return sanitizeText(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}
