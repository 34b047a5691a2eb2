import type { Command, Option } from "commander";
import { fileKinds } from "../../model/resource.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";

/** What is expected at the cursor. */
type Slot =
  | { readonly type: "command"; readonly of: Command }
  | { readonly type: "option"; readonly of: Command }
  | {
      readonly type: "value";
      /** Its name in the help, such as `address` or `file`. */
      readonly name: string;
      readonly choices: readonly string[];
      /** The part of the word before the value: `--format=`. */
      readonly before: string;
    }
  | { readonly type: "nothing" };

/** A command line up to the cursor. */
export interface ParsedLine {
  readonly slot: Slot;
  /** The typed part of the word at the cursor, without {@link Slot} `before`. */
  readonly typed: string;
  /** Values of options before the cursor, by their name in commander: `config`, `baseUrl`. */
  readonly given: ReadonlyMap<string, string>;
  /** The command and its subcommand, such as `state show`. */
  readonly path: readonly string[];
}

/** A word to complete with. */
interface Candidate {
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
interface CompletionSources {
  /** Addresses for a command. */
  addresses(line: ParsedLine): Promise<readonly string[]>;
  codes(): Promise<readonly Candidate[]>;
  /** The workspaces of the fleet. */
  workspaces(line: ParsedLine): Promise<readonly string[]>;
}

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
  if (slot.type === "nothing") return { kind: "words", candidates: [] };
  if (slot.type === "command") return fitting(visibleCommands(slot.of), typed);
  if (slot.type === "option") return fitting(visibleOptions(slot.of), typed);
  const { name, choices, before } = slot;
  if (choices.length > 0) return fitting(plain(choices), typed, before);
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
      return { kind: "words", candidates: [] };
  }
}

/** Parses the words after the program's name; the last one is at the cursor, and may be empty. */
function parseLine(program: Command, words: readonly string[]): ParsedLine {
  const { command, position, awaiting, onlyArguments, ...before } = readWords(program, words.slice(0, -1));
  const word = words.at(-1) ?? "";
  const line = (slot: Slot, typed = word) => ({ ...before, slot, typed });
  if (awaiting !== undefined) return line(valueSlot(awaiting, ""));
  if (onlyArguments || !word.startsWith("-")) return line(argumentSlot(command, position));
  const { flag, value } = splitFlag(word);
  if (value === undefined) return line({ type: "option", of: command });
  const option = findOption(command, flag);
  return line(option === undefined ? { type: "nothing" } : valueSlot(option, `${flag}=`), value);
}

/** Reads the words before the cursor. `awaiting` is the option whose value comes next. */
function readWords(program: Command, words: readonly string[]) {
  const given = new Map<string, string>();
  const path: string[] = [];
  let command = program;
  let position = 0;
  let awaiting: Option | undefined;
  let onlyArguments = false;
  for (const word of words) {
    if (awaiting !== undefined) {
      given.set(awaiting.attributeName(), word);
      awaiting = undefined;
    } else if (!onlyArguments && word === "--") {
      onlyArguments = true;
    } else if (!onlyArguments && word.startsWith("-") && word !== "-") {
      awaiting = readFlag(command, word, given);
    } else {
      const child = position === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      command = child ?? command;
      if (child === undefined) position += 1;
      else path.push(child.name());
    }
  }
  return { given, path, command, position, awaiting, onlyArguments };
}

/** Stores the value of a flag such as `--format=json`; returns the option when its value is the next word. */
function readFlag(command: Command, word: string, given: Map<string, string>): Option | undefined {
  const { flag, value } = splitFlag(word);
  const option = findOption(command, flag);
  if (option === undefined || value === undefined) return option?.required ? option : undefined;
  given.set(option.attributeName(), value);
  return undefined;
}

function findOption({ options }: Command, flag: string): Option | undefined {
  return options.find(({ long, short }) => long === flag || short === flag);
}

function splitFlag(word: string): { readonly flag: string; readonly value?: string } {
  const equals = word.indexOf("=");
  return equals < 0 ? { flag: word } : { flag: word.slice(0, equals), value: word.slice(equals + 1) };
}

function valueSlot({ flags, argChoices = [] }: Option, before: string): Slot {
  const name = /[<[]([^>\].]+)/.exec(flags)?.[1] ?? "";
  return { type: "value", name, choices: argChoices, before };
}

function argumentSlot(of: Command, position: number): Slot {
  if (of.commands.length > 0 && position === 0) return { type: "command", of };
  const declared = of.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[position] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return { type: "option", of };
  return { type: "value", name: argument.name(), choices: argument.argChoices ?? [], before: "" };
}

function visibleCommands(command: Command): readonly Candidate[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.map((each) => ({ value: each.name(), about: each.summary() || each.description() }));
}

function visibleOptions(command: Command): readonly Candidate[] {
  const visible = command.createHelp().visibleOptions(command);
  return visible.flatMap(({ long, description }) =>
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
function stepwise(addresses: readonly string[], typed: string, before: string): Completion {
  const fit = [...new Set(addresses)]
    .filter((address) => address.startsWith(typed) && sanitizeLine(address) === address)
    .sort();
  if (fit.length <= maxAddresses)
    return { kind: "words", candidates: plain(fit.map((each) => before + each)) };
  const shared = commonPrefix(fit[0] ?? "", fit.at(-1) ?? "").length;
  const steps = new Set(
    fit.map((address) => {
      const slash = address.indexOf("/", shared);
      return slash < 0 ? address : address.slice(0, slash + 1);
    }),
  );
  const kind = [...steps].some((step) => step.endsWith("/")) ? "nospace" : "words";
  return { kind, candidates: plain([...steps].map((each) => before + each)) };
}

/** Of the first and the last of sorted texts: that of all of them. */
function commonPrefix(first: string, last: string): string {
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return first.slice(0, length);
}
