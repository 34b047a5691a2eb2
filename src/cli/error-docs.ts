import { readFile } from "node:fs/promises";
import { type ExitCode, exitCode } from "./runtime/exit-code.ts";

/**
 * What a code does to the command: the exit code that it ends with, `goes-on` for a warning or a note, or `depends` where
 * the command or the rest of the run decides it.
 */
export type Ending = ExitCode | "goes-on" | "depends";

/** A section of docs/errors.md, as plain text with commands and settings in backticks. */
export interface ErrorDoc {
  readonly code: string;
  /** The heading above the section. */
  readonly area: string;
  /** What happened, in one line without a full stop. */
  readonly title: string;
  /** What it means and how it happens. */
  readonly meaning: string;
  /** What to do, one step each, the most likely first. Empty where there is nothing to do. */
  readonly cure: readonly string[];
  readonly ending: Ending;
}

/** Reads docs/errors.md of this package: the same place from src/cli, and from the chunks in dist. */
export async function readErrorDocs(): Promise<readonly ErrorDoc[]> {
  return parseErrorDocs(await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8"));
}

/** Parses the fixed form of docs/errors.md, which CONTRIBUTING.md describes. Throws a `TypeError` for a section of another form. */
export function parseErrorDocs(markdown: string): readonly ErrorDoc[] {
  const [, ...areas] = markdown.split(/^## /m);
  return areas.flatMap((text) => {
    const [introduction = "", ...sections] = text.split(/^### /m);
    const [area = ""] = introduction.split("\n", 1);
    return sections.map((section) => parseSection(section, area));
  });
}

const heading = /^`(?<code>[^`\n]+)`\n\n\*\*(?<title>.+)\.\*\*(?: (?<ending>.+)\.)?\n/;
const body = /\n(?<meaning>(?:(?!- )\S.*\n)+)(?:\n(?<cure>- .+\n(?:(?:- | {2}\S).+\n)*))?\n*$/;
const sectionForm = new RegExp(heading.source + body.source);

function parseSection(section: string, area: string): ErrorDoc {
  const { code, title, ending, meaning, cure } = sectionForm.exec(section)?.groups ?? {};
  if (code === undefined || title === undefined || meaning === undefined)
    throw new TypeError(`docs/errors.md has a malformed section: ${section.slice(0, 80)}`);
  const steps = cure === undefined ? [] : cure.slice(2).split(/^- /m).map(asLine);
  return { code, area, title, meaning: asLine(meaning), cure: steps, ending: parseEnding(ending, code) };
}

function asLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}

function parseEnding(sentence: string | undefined, code: string): Ending {
  if (sentence === undefined) return "depends";
  if (sentence === "The command continues") return "goes-on";
  const ending = Object.values(exitCode).find((each) => sentence === `Exit code ${each}`);
  if (ending === undefined) throw new TypeError(`docs/errors.md has a malformed exit code at ${code}`);
  return ending;
}
