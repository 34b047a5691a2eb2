import type { Cli } from "../cli.ts";
import { makeProgram } from "../program.ts";
import { noInterrupts } from "../runtime/interrupts.ts";
import { makeTerminal } from "../terminal/terminal.ts";
import { complete } from "./candidates.ts";

/**
 * Answers `draftsync __complete SHELL -- WORDS…`, which the completion scripts call, on standard output: a `Completion.kind`, and a line for each candidate. Apart from the other
 * commands, so that little is loaded while somebody types; and whatever goes wrong, nothing is said.
 */
export async function answerShell(args: readonly string[], version: string): Promise<void> {
  const { out } = makeTerminal(process.env);
  const [shell = "", , ...words] = args;
  const lines = await linesFor(shell, words, version).catch(() => ["words"]);
  out(lines.map((line) => `${line}\n`).join(""));
}

/** `words` are those after the program's name, the last one at the cursor; of bash, its line up to there and its word breaks. */
async function linesFor(
  shell: string,
  words: readonly string[],
  version: string,
): Promise<readonly string[]> {
  const { env } = process;
  const environment = { env, cwd: process.cwd() };
  const sources = {
    addresses: async (understood: Parameters<typeof readAddresses>[1]) =>
      readAddresses(environment, understood),
    codes: async () => {
      const { readErrorDocs } = await import("../error-docs.ts");
      return (await readErrorDocs()).map(({ code, title }) => ({ value: code, about: title }));
    },
  };
  const { readAddresses } = await import("./address-sources.ts");
  const program = makeProgram(idle(environment), version);
  if (shell !== "bash") {
    const { kind, candidates } = await complete(program, words, sources);
    return [kind, ...candidates.map(({ value, about }) => (about === "" ? value : `${value}\t${about}`))];
  }
  const { readBashLine, writeBashWord } = await import("./bash-words.ts");
  const line = readBashLine(words[0] ?? "", words[1] ?? "");
  if (line === undefined) return ["words"];
  const { kind, candidates } = await complete(program, line.words, sources);
  return [kind, ...candidates.flatMap(({ value }) => writeBashWord(value, line) ?? [])];
}

/** For a program of which no command is run. */
function idle(environment: Pick<Cli, "env" | "cwd">): Cli {
  const interrupts = noInterrupts();
  const terminal = makeTerminal(environment.env);
  return { ...environment, terminal, signal: interrupts.drain, interrupts, end: () => {} };
}
