import { join } from "node:path";
import { draftsync, type Ended, type Running, startDraftsync } from "../../support/cli.ts";
import { repository } from "../../support/source-files.ts";
import { key, type Life } from "./crash-world.ts";
import type { Survivor } from "./survive.ts";

const env = { DRAFTSYNC_API_KEY: key };
const applying = ["apply", "--auto-approve"];

/** Starts the apply that the test kills. */
export function startApply(life: Life): Running {
  return startDraftsync(applying, { cwd: life.folder, env: { ...env, ...life.ledger.env } });
}

/** Applies, and is killed at a commit of the ledger, or writes the number of commits into a file. */
export function applyUntil(life: Life, killOrFile: string): Promise<Ended> {
  const preload = `--import=${join(repository, "test/crash/support/kill-at-commit.mjs")}`;
  return run(life, applying, { NODE_OPTIONS: preload, DRAFTSYNC_TEST_KILL: killOrFile });
}

function run(life: Life, args: readonly string[], more: Record<string, string> = {}): Promise<Ended> {
  return draftsync(args, { cwd: life.folder, env: { ...env, ...life.ledger.env, ...more } });
}

/** The real binary. */
export const binary: Survivor = {
  sharesBound: true,
  async apply(life) {
    const { code, stdout, stderr } = await run(life, [...applying, "--json"]);
    if (code !== 0 && code !== 4 && code !== 7)
      throw new Error(`apply ended with ${code}: ${stdout}${stderr}`);
    return code === 0 ? "done" : code === 7 ? "waits" : "in-doubt";
  },
  async resolve(life, address, productId) {
    const outcome = productId === undefined ? ["--not-done"] : ["--product-id", String(productId)];
    const { code, stderr } = await run(life, ["resolve", address, ...outcome]);
    if (code !== 0) throw new Error(`resolve ended with ${code}: ${stderr}`);
  },
  async pending(life) {
    const { code, stdout } = await run(life, ["plan", "--format", "json", "--detailed-exitcode"]);
    const { changes }: { changes: readonly { action: string; address: string }[] } = JSON.parse(stdout);
    if ((code === 0) !== (changes.length === 0)) throw new Error(`plan ended with ${code}: ${stdout}`);
    return changes.map(({ action, address }) => `${action} ${address}`);
  },
};
