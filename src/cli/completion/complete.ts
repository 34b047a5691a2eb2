import { isPostgresLocation } from "../../ledger/postgres/postgres-location.ts";
import { formatAddress, publicationAddress } from "../../model/address.ts";
import { systemClock } from "../../model/ports.ts";
import { doubtsToSettle } from "../../plan/doubts.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { makeProgram } from "../program.ts";
import { noInterrupts } from "../runtime/interrupts.ts";
import { makeTerminal } from "../terminal/terminal.ts";
import { complete, type ParsedLine } from "./candidates.ts";

/**
 * Runs `draftsync __complete SHELL -- WORDS…` for the completion scripts: prints a `Completion.kind`, then a line for each
 * candidate. It loads little, because it runs while the user types, and it prints no errors.
 */
export async function completeForShell(args: readonly string[], version: string): Promise<void> {
  const { out } = makeTerminal(process.env);
  const [shell = "", , ...words] = args;
  const lines = await listLines(shell, words, version).catch(() => ["words"]);
  out(lines.map((line) => `${line}\n`).join(""));
}

/** `words` are those after the program's name, the last one at the cursor; for bash, the line up to the cursor and its word breaks. */
async function listLines(
  shell: string,
  words: readonly string[],
  version: string,
): Promise<readonly string[]> {
  const environment = { env: process.env, cwd: process.cwd() };
  const sources = {
    addresses: (line: ParsedLine) => readAddresses(environment, line),
    workspaces: async ({ given, path: [command] }: ParsedLine) => {
      if (command !== "fleet") return [];
      const { loadFleet } = await import("../fleet/fleet-config.ts");
      const fleet = await loadFleet({ ...environment, file: given.get("fleet") });
      return (await fleet.declared()).map(({ name }) => name);
    },
    codes: async () => {
      const { readErrorDocs } = await import("../error-docs.ts");
      return (await readErrorDocs()).map(({ code, title }) => ({ value: code, about: title }));
    },
  };
  const program = makeProgram(idleCli(environment), version);
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

/** For a program that runs no command. */
function idleCli(environment: Pick<Cli, "env" | "cwd">): Cli {
  const interrupts = noInterrupts();
  const terminal = makeTerminal(environment.env);
  return { ...environment, terminal, signal: interrupts.drain, interrupts, end: () => {} };
}

/** Reading more manifests would delay typing. The ledger has the addresses of the others once they are applied. */
const maxManifestBytes = 48 * 1024;

/**
 * Addresses for a command line: those in doubt for `resolve`, recorded ones for `state` and `history`, otherwise recorded and
 * desired ones. Reads files only: no network (so no PostgreSQL), no lock, no migration. Rejects where a command would.
 */
async function readAddresses(
  { cwd, env }: Pick<Cli, "cwd" | "env">,
  { given, path }: Pick<ParsedLine, "given" | "path">,
): Promise<readonly string[]> {
  const { loadConfig } = await import("../config.ts");
  const [named, state] = [given.get("config"), given.get("state")];
  const flags = {
    ...(named === undefined ? {} : { config: named }),
    ...(state === undefined ? {} : { state }),
  };
  const config = await loadConfig({ cwd, env, flags });
  const [command] = path;
  if (command === "resolve") return readRecorded(config, "in_doubt");
  if (command === "state" || command === "history") return readRecorded(config, "all");
  const sources = await Promise.allSettled([readDesired(config), readRecorded(config, "all")]);
  return sources.flatMap((read) => (read.status === "fulfilled" ? read.value : []));
}

async function readRecorded(
  { stateLocation: location }: Config,
  which: "all" | "in_doubt",
): Promise<readonly string[]> {
  if (isPostgresLocation(location)) return [];
  const { openLedgerReader } = await import("../../ledger/open-ledger.ts");
  const reader = await openLedgerReader({ location, clock: systemClock });
  try {
    const recorded = await reader.load();
    const inDoubt = [...doubtsToSettle(recorded).keys()];
    if (which === "in_doubt") return inDoubt;
    return [
      ...recorded.attachments.flatMap(({ address, draftId }) => [`drafts/${draftId}`, address]),
      ...recorded.publications.map(({ draftId }) => publicationAddress(draftId)),
      ...recorded.duplicates.map(({ name }) => formatAddress({ type: "duplicate", name })),
      ...inDoubt,
    ];
  } finally {
    await reader.close();
  }
}

async function readDesired({ root, manifests }: Config): Promise<readonly string[]> {
  const { listAddresses } = await import("../../manifest/list-addresses.ts");
  return listAddresses({ root, patterns: manifests, maxBytes: maxManifestBytes });
}
