import type { HeldLock } from "../../model/lock.ts";
import { formatLeaseLeft, formatLock, viewLock } from "../../report/lock-text.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "../cli.ts";
import { examples, withFormat, withWorkspaceFlags } from "../cli.ts";
import { approve } from "../runtime/approval.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { readLedger } from "../runtime/ledger-access.ts";
import { inWorkspace } from "../runtime/workspace.ts";
import { printJson } from "../terminal/print-json.ts";

interface StatusFlags extends WorkspaceFlags {
  readonly json?: boolean;
}

interface ReleaseFlags extends WorkspaceFlags {
  readonly autoApprove?: boolean;
}

/** `draftsync lock status|release` */
export const defineLock: DefineCommand = (program, cli) => {
  const lock = program
    .command("lock")
    .summary("show or release the workspace lock")
    .description(
      "Only one command writes at a time: it holds the lock while it runs. If its process ended on this machine, the next " +
        "writer takes over the lock immediately. A holder on another machine or in another container loses it after a " +
        "minute without a heartbeat.",
    );
  withFormat(withWorkspaceFlags(lock.command("status")))
    .summary("show the holder of the lock")
    .description("Shows the holder of the lock, since when, and whether its process is running.")
    .addHelpText("after", examples("draftsync lock status", "draftsync lock status --json | jq .lock.url"))
    .action((flags: StatusFlags) => runStatus(cli, flags));
  withWorkspaceFlags(lock.command("release"))
    .summary("release the lock of a holder that is gone")
    .description(
      "Releases the lock. If its holder is still running, it cannot record anything or start a further change, and calls that it sent but did " +
        "not record are in doubt. While such a call may be in flight, the lock is free only when its holder has ended, or at " +
        "the end of its lease. Let it end on its own if you can.",
    )
    .argument("<id>", "id of the lock, from `lock status`")
    .option("--auto-approve", "do not ask for approval; required without a terminal")
    .addHelpText("after", examples("draftsync lock release 0b9f6c1e-5a42-4c0e-9a37-5d3e8f1c2b60"))
    .action((id: string, flags: ReleaseFlags) => runRelease(cli, id, flags));
};

async function runStatus(cli: Cli, flags: StatusFlags): Promise<void> {
  const { terminal } = cli;
  const lock = await readLedger(cli, flags, (ledger) => ledger.heldLock());
  if (flags.json) {
    const view = lock === undefined ? null : viewLock(lock);
    return printJson(cli, { format_version: 1, lock: view });
  }
  terminal.out(lock === undefined ? "Not locked.\n" : formatLock(lock, terminal.paintOut));
}

async function runRelease(cli: Cli, id: string, flags: ReleaseFlags): Promise<void> {
  await inWorkspace(cli, flags, async (workspace) => {
    const lock = await (await workspace.reader()).heldLock();
    if (lock === undefined) throw notHeld(id);
    if (lock.id !== id) throw heldAsAnother(id, lock);
    const approved = await approve(cli, {
      given: flags.autoApprove,
      before: formatLock(lock, cli.terminal.paintErr),
      question: "Release this lock? Calls that its holder sent but did not record will be in doubt.",
      to: "to release the lock",
      declined: "Not released.",
    });
    if (!approved) return cli.end(cli.signal.aborted ? exitCode.interrupted : exitCode.error);
    // Another process may have acquired the lock while the question was open: that lock stays.
    const ledger = await workspace.ledger();
    if (!(await ledger.releaseLock(id))) throw notHeld(id);
    const left = await ledger.heldLock();
    const isFree = left?.id !== id;
    cli.terminal.err(isFree ? "Released.\n" : describeReleased(left));
  });
}

/** A call that is in flight must not be settled. */
function describeReleased(lock: HeldLock): string {
  return (
    `Released: its holder can record nothing and start no further change. A call that it sent may be in flight, so the lock is free in ${formatLeaseLeft(lock)}, ` +
    "or earlier if its process ends on this machine.\n"
  );
}

function notHeld(id: string): CliError {
  return new CliError(`lock ${id} is no longer held; nothing was changed`, {
    code: "lock-not-held",
    hint: "`draftsync lock status` shows the current lock.",
  });
}

function heldAsAnother(id: string, lock: HeldLock): CliError {
  return new CliError(`the current lock is ${lock.id}, not ${id}; nothing was changed`, {
    code: "lock-not-held",
    hint: "`draftsync lock status` shows its holder.",
  });
}
