import type { Cli } from "../cli.ts";
import { CliError } from "./cli-error.ts";

/** A question that a person must approve. */
export interface ApprovalRequest {
  /** `--auto-approve` was given. */
  readonly given: boolean | undefined;
  readonly question: string;
  /** The purpose of `--auto-approve`, for the hint: "to apply". */
  readonly to: string;
  /** Printed when the answer is not yes. */
  readonly declined: string;
  /** Shown before the question. */
  readonly before?: string;
}

/** Whether a person, by the word "yes", or a flag approves. Throws {@link CliError} `approval-needed` without a terminal. */
export async function approve(cli: Cli, request: ApprovalRequest): Promise<boolean> {
  const { terminal, signal } = cli;
  assertApprovable(cli, request);
  if (request.given === true) return true;
  if (request.before !== undefined) terminal.log({ level: "info", text: request.before, isResult: true });
  const answer = await terminal.ask(`${request.question} Type "yes" to continue: `, signal);
  if (answer?.trim() === "yes") return true;
  terminal.err(`${request.declined}\n`);
  return false;
}

/** Throws {@link CliError} `approval-needed` without a flag and a terminal: for work that precedes the question. */
export function assertApprovable(
  { terminal }: Cli,
  { given, to }: Pick<ApprovalRequest, "given" | "to">,
): void {
  if (given === true || terminal.interactive) return;
  throw new CliError("approval needs a terminal; nothing was changed", {
    code: "approval-needed",
    hint: `Add --auto-approve ${to} without asking.`,
  });
}
