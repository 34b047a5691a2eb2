import { parseId } from "../../model/address.ts";
import type { Cli } from "../cli.ts";
import { configSchema } from "../config-schema.ts";
import { CliError } from "../runtime/cli-error.ts";
import { reportError } from "../terminal/report-error.ts";
import { packageHint, refusePackage } from "./package.ts";

/** The systems a pipeline can be written for. */
export const pipelines = ["none", "github", "gitlab"] as const;

/** One of {@link pipelines}. */
export type Pipeline = (typeof pipelines)[number];

/** Input of the files that `init` writes. */
export interface InitAnswers {
  readonly workspace: string;
  /** An address, or `sandbox`. */
  readonly service: string;
  readonly draft: string;
  readonly pipeline: Pipeline;
}

interface Question {
  readonly text: string;
  /** The answer where none is given, and where no terminal can ask; empty: there is none to offer. */
  readonly byDefault: string;
  /** Why the answer is not valid. */
  readonly refuse: (answer: string) => CliError | undefined;
}

/**
 * The given answers, and those of the terminal to the rest. All given answers are checked before the first question; an
 * invalid answer on the terminal is asked for again. Throws {@link CliError} for an invalid given answer, and `stopped`
 * when the input ends.
 */
export async function askForAnswers(
  cli: Cli,
  given: Readonly<Record<keyof InitAnswers, string | undefined>>,
  name: string,
): Promise<InitAnswers> {
  const questions = questionsFor(name);
  for (const key of ["workspace", "service", "draft"] as const) {
    const answer = given[key];
    const refused = answer === undefined ? undefined : questions[key].refuse(answer);
    if (refused !== undefined) throw refused;
  }
  return {
    workspace: given.workspace ?? (await ask(cli, questions.workspace)),
    service: given.service ?? (await ask(cli, questions.service)),
    draft: given.draft ?? (await ask(cli, questions.draft)),
    pipeline: findPipeline(given.pipeline ?? (await ask(cli, questions.pipeline))) ?? "none",
  };
}

/**
 * The package that a pipeline installs: the given one, or an answer. Throws {@link CliError} `package-missing` where no
 * terminal can ask: there is no name in a registry to fall back on.
 */
export async function askForPackage(cli: Cli, given: string | undefined): Promise<string> {
  const refused = given === undefined ? undefined : refusePackage(given);
  if (refused !== undefined) throw refused;
  if (given !== undefined) return given;
  if (!cli.terminal.interactive) {
    throw new CliError("--pipeline needs --package, the draftsync package that the pipeline installs", {
      code: "package-missing",
      hint: packageHint,
    });
  }
  const text = "draftsync package to install (.tgz file or git commit)";
  return ask(cli, { text, byDefault: "", refuse: refusePackage });
}

async function ask({ terminal, signal }: Cli, { text, byDefault, refuse }: Question): Promise<string> {
  if (!terminal.interactive) return byDefault;
  for (;;) {
    const offer = byDefault === "" ? "" : ` [${byDefault}]`;
    const line = await terminal.ask(`${text}${offer}: `, signal);
    if (line === undefined) throw new CliError("canceled; nothing was written", { code: "stopped" });
    const answer = line.trim() || byDefault;
    const refused = refuse(answer);
    if (refused === undefined) return answer;
    reportError(refused, terminal);
  }
}

function questionsFor(name: string): Readonly<Record<keyof InitAnswers, Question>> {
  const refuseUnless = (isValid: boolean, message: string, options: { code?: string; hint: string }) =>
    isValid ? undefined : new CliError(message, { code: "invalid-flag", ...options });
  return {
    workspace: {
      text: "Workspace name",
      byDefault: name,
      refuse: (answer) =>
        refuseUnless(
          configSchema.shape.workspace.safeParse(answer).success,
          `"${answer}" is not a valid workspace name`,
          { hint: "Use up to 63 lower-case letters, digits, dots, dashes and underscores." },
        ),
    },
    service: {
      text: "Service address, or `sandbox` for a service on this machine",
      byDefault: "sandbox",
      refuse: (answer) =>
        refuseUnless(
          answer === "sandbox" || isPlainUrl(answer),
          `"${answer}" is not a plain http or https URL`,
          { code: "base-url-invalid", hint: "Use a URL such as https://api.example.com, or `sandbox`." },
        ),
    },
    draft: {
      text: "Id of the first draft",
      byDefault: "1",
      refuse: (answer) =>
        refuseUnless(parseId(answer) !== undefined, `"${answer}" is not a valid draft id`, {
          hint: "A draft id is a number, such as 48213.",
        }),
    },
    pipeline: {
      text: "Pipeline to write: github, gitlab or none",
      byDefault: "none",
      refuse: (answer) =>
        refuseUnless(findPipeline(answer) !== undefined, `"${answer}" is not supported`, {
          hint: "Choose github, gitlab or none.",
        }),
    },
  };
}

function findPipeline(answer: string): Pipeline | undefined {
  return pipelines.find((system) => system === answer.toLowerCase());
}

/** As the config wants it: without a user, a password, a query and a fragment, which would be written into a file. */
function isPlainUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false;
  return `${url.username}${url.password}${url.search}${url.hash}` === "" && !/[?#\s]/.test(text);
}
