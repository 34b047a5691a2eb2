import type { ExitCode } from "../exit-code.ts";

/**
 * What a code does to the command: the exit code that it ends with, `goes-on` for a warning or a note, or `depends` where
 * more than the code decides it (what else became of the run, or which command it was).
 */
export type Ending = ExitCode | "goes-on" | "depends";

/** What is told of a code: plain text, with commands and settings in backticks. */
export interface ErrorPage {
  /** One line that says what has happened, without a full stop. */
  readonly title: string;
  /** What it means and how it comes about. */
  readonly meaning: string;
  /** What to do, a step each, the likeliest first; none where there is nothing to do. */
  readonly cure: readonly string[];
  /** Where it is otherwise than in the rest of its area. */
  readonly ending?: Ending;
}

/** Codes that come from the same place. */
export interface ErrorArea {
  readonly heading: string;
  /** Where users meet these codes. */
  readonly about: string;
  /** What its codes do to the command, where a page says nothing else. */
  readonly ending: Ending;
  readonly pages: Readonly<Record<string, ErrorPage>>;
}
