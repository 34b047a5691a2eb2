import { execFile } from "node:child_process";
import { hostname, userInfo } from "node:os";
import { relative } from "node:path";
import { promisify } from "node:util";
import type { LockHolder } from "../../model/lock.ts";
import type { Cli } from "../cli.ts";

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

/** Variables that hold the whole address of a job's page, by the documentation of each CI system. */
const variables = [
  "CI_JOB_URL", // GitLab
  "CIRCLE_BUILD_URL",
  "BUILDKITE_BUILD_URL",
  "CI_PIPELINE_URL", // Woodpecker
  "TRAVIS_BUILD_WEB_URL",
  "DRONE_BUILD_LINK",
  "BUILD_URL", // Jenkins
] as const;

/** The page of the CI job that this process runs in, if there is one; without user and password. */
export function ciJobUrl(env: NodeJS.ProcessEnv): string | undefined {
  const candidates = [githubRun(env), azureRun(env), ...variables.map((name) => env[name])];
  return candidates.map(plainUrl).find((url) => url !== undefined);
}

function githubRun({ GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID }: NodeJS.ProcessEnv) {
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY || !GITHUB_RUN_ID) return undefined;
  return `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`;
}

/** Azure Pipelines. */
function azureRun({
  SYSTEM_COLLECTIONURI,
  SYSTEM_TEAMPROJECT,
  BUILD_BUILDID,
}: NodeJS.ProcessEnv): string | undefined {
  if (!SYSTEM_COLLECTIONURI || !SYSTEM_TEAMPROJECT || !BUILD_BUILDID) return undefined;
  const project = `${SYSTEM_COLLECTIONURI.replace(/\/$/, "")}/${encodeURIComponent(SYSTEM_TEAMPROJECT)}`;
  return `${project}/_build/results?buildId=${encodeURIComponent(BUILD_BUILDID)}`;
}

/** It is stored in the ledger and shown to others: credentials that were written into the address stay out of it. */
function plainUrl(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  url.username = "";
  url.password = "";
  return url.href;
}

/**
 * The page of a folder in the repository at the commit of this CI job, for links to files in it; `undefined` outside of GitHub and
 * GitLab, and for a folder that is not in the checkout.
 */
export function ciSourceUrl(env: NodeJS.ProcessEnv, folder: string): string | undefined {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_SHA, GITHUB_WORKSPACE } = env;
  const { CI_PROJECT_URL, CI_COMMIT_SHA, CI_PROJECT_DIR } = env;
  if (GITHUB_SERVER_URL && GITHUB_REPOSITORY && GITHUB_SHA && GITHUB_WORKSPACE)
    return below(`${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/blob/${GITHUB_SHA}`, GITHUB_WORKSPACE, folder);
  if (CI_PROJECT_URL && CI_COMMIT_SHA && CI_PROJECT_DIR)
    return below(`${CI_PROJECT_URL}/-/blob/${CI_COMMIT_SHA}`, CI_PROJECT_DIR, folder);
  return undefined;
}

function below(page: string, checkout: string, folder: string): string | undefined {
  const path = relative(checkout, folder)
    .split(/[\\/]/)
    .filter((part) => part !== "");
  if (path[0] === "..") return undefined;
  return plainUrl([page, ...path.map(encodeURIComponent)].join("/"));
}
