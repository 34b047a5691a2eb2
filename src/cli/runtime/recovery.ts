import { makeTracker, RecoveryLog } from "../../ledger/recovery-log.ts";
import { systemClock } from "../../model/ports.ts";
import type { OutcomeTracker } from "../../model/recovery.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { CliError } from "./cli-error.ts";
import type { Workspace } from "./workspace.ts";

/** The recovery log of a workspace. */
export function recoveryLogOf(config: Config): RecoveryLog {
  return new RecoveryLog(config);
}

/** The tracker of a command that sends writing calls; an outcome that the recovery log cannot take is printed to stderr, a line each. */
export async function openTracker(
  { terminal }: Cli,
  { workspace, command }: { readonly workspace: Workspace; readonly command: string },
): Promise<OutcomeTracker> {
  const { config } = workspace;
  const ledger = await workspace.ledger();
  const lock = await ledger.heldLock();
  const tracker = makeTracker({
    log: recoveryLogOf(config),
    clock: systemClock,
    print: (line) => {
      const outcome: unknown = JSON.parse(line);
      const message = "an outcome could not be saved";
      const text = `${sanitizeJson(outcome)}\n`;
      terminal.log({ level: "error", text, message, code: "outcome-only-in-log", facts: { outcome } });
    },
    lineage: await ledger.lineage(),
    owner: { origin: config.service.origin, workspace: config.workspace },
    command,
    ...(lock === undefined ? {} : { lockId: lock.id }),
  });
  // An interrupt ends the process also while a ledger that hangs keeps it waiting.
  const onExit = () => tracker.saveAll();
  process.once("exit", onExit);
  // A process that lives on has others for its later runs.
  workspace.keep({ close: async () => void process.off("exit", onExit) });
  return tracker;
}

/**
 * Throws {@link CliError} `recovery-pending` while the recovery log has records: the ledger lacks completed calls. For
 * every command that plans or writes.
 */
export function refuseWhileRecoveryPending(config: Config): void {
  const log = recoveryLogOf(config);
  if (!log.isPending()) return;
  throw new CliError(`${describe(log)}; nothing was changed`, {
    code: "recovery-pending",
    hint: "Run `draftsync state recover`: it replays the outcomes and removes the log.",
  });
}

/** The same as a note, for commands that only read the ledger. */
export function warnWhileRecoveryPending({ terminal }: Cli, config: Config): void {
  const log = recoveryLogOf(config);
  if (!log.isPending()) return;
  const text = `note: ${describe(log)}; run \`draftsync state recover\`\n`;
  terminal.log({ level: "warning", text, code: "recovery-pending" });
}

function describe({ path }: RecoveryLog): string {
  return `outcomes of an earlier run have not been replayed: ${path}`;
}
