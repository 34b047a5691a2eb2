import type { Palette } from "../../report/palette.ts";
import { exitCode } from "../exit-code.ts";
import { type Explanation, errorAreas } from "./catalogue.ts";
import type { Ending } from "./error-page.ts";

/** How text is laid out: in which tones, and how many columns wide. */
export interface PageLayout {
  readonly paint: Palette;
  readonly columns: number;
}

/** What is told of a code, for a terminal, with a final line feed. */
export function formatPage({ code, title, meaning, cure, ending }: Explanation, layout: PageLayout): string {
  const { paint } = layout;
  const steps = cure.map((step, at) => fill(step, layout, `  ${cure.length === 1 ? "" : `${at + 1}. `}`));
  return [
    `${paint("strong", code)}: ${title}`,
    "",
    fill(meaning, layout),
    ...(steps.length === 0 ? [] : ["", "What to do:", ...steps]),
    "",
    paint("muted", fill(describeEnding(ending), layout)),
    "",
  ].join("\n");
}

/** All codes with their titles, by area, for a terminal, with a final line feed. */
export function formatList(layout: PageLayout): string {
  const { paint } = layout;
  const width = Math.max(...errorAreas.flatMap(({ pages }) => Object.keys(pages).map((code) => code.length)));
  const areas = errorAreas.map(({ heading, pages }) => {
    const lines = Object.entries(pages).map(([code, { title }]) => `  ${code.padEnd(width)}  ${title}`);
    return [paint("strong", heading), ...lines, ""].join("\n");
  });
  return `${areas.join("\n")}\n${paint("muted", "draftsync explain CODE tells what a code means and what to do about it.")}\n`;
}

/** What a code does to the command, in a sentence. */
export function describeEnding(ending: Ending): string {
  switch (ending) {
    case "goes-on":
      return "It is told beside the result; the command goes on.";
    case "depends":
      return "The exit code depends on the command, and on what else became of the run.";
    case exitCode.interrupted:
      return `The command ends with exit code ${ending}, unless something is in doubt (${exitCode.inDoubt}).`;
    default:
      return `The command ends with exit code ${ending}.`;
  }
}

/** A word; what stands in backticks is one, so that a command can be copied from its line. */
const word = /(?:[^\s`]|`[^`]*`)+/g;

/** Breaks text into lines; those after the first are indented as far as what `lead` puts before it. */
function fill(text: string, { columns }: PageLayout, lead = ""): string {
  const width = Math.max(40, columns);
  const lines = [lead];
  for (const [next] of text.matchAll(word)) {
    const line = lines.at(-1) ?? "";
    const joint = line.trim() === "" || line === lead ? "" : " ";
    if (line.length + joint.length + next.length <= width) lines[lines.length - 1] = `${line}${joint}${next}`;
    else lines.push(`${" ".repeat(lead.length)}${next}`);
  }
  return lines.join("\n");
}
