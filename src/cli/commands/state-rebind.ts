import type { Command } from "commander";
import { assertOwner } from "../../plan/ownership.ts";
import type { Cli, WriterFlags } from "../cli.ts";
import { examples, withWriterFlags } from "../cli.ts";
import { approve } from "../runtime/approval.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { recordEdit } from "../runtime/record-edit.ts";
import { withLock } from "../runtime/with-lock.ts";
import type { Workspace } from "../runtime/workspace.ts";
import { inWorkspace } from "../runtime/workspace.ts";

interface RebindFlags extends WriterFlags {
  readonly autoApprove?: boolean;
}

/** `draftsync state rebind` */
export function defineRebind(state: Command, cli: Cli): void {
  withWriterFlags(state.command("rebind"))
    .summary("move the ledger to a new address of the same service")
    .description(
      "Binds the ledger to the address in the config or --base-url. Only for a service whose address changed: its drafts, " +
        "files and products keep their ids. Sends nothing. Saved plans become stale.",
    )
    .option("--auto-approve", "do not ask for approval; required without a terminal")
    .addHelpText("after", examples("draftsync state rebind --base-url https://api.new.example.com"))
    .action((flags: RebindFlags) => runRebind(cli, flags));
}

async function runRebind(cli: Cli, flags: RebindFlags): Promise<void> {
  const command = "state rebind";
  await inWorkspace(cli, flags, (workspace) =>
    withLock(cli, { workspace, command, waitMs: flags.lockTimeout }, () =>
      rebind(cli, workspace, { flags, command }),
    ),
  );
}

async function rebind(
  cli: Cli,
  workspace: Workspace,
  { flags, command }: { readonly flags: RebindFlags; readonly command: string },
): Promise<void> {
  const ledger = await workspace.ledger();
  const { service, workspace: name } = workspace.config;
  const { serviceOrigin: from, ...bound } = await ledger.owner();
  const to = { origin: service.origin, workspace: name };
  if (from === undefined) throw notRebindable("the ledger is not bound to a service yet");
  assertOwner(bound, to);
  if (from === to.origin) return cli.terminal.err(`The ledger is bound to ${from} already.\n`);
  if (service.baseUrl === undefined || from === "sandbox")
    throw notRebindable(`the ledger of ${from} cannot be moved to ${to.origin}`);
  const approved = await approve(cli, {
    given: flags.autoApprove,
    question: `Move the ledger from ${from} to ${to.origin}? Both must be the same service.`,
    to: "to move the ledger",
    declined: "Not moved.",
  });
  if (!approved) return cli.end(cli.signal.aborted ? exitCode.interrupted : exitCode.error);
  await ledger.rebind(to);
  await recordEdit(ledger, { command, effects: [], done: 0 });
  cli.terminal.err(`The ledger is bound to ${to.origin} now.\n`);
}

function notRebindable(message: string): CliError {
  return new CliError(`${message}; nothing was changed`, {
    code: "not-rebindable",
    hint: "The first response accepted from a service binds the ledger; only the address of that service may change.",
  });
}
