import type { Cli } from "./cli.ts";
import { complete } from "./completion/candidates.ts";
import { noInterrupts } from "./interrupts.ts";
import { makeProgram } from "./program.ts";
import { makeTerminal } from "./terminal.ts";

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
  const surroundings = { env, cwd: process.cwd() };
  const sources = {
    addresses: async (understood: Parameters<typeof readAddresses>[1]) =>
      readAddresses(surroundings, understood),
    codes: async () => {
      const { readErrorDocs } = await import("./error-docs.ts");
      return (await readErrorDocs()).map(({ code, title }) => ({ value: code, about: title }));
    },
  };
  const { readAddresses } = await import("./completion/address-sources.ts");
  const program = makeProgram(idle(surroundings), version);
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

/** For a program of which no command is run. */
function idle(surroundings: Pick<Cli, "env" | "cwd">): Cli {
  const interrupts = noInterrupts();
  const terminal = makeTerminal(surroundings.env);
  return { ...surroundings, terminal, signal: interrupts.drain, interrupts, end: () => {} };
}
