import { makeTracker, RecoveryLog } from "../../ledger/recovery-log.ts";
import { systemClock } from "../../model/ports.ts";
import type { OutcomeTracker } from "../../model/recovery.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { reportError } from "../terminal/report-error.ts";
import { CliError } from "./cli-error.ts";
import type { Workspace } from "./workspace.ts";

/** The tracker of a command that sends writing calls; an outcome that the recovery log cannot take is printed to stderr, a line each. */
export async function openTracker(workspace: Workspace, command: string): Promise<OutcomeTracker> {
  const { terminal } = workspace.cli;
  const ledger = await workspace.ledger();
  const lock = await ledger.heldLock();
  const tracker = makeTracker({
    log: new RecoveryLog(workspace.config),
    clock: systemClock,
    serial: () => ledger.committedSerial,
    print: (line) => {
      const outcome: unknown = JSON.parse(line);
      const message = "an outcome could not be saved";
      const text = `${sanitizeJson(outcome)}\n`;
      terminal.log({ level: "error", text, message, code: "outcome-only-in-log", facts: { outcome } });
    },
    lineage: await ledger.lineage(),
    owner: workspace.owner,
    command,
    ...(lock === undefined ? {} : { lockId: lock.id }),
  });
  // An interrupt also ends a process whose ledger hangs.
  const onExit = () => {
    const path = tracker.saveAll();
    if (path !== undefined) reportError(savedAtExit(path), terminal);
  };
  process.once("exit", onExit);
  workspace.keep({ close: async () => void process.off("exit", onExit) });
  return tracker;
}

function savedAtExit(path: string): CliError {
  return new CliError(`the ledger did not record the outcomes of calls in time; they are saved in ${path}`, {
    code: "outcome-not-recorded",
    hint: "When the ledger responds, run `draftsync state recover`: nothing is planned or written before.",
  });
}

/**
 * Throws {@link CliError} `recovery-pending` while the recovery log has records: the ledger lacks completed calls. For
 * every command that plans or writes.
 */
export function refuseWhileRecoveryPending(config: Config): void {
  const pending = describePending(config);
  if (pending === undefined) return;
  throw new CliError(`${pending.text}; nothing was changed`, {
    code: "recovery-pending",
    hint: `Run \`draftsync state recover\`: it replays the outcomes and removes the log.${pending.isForeign ? foreignHint : ""}`,
  });
}

/** The same as a note, for commands that only read the ledger. */
export function warnWhileRecoveryPending({ terminal }: Cli, config: Config): void {
  const pending = describePending(config);
  if (pending === undefined) return;
  const text = `note: ${pending.text}; run \`draftsync state recover\`\n`;
  terminal.log({ level: "warning", text, code: "recovery-pending" });
}

const foreignHint =
  " It belongs to a different ledger of this workspace: if that one is still in use, run the command with its --state, and with its --base-url if that differs.";

function describePending(config: Config): { readonly text: string; readonly isForeign: boolean } | undefined {
  const pending = new RecoveryLog(config).pending();
  if (pending === undefined) return undefined;
  const { path, isForeign } = pending;
  return { text: `outcomes of an earlier run have not been replayed: ${path}`, isForeign };
}
