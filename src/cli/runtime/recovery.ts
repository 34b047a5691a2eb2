import { makeKeeper, RecoveryFiles, readRecoveryFile } from "../../ledger/recovery-files.ts";
import { systemClock } from "../../model/ports.ts";
import type { KeptOutcome, OutcomeKeeper } from "../../model/recovery.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { CliError } from "./cli-error.ts";
import type { Workspace } from "./workspace.ts";

/** The recovery files of a workspace. */
export function recoveryFilesOf({ root, workspace }: Config): RecoveryFiles {
  return new RecoveryFiles({ root, workspace });
}

/** The outcomes that wait to be taken in. Throws a `RecoveryError` for a file that cannot be read. */
export function keptOf(config: Config): readonly KeptOutcome[] {
  return recoveryFilesOf(config).list().flatMap(readRecoveryFile);
}

/** The keeper of a command that sends writing calls; what no file takes goes to standard error, a line each. */
export async function openKeeper(
  { terminal }: Cli,
  { workspace, command }: { readonly workspace: Workspace; readonly command: string },
): Promise<OutcomeKeeper> {
  const { config } = workspace;
  const ledger = await workspace.ledger();
  const lock = await ledger.heldLock();
  const keeper = makeKeeper({
    files: recoveryFilesOf(config),
    clock: systemClock,
    handOver: (line) => {
      const outcome: unknown = JSON.parse(line);
      const message = "an outcome could not be saved";
      const text = `${sanitizeJson(outcome)}\n`;
      terminal.log({ level: "error", text, message, code: "outcome-handed-over", facts: { outcome } });
    },
    lineage: await ledger.lineage(),
    owner: { origin: config.service.origin, workspace: config.workspace },
    command,
    ...(lock === undefined ? {} : { lockId: lock.id }),
  });
  // An interrupt ends the process also while a ledger that hangs keeps it waiting.
  const onExit = () => keeper.keepHeld();
  process.once("exit", onExit);
  // A process that lives on has others for its later runs.
  workspace.keep({ close: async () => void process.off("exit", onExit) });
  return keeper;
}

/**
 * Throws {@link CliError} `recovery-pending` while there are recovery files: what the ledger holds is not all that
 * was done. For every command that plans or writes.
 */
export function refuseWhileRecoveryPending(config: Config): void {
  const waiting = recoveryFilesOf(config).list();
  if (waiting.length === 0) return;
  throw new CliError(`${tell(waiting)}; nothing was changed`, {
    code: "recovery-pending",
    hint: "Run `draftsync state recover`: it replays the outcomes and removes the files.",
  });
}

/** The same as a note, for commands that only read the ledger. */
export function warnWhileRecoveryPending({ terminal }: Cli, config: Config): void {
  const waiting = recoveryFilesOf(config).list();
  if (waiting.length === 0) return;
  const text = `note: ${tell(waiting)}; run \`draftsync state recover\`\n`;
  terminal.log({ level: "warning", text, code: "recovery-pending" });
}

function tell(paths: readonly string[]): string {
  const [first = ""] = paths;
  if (paths.length === 1) return `a recovery file has not been replayed: ${first}`;
  return `${paths.length} recovery files have not been replayed: ${first} and ${paths.length - 1} more`;
}
