import { join } from "node:path";
import { draftsync, type Ended } from "../../support/cli.ts";
import { repository } from "../../support/source-files.ts";
import { key, type Life, type Survivor } from "./crash-world.ts";

const env = { DRAFTSYNC_API_KEY: key };

/** Runs the real binary in a life; `kill`: where it is to be killed, or the file that takes the number of commits. */
export function run(life: Life, args: readonly string[], kill?: string): Promise<Ended> {
  const preload = `--import=${join(repository, "test/crash/support/kill-at-commit.mjs")}`;
  const killing = kill === undefined ? {} : { NODE_OPTIONS: preload, DRAFTSYNC_TEST_KILL: kill };
  return draftsync(args, { cwd: life.folder, env: { ...env, ...killing } });
}

/** The real binary, as a person uses it. */
export const binary: Survivor = {
  sharesBound: true,
  async apply(life) {
    const { code, stdout, stderr } = await run(life, ["apply", "--auto-approve", "--json"]);
    if (code !== 0 && code !== 4) throw new Error(`apply ended with ${code}: ${stdout}${stderr}`);
  },
  async resolve(life, address, productId) {
    const word = productId === undefined ? ["--not-done"] : ["--product-id", String(productId)];
    const { code, stderr } = await run(life, ["resolve", address, ...word]);
    if (code !== 0) throw new Error(`resolve ended with ${code}: ${stderr}`);
  },
  async pending(life) {
    const { stdout } = await run(life, ["plan", "--format", "json"]);
    const { changes }: { changes: readonly { action: string; address: string }[] } = JSON.parse(stdout);
    return changes.map(({ action, address }) => `${action} ${address}`);
  },
};
