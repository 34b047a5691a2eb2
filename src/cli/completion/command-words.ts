import type { Argument, Command, Option } from "commander";

/** What is expected at the cursor. */
export type Slot =
  | { readonly type: "command"; readonly of: Command }
  | { readonly type: "option"; readonly of: Command }
  | {
      readonly type: "value";
      /** Its name in the help, such as `address` or `file`. */
      readonly name: string;
      readonly choices: readonly string[];
      readonly of: Command;
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

/** Parses the words after the program's name; the last one is at the cursor, and may be empty. */
export function parseLine(program: Command, words: readonly string[]): ParsedLine {
  const parser = new LineParser(program);
  for (const word of words.slice(0, -1)) parser.pass(word);
  return parser.at(words.at(-1) ?? "");
}

class LineParser {
  #command: Command;
  readonly #given = new Map<string, string>();
  readonly #path: string[] = [];
  #awaiting: Option | undefined;
  #position = 0;
  #onlyArguments = false;

  constructor(program: Command) {
    this.#command = program;
  }

  pass(word: string): void {
    if (this.#awaiting !== undefined) {
      this.#given.set(this.#awaiting.attributeName(), word);
      this.#awaiting = undefined;
    } else if (!this.#onlyArguments && word === "--") this.#onlyArguments = true;
    else if (!this.#onlyArguments && word.startsWith("-") && word !== "-") this.#passOption(word);
    else this.#passArgument(word);
  }

  at(word: string): ParsedLine {
    const rest = { given: this.#given, path: this.#path };
    if (this.#awaiting !== undefined)
      return { ...rest, typed: word, slot: this.#valueOf(this.#awaiting, "") };
    const equals = word.indexOf("=");
    if (!this.#onlyArguments && word.startsWith("-")) {
      if (equals < 0) return { ...rest, typed: word, slot: { type: "option", of: this.#command } };
      const option = this.#option(word.slice(0, equals));
      const slot: Slot =
        option === undefined ? { type: "nothing" } : this.#valueOf(option, word.slice(0, equals + 1));
      return { ...rest, typed: word.slice(equals + 1), slot };
    }
    return { ...rest, typed: word, slot: this.#argumentSlot() };
  }

  #passOption(word: string): void {
    const equals = word.indexOf("=");
    const option = this.#option(equals < 0 ? word : word.slice(0, equals));
    if (option === undefined) return;
    if (equals >= 0) this.#given.set(option.attributeName(), word.slice(equals + 1));
    else if (option.required) this.#awaiting = option;
  }

  #passArgument(word: string): void {
    const child =
      this.#position === 0 ? this.#command.commands.find((each) => each.name() === word) : undefined;
    if (child === undefined) {
      this.#position += 1;
      return;
    }
    this.#command = child;
    this.#path.push(child.name());
  }

  #argumentSlot(): Slot {
    const of = this.#command;
    if (of.commands.length > 0 && this.#position === 0) return { type: "command", of };
    const declared = of.registeredArguments;
    const last = declared.at(-1);
    const argument: Argument | undefined =
      declared[this.#position] ?? (last?.variadic === true ? last : undefined);
    if (argument === undefined) return { type: "option", of };
    return { type: "value", name: argument.name(), choices: argument.argChoices ?? [], of, before: "" };
  }

  #valueOf(option: Option, before: string): Slot {
    const name = /[<[]([^>\].]+)/.exec(option.flags)?.[1] ?? "";
    return { type: "value", name, choices: option.argChoices ?? [], of: this.#command, before };
  }

  #option(flag: string): Option | undefined {
    return this.#command.options.find(({ long, short }) => long === flag || short === flag);
  }
}
