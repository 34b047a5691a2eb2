import { parseId } from "../../model/address.ts";
import type { Cli } from "../cli.ts";
import { configSchema } from "../config-schema.ts";
import { CliError } from "../runtime/cli-error.ts";
import { reportError } from "../terminal/report-error.ts";
import { packageHint, refusePackage } from "./package.ts";
import { type Pipeline, pipelines } from "./pipeline.ts";

/** What `init` writes its files from. */
export interface InitAnswers {
  readonly workspace: string;
  /** An address, or `sandbox`. */
  readonly service: string;
  readonly draft: string;
  readonly pipeline: Pipeline;
}

type Asked = Exclude<keyof InitAnswers, "pipeline">;

interface Question {
  readonly text: string;
  /** The answer where none is given, and where no terminal can ask; absent: there is none to offer. */
  readonly otherwise?: string;
  /** Why the answer will not do. */
  readonly refuse: (answer: string) => CliError | undefined;
}

/**
 * What was given, and the answers to what was not. Everything that was given is checked before the first question, and
 * each answer before the next one: an answer that will not do is asked for again. Throws {@link CliError} for what
 * was given and will not do, and `stopped` when the answers end.
 */
export async function askForAnswers(
  cli: Cli,
  given: Readonly<Record<Asked, string | undefined>> & { readonly pipeline: Pipeline | undefined },
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
    pipeline: given.pipeline ?? (await askForPipeline(cli)),
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
  return ask(cli, { text: "draftsync package to install (.tgz file or git commit)", refuse: refusePackage });
}

async function askForPipeline(cli: Cli): Promise<Pipeline> {
  const find = (answer: string) => pipelines.find((system) => system === answer.toLowerCase());
  const answer = await ask(cli, {
    text: "Pipeline to write: github, gitlab or none",
    otherwise: "none",
    refuse: (said) =>
      find(said) === undefined
        ? new CliError(`"${said}" is not supported`, {
            code: "invalid-flag",
            hint: "Choose github, gitlab or none.",
          })
        : undefined,
  });
  return find(answer) ?? "none";
}

async function ask({ terminal, signal }: Cli, question: Question): Promise<string> {
  const { text, otherwise = "", refuse } = question;
  if (!terminal.interactive) return otherwise;
  for (;;) {
    const offer = otherwise === "" ? "" : ` [${otherwise}]`;
    const said = await terminal.ask(`${text}${offer}: `, signal);
    if (said === undefined) throw new CliError("canceled; nothing was written", { code: "stopped" });
    const answer = said.trim() || otherwise;
    const refused = refuse(answer);
    if (refused === undefined) return answer;
    reportError(refused, terminal);
  }
}

function questionsFor(name: string): Readonly<Record<Asked, Question>> {
  return {
    workspace: {
      text: "Workspace name",
      otherwise: name,
      refuse: (answer) =>
        configSchema.shape.workspace.safeParse(answer).success
          ? undefined
          : new CliError(`"${answer}" is not a valid workspace name`, {
              code: "invalid-flag",
              hint: "Use up to 63 lower-case letters, digits, dots, dashes and underscores.",
            }),
    },
    service: {
      text: "Service address, or `sandbox` for a service on this machine",
      otherwise: "sandbox",
      refuse: (answer) =>
        answer === "sandbox" || isPlainUrl(answer)
          ? undefined
          : new CliError(`"${answer}" is not a plain http or https URL`, {
              code: "base-url-invalid",
              hint: "Use a URL such as https://api.example.com, or `sandbox`.",
            }),
    },
    draft: {
      text: "Id of the first draft",
      otherwise: "1",
      refuse: (answer) =>
        parseId(answer) === undefined
          ? new CliError(`"${answer}" is not a valid draft id`, {
              code: "invalid-flag",
              hint: "A draft id is a number, such as 48213.",
            })
          : undefined,
    },
  };
}

/** As the config wants it: without a user, a password, a query and a fragment, which would be written into a file. */
function isPlainUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false;
  return `${url.username}${url.password}${url.search}${url.hash}` === "" && !/[?#\s]/.test(text);
}
