import { resolve } from "node:path";
import type { DeclaredWorkspace } from "../../fleet/fleet-settings.ts";
import { ledgerAt } from "../../ledger/postgres/postgres-location.ts";
import { loadConfig } from "../config.ts";
import { CliError } from "../runtime/cli-error.ts";

/**
 * Refuses workspaces that have one ledger, as a copied folder has: each would take the files of the other for removed. A config that
 * cannot be read is left to the run of its workspace. Throws {@link CliError} `ledger-shared`.
 */
export async function refuseSharedLedgers(
  declared: readonly DeclaredWorkspace[],
  root: string,
): Promise<void> {
  const users = new Map<string, DeclaredWorkspace>();
  for (const each of declared) {
    const ledger = await ledgerOf(resolve(root, each.config));
    if (ledger === undefined) continue;
    const other = users.get(ledger);
    if (other !== undefined) {
      throw new CliError(`${other.config} and ${each.config} have the same ledger`, {
        code: "ledger-shared",
        hint: "Give each workspace a `state` of its own, such as another ?schema=NAME.",
      });
    }
    users.set(ledger, each);
  }
}

async function ledgerOf(config: string): Promise<string | undefined> {
  try {
    return ledgerAt((await loadConfig({ cwd: "/", env: {}, flags: { config } })).stateLocation);
  } catch {
    return undefined;
  }
}
