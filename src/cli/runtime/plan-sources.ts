import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { hashFile } from "../../manifest/hash-file.ts";
import type { Plan } from "../../model/plan.ts";
import { PlanError } from "../../plan/plan-error.ts";
import { sourcesOf } from "../../plan/saved-plan.ts";

/**
 * Refuses a saved plan of which a local file is no longer the one that was planned.
 * Throws {@link PlanError} `plan-source-changed`, naming every such file.
 */
export async function assertSourcesUnchanged(plan: Plan, root: string): Promise<void> {
  const changed: string[] = [];
  for (const { source, sha256 } of sourcesOf(plan)) {
    if ((await digestOfFile(join(root, source))) !== sha256) changed.push(source);
  }
  if (changed.length === 0) return;
  const files = changed.length === 1 ? "a local file" : `${changed.length} local files`;
  throw new PlanError(`${files} changed after the plan was made: ${changed.join(", ")}`, {
    code: "plan-source-changed",
    hint: "Make the plan again with `draftsync plan --out FILE`, review it, and apply that.",
  });
}

/** `undefined` when the file is gone or cannot be read, which is a change too. */
async function digestOfFile(path: string): Promise<string | undefined> {
  try {
    return (await hashFile(await realpath(path))).sha256;
  } catch {
    return undefined;
  }
}
