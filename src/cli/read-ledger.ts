import type { LedgerReader } from "../state/ledger-reader.ts";
import type { Cli, WorkspaceFlags } from "./cli.ts";
import { noteUntilTakenIn } from "./recovery.ts";
import { inWorkspace } from "./workspace.ts";

/** Opens the ledger for a command that only reads it; outcomes that it has not taken in are noted on standard error. */
export function readLedger<T>(
  cli: Cli,
  flags: WorkspaceFlags,
  read: (ledger: LedgerReader) => Promise<T>,
): Promise<T> {
  return inWorkspace(cli, flags, async (workspace) => {
    noteUntilTakenIn(cli, workspace.config);
    return read(await workspace.reader());
  });
}
