import type { LedgerReader } from "../state/ledger-reader.ts";
import type { Cli, WorkspaceFlags } from "./cli.ts";
import type { Config } from "./config.ts";
import { noteUntilTakenIn } from "./recovery.ts";
import { inWorkspace } from "./workspace.ts";

/** Opens the ledger for a command that only reads it; says what waits to be taken into it. */
export async function lookIntoLedger<T>(
  cli: Cli,
  flags: WorkspaceFlags,
  look: (ledger: LedgerReader, config: Config) => Promise<T>,
): Promise<T> {
  return inWorkspace(cli, flags, async (workspace) => {
    noteUntilTakenIn(cli, workspace.config);
    return look(await workspace.reader(), workspace.config);
  });
}
