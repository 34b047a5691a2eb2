import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import type { Cli, WorkspaceFlags } from "../cli.ts";
import type { Config } from "../config.ts";
import { warnWhileRecoveryPending } from "./recovery.ts";
import { inWorkspace } from "./workspace.ts";

/** Opens the ledger for a command that only reads it; notes a recovery log that was not replayed. */
export async function readLedger<T>(
  cli: Cli,
  flags: WorkspaceFlags,
  look: (ledger: LedgerReader, config: Config) => Promise<T>,
): Promise<T> {
  return inWorkspace(
    cli,
    flags,
    async (workspace) => {
      warnWhileRecoveryPending(cli, workspace.config);
      return look(await workspace.reader(), workspace.config);
    },
    { onlyReads: true },
  );
}
