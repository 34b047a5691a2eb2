import type { Cli } from "../cli.ts";
import { CliError } from "./cli-error.ts";

/** What a person is asked to approve. */
export interface ApprovalRequest {
  /** `--auto-approve` was given. */
  readonly given: boolean | undefined;
  /** A question with all that the answer rests on. */
  readonly question: string;
  /** What goes on without being asked: "to apply", for the hint. */
  readonly to: string;
  /** What is said when the answer is not yes. */
  readonly declined: string;
  /** Shown before the question. */
  readonly before?: string;
}

/**
 * Whether a person, or a flag, approves. Throws {@link CliError} `approval-needed` where nobody can be asked; only the
 * word "yes" is taken as yes.
 */
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

/** Throws {@link CliError} `approval-needed` where nobody can be asked, for what is not to begin before it is asked for. */
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
