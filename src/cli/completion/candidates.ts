import type { Command } from "commander";
import { fileKinds } from "../../model/resource.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";
import { type ParsedLine, parseLine } from "./command-words.ts";

/** A word to complete with. */
export interface Candidate {
  /** The whole word. */
  readonly value: string;
  /** A description of one line, or empty. */
  readonly about: string;
}

/**
 * The candidates at the cursor. The shell finds `files` and `folders` itself; `nospace`: some candidates are only the start of a
 * word.
 */
export interface Completion {
  readonly kind: "words" | "nospace" | "files" | "folders";
  readonly candidates: readonly Candidate[];
}

/** Candidates that are read when needed. */
export interface CompletionSources {
  /** Addresses for a command. */
  addresses(line: ParsedLine): Promise<readonly string[]>;
  codes(): Promise<readonly Candidate[]>;
  /** The workspaces of the fleet. */
  workspaces(line: ParsedLine): Promise<readonly string[]>;
}

const nothing: Completion = { kind: "words", candidates: [] };

/** More addresses are completed step by step, up to the next slash. */
const maxAddresses = 100;

/** Lists the candidates; `words` are those after the program's name, the last one is at the cursor. */
export async function complete(
  program: Command,
  words: readonly string[],
  sources: CompletionSources,
): Promise<Completion> {
  const line = parseLine(program, words);
  const { slot, typed } = line;
  switch (slot.type) {
    case "nothing":
      return nothing;
    case "command":
      return fitting(visibleCommands(slot.of), typed);
    case "option":
      return fitting(visibleOptions(slot.of), typed);
    case "value": {
      if (slot.choices.length > 0) return fitting(plain(slot.choices), typed, slot.before);
      return completeValue(program, slot.name, line, sources);
    }
  }
}

async function completeValue(
  program: Command,
  name: string,
  line: ParsedLine,
  sources: CompletionSources,
): Promise<Completion> {
  const { slot, typed } = line;
  const before = slot.type === "value" ? slot.before : "";
  switch (name) {
    case "file":
    case "plan":
    case "location":
      return { kind: "files", candidates: [] };
    case "folder":
      return { kind: "folders", candidates: [] };
    case "kind":
      return fitting(plain(fileKinds), typed, before);
    case "code":
      return fitting(await sources.codes(), typed, before);
    case "command":
      return fitting(visibleCommands(program), typed, before);
    case "name":
      return fitting(plain(await sources.workspaces(line)), typed, before);
    case "address":
    case "from":
    case "to":
      return stepwise(await sources.addresses(line), typed, before);
    default:
      return nothing;
  }
}

function visibleCommands(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ value: each.name(), about: each.summary() || each.description() }));
}

function visibleOptions(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) =>
      typeof long === "string" ? [{ value: long, about: description }] : [],
    );
}

function plain(values: readonly string[]): readonly Candidate[] {
  return values.map((value) => ({ value, about: "" }));
}

function fitting(candidates: readonly Candidate[], typed: string, before = ""): Completion {
  const fit = candidates.filter(({ value }) => value.startsWith(typed));
  return {
    kind: "words",
    candidates: fit.map(({ value, about }) => ({ value: before + value, about: sanitizeLine(about) })),
  };
}

/** A name with control characters is not a candidate; the user can still type it. */
function isPlain(value: string): boolean {
  return sanitizeLine(value) === value;
}

function stepwise(addresses: readonly string[], typed: string, before: string): Completion {
  const fit = [...new Set(addresses)]
    .filter((address) => address.startsWith(typed) && isPlain(address))
    .sort();
  if (fit.length <= maxAddresses)
    return { kind: "words", candidates: plain(fit.map((each) => before + each)) };
  const steps = new Set(fit.map((address) => stepOf(address, common(fit))));
  const kind = [...steps].some((step) => step.endsWith("/")) ? "nospace" : "words";
  return { kind, candidates: plain([...steps].map((each) => before + each)) };
}

/** An address up to the next slash after the common prefix. */
function stepOf(address: string, shared: string): string {
  const slash = address.indexOf("/", shared.length);
  return slash < 0 ? address : address.slice(0, slash + 1);
}

/** The common prefix of sorted texts: that of the first and the last. */
function common(sorted: readonly string[]): string {
  const first = sorted[0] ?? "";
  const last = sorted.at(-1) ?? "";
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return first.slice(0, length);
}
