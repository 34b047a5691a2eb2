import { execFile } from "node:child_process";
import { hostname, userInfo } from "node:os";
import { promisify } from "node:util";
import type { LockHolder } from "../../model/lock.ts";
import type { Cli } from "../cli.ts";
import { ciJobUrl } from "./ci-variables.ts";

const run = promisify(execFile);

/** This process as the holder of a lock, and of the runs under it. `root`: the folder of the workspace. */
export async function describeThisProcess(
  { env }: Pick<Cli, "env">,
  { command, root }: { readonly command: string; readonly root: string },
): Promise<LockHolder> {
  const url = ciJobUrl(env);
  const commit = await gitCommit(root);
  return {
    user: userName(env),
    host: hostname(),
    pid: process.pid,
    command,
    ...(url === undefined ? {} : { url }),
    ...(commit === undefined ? {} : { commit }),
  };
}

/** In a job of GitHub or GitLab, who started it. A container may run under a number that no user has. */
function userName(env: NodeJS.ProcessEnv): string {
  const actor = env.GITHUB_ACTOR || env.GITLAB_USER_LOGIN;
  if (actor) return actor;
  try {
    return userInfo().username;
  } catch {
    return env.USER || env.USERNAME || `user ${process.getuid?.() ?? "unknown"}`;
  }
}

/** The commit of the workspace, with `-dirty` when tracked files differ from it; `undefined` outside of a git repository. */
async function gitCommit(root: string): Promise<string | undefined> {
  const describe = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"];
  try {
    const { stdout } = await run("git", ["-C", root, ...describe], { timeout: 2_000 });
    return /^[0-9a-f]{40,64}(?:-dirty)?$/.exec(stdout.trim())?.[0];
  } catch {
    return undefined;
  }
}
