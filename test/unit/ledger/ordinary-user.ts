import { chmodSync, chownSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { NOBODY } from "../../support/unprivileged.ts";

/**
 * Runs `work` with the folder and the file of a ledger in the given modes, as a user to which modes apply: as root,
 * the process temporarily takes the effective id of a different user.
 */
export async function asOrdinaryUser(
  given: { readonly folder: number; readonly file: number; readonly location: string },
  work: () => Promise<void>,
): Promise<void> {
  const { folder, file, location } = given;
  const asRoot = process.geteuid?.() === 0;
  if (asRoot) {
    chownSync(dirname(location), NOBODY, NOBODY);
    for (const name of readdirSync(dirname(location)))
      chownSync(join(dirname(location), name), NOBODY, NOBODY);
  }
  chmodSync(location, file);
  chmodSync(dirname(location), folder);
  if (asRoot) process.seteuid?.(NOBODY);
  try {
    await work();
  } finally {
    if (asRoot) process.seteuid?.(0);
    chmodSync(dirname(location), 0o700);
  }
}
