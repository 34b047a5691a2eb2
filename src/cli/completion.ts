import { Argument, type Command } from "commander";
import type { Cli, DefineCommand } from "./cli.ts";
import { examples } from "./cli.ts";
import { type Shell, scripts, shells } from "./completion/scripts.ts";

/** `draftsync completion`, and the hidden command that its scripts call. */
export const defineCompletion: DefineCommand = (program, cli) => {
  program
    .command("completion")
    .summary("print the completion script of a shell")
    .description(
      "Prints a script that completes commands, flags, their values, files, and the addresses of the workspace.",
    )
    .addArgument(new Argument("<shell>", "which one").choices(shells))
    .addHelpText(
      "after",
      examples(
        "source <(draftsync completion bash)         in ~/.bashrc",
        "source <(draftsync completion zsh)          in ~/.zshrc, after compinit",
        "draftsync completion fish > ~/.config/fish/completions/draftsync.fish",
      ),
    )
    .action((shell: Shell) => cli.terminal.out(scripts[shell]));
  program
    .command("__complete", { hidden: true })
    .argument("<shell>")
    .argument("[words...]")
    .helpOption(false)
    .action((shell: string, words: readonly string[]) => answer(program, { cli, shell, words }));
};

interface Question {
  readonly cli: Cli;
  readonly shell: string;
  /** After the program's name, the last one at the cursor; of bash, its line up to the cursor and its word breaks. */
  readonly words: readonly string[];
}

/** Somebody is typing: whatever goes wrong, nothing is said. */
async function answer(program: Command, question: Question): Promise<void> {
  const lines = await linesFor(program, question).catch(() => ["words"]);
  question.cli.terminal.out(lines.map((line) => `${line}\n`).join(""));
}

async function linesFor(program: Command, { cli, shell, words }: Question): Promise<readonly string[]> {
  const { complete } = await import("./completion/candidates.ts");
  const sources = {
    addresses: async (understood: Parameters<typeof readAddresses>[1]) => readAddresses(cli, understood),
    codes: async () => {
      const { errorAreas } = await import("./explain/catalogue.ts");
      return errorAreas.flatMap(({ pages }) =>
        Object.entries(pages).map(([value, { title }]) => ({ value, about: title })),
      );
    },
  };
  const { readAddresses } = await import("./completion/address-sources.ts");
  if (shell !== "bash") {
    const { kind, candidates } = await complete(program, words, sources);
    return [kind, ...candidates.map(({ value, about }) => (about === "" ? value : `${value}\t${about}`))];
  }
  const { readBashLine, writeBashWord } = await import("./completion/bash-words.ts");
  const line = readBashLine(words[0] ?? "", words[1] ?? "");
  if (line === undefined) return ["words"];
  const { kind, candidates } = await complete(program, line.words, sources);
  return [kind, ...candidates.flatMap(({ value }) => writeBashWord(value, line) ?? [])];
}
