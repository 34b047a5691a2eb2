import type { Cli, DefineCommand } from "./cli.ts";
import { examples } from "./cli.ts";
import { CliError } from "./cli-error.ts";

/** Wider lines are hard to read. */
const widest = 100;

/** `draftsync explain` */
export const defineExplain: DefineCommand = (program, cli) => {
  program
    .command("explain")
    .summary("say what the code of an error means, and what to do")
    .description(
      "Says what a code in square brackets means, how it comes about, and what to do. Without a code it lists them all.",
    )
    .argument("[code]", "as it stands in the message, such as lock-held")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      examples("draftsync explain lock-held", "draftsync explain --json | jq -r '.codes[].code'"),
    )
    .action((code: string | undefined, flags: { readonly json?: boolean }) => runExplain(cli, code, flags));
};

async function runExplain(
  cli: Cli,
  word: string | undefined,
  flags: { readonly json?: boolean },
): Promise<void> {
  const { terminal } = cli;
  const { allCodes, explanationOf } = await import("./explain/catalogue.ts");
  const { formatList, formatPage } = await import("./explain/page-text.ts");
  const { printJson } = await import("./print-json.ts");
  const layout = { paint: terminal.paintOut, columns: Math.min(widest, terminal.columns ?? widest) };
  if (word === undefined) {
    const codes = allCodes().flatMap((code) => explanationOf(code) ?? []);
    return flags.json ? printJson(cli, { format_version: 1, codes }) : terminal.out(formatList(layout));
  }
  const code = word
    .trim()
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
  const page = explanationOf(code);
  if (page === undefined) throw await unknownCode(code, allCodes());
  if (flags.json) printJson(cli, { format_version: 1, ...page });
  else terminal.out(formatPage(page, layout));
}

async function unknownCode(code: string, codes: readonly string[]): Promise<CliError> {
  const { similarCodes } = await import("./explain/similar-codes.ts");
  const similar = similarCodes(code, codes);
  return new CliError(`there is no code ${code}`, {
    code: "unknown-code",
    hint:
      similar.length === 0
        ? "`draftsync explain` lists them all."
        : `Did you mean ${similar.join(", ")}? \`draftsync explain\` lists them all.`,
  });
}
