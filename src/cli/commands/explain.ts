import { nearest } from "../../manifest/nearest.ts";
import type { Palette } from "../../report/palette.ts";
import { type Cli, type DefineCommand, examples, withFormat } from "../cli.ts";
import type { Ending, ErrorDoc } from "../error-docs.ts";
import { CliError } from "../runtime/cli-error.ts";
import { printJson } from "../terminal/print-json.ts";

/** Longer lines are hard to read. */
const maxColumns = 100;
const maxSuggested = 5;

interface Layout {
  readonly paint: Palette;
  readonly columns: number;
}

/** `draftsync explain` */
export const defineExplain: DefineCommand = (program, cli) => {
  withFormat(program.command("explain"))
    .summary("explain an error code, and what to do")
    .description(
      "Explains an error code in square brackets: what happened, why, and what to do. Lists all codes if none is given.",
    )
    .argument("[code]", "as the message shows it, such as lock-held")
    .addHelpText(
      "after",
      examples("draftsync explain lock-held", "draftsync explain --json | jq -r '.codes[].code'"),
    )
    .action((code: string | undefined, flags: { readonly json?: boolean }) => runExplain(cli, code, flags));
};

async function runExplain(
  cli: Cli,
  text: string | undefined,
  flags: { readonly json?: boolean },
): Promise<void> {
  const { terminal } = cli;
  const { readErrorDocs } = await import("../error-docs.ts");
  const docs = await readErrorDocs();
  const layout = { paint: terminal.paintOut, columns: Math.min(maxColumns, terminal.columns ?? maxColumns) };
  if (text === undefined) {
    if (flags.json) printJson(cli, { format_version: 1, codes: docs });
    else terminal.out(formatList(docs, layout));
    return;
  }
  const code = text
    .trim()
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
  const doc = docs.find((each) => each.code === code);
  if (doc === undefined) throw await unknownCode(code, docs);
  if (flags.json) printJson(cli, { format_version: 1, ...doc });
  else terminal.out(formatDoc(doc, layout));
}

function formatDoc({ code, title, meaning, cure, ending }: ErrorDoc, layout: Layout): string {
  const { paint } = layout;
  const steps = cure.map((step, at) => wrap(step, layout, `  ${cure.length === 1 ? "" : `${at + 1}. `}`));
  return [
    `${paint("strong", code)}: ${title}`,
    "",
    wrap(meaning, layout),
    ...(steps.length === 0 ? [] : ["", "What to do:", ...steps]),
    "",
    paint("muted", describeEnding(ending)),
    "",
  ].join("\n");
}

function formatList(docs: readonly ErrorDoc[], { paint }: Layout): string {
  const width = Math.max(...docs.map(({ code }) => code.length));
  const lines = docs.flatMap(({ code, area, title }, at) => {
    const heading = area === docs[at - 1]?.area ? [] : [...(at === 0 ? [] : [""]), paint("strong", area)];
    return [...heading, `  ${code.padEnd(width)}  ${title}`];
  });
  const advice = paint("muted", "Run `draftsync explain CODE` for the cause and what to do.");
  return `${lines.join("\n")}\n\n${advice}\n`;
}

function describeEnding(ending: Ending): string {
  if (ending === "goes-on") return "The command continues.";
  if (ending === "depends") return "The exit code depends on the command and on the rest of the run.";
  return `Exit code ${ending}.`;
}

/** A word. Text in backticks is one word, so that a command can be copied from its line. */
const word = /(?:[^\s`]|`[^`]*`)+/g;

/** Breaks text into lines; lines after the first are indented by the length of `lead`. */
function wrap(text: string, { columns }: Layout, lead = ""): string {
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

async function unknownCode(unknown: string, docs: readonly ErrorDoc[]): Promise<CliError> {
  const codes = docs.map(({ code }) => code);
  const parts = unknown.split("-").filter((part) => part.length > 2);
  const shared = (code: string) => code.split("-").filter((part) => parts.includes(part)).length;
  const related = codes.filter((code) => shared(code) > 0).sort((a, b) => shared(b) - shared(a));
  const containing = codes.filter((code) => unknown.length > 2 && code.includes(unknown));
  const similar = [...new Set([nearest(unknown, codes) ?? [], containing, related].flat())];
  const suggestion =
    similar.length === 0 ? "" : `Did you mean ${similar.slice(0, maxSuggested).join(", ")}? `;
  return new CliError(`"${unknown}" is not an error code`, {
    code: "unknown-code",
    hint: `${suggestion}\`draftsync explain\` lists all codes.`,
  });
}
