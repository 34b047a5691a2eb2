import { execFile } from "node:child_process";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RequestLogEntry, Sandbox } from "../../../src/sandbox/server.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";
import { expectNoKey } from "../../support/canary.ts";
import type { Ended, Folder } from "../../support/cli.ts";
import { draftsync, main, makeFolder } from "../../support/cli.ts";
import { repository } from "../../support/source-files.ts";

/** A copy of an example, and the service that it is applied to. */
export interface Example {
  /** Parent folder of the repository, for programs and other files of the machine. */
  readonly folder: Folder;
  /** The copy of the repository. */
  readonly path: string;
  readonly sandbox: Sandbox;
  readonly arrivals: readonly RequestLogEntry[];
  /** Key and address of the service, and settings for npm without a network. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * Packs a stand-in for draftsync without dependencies that runs the binary of this repository, so that npm needs no
 * registry. Returns the path of the packed file.
 */
export async function packDraftsync(folder: Pick<Folder, "path" | "write">): Promise<string> {
  const manifest = { name: "draftsync", version: "0.1.0", bin: { draftsync: "run.sh" } };
  await folder.write({
    "stand-in/package.json": JSON.stringify(manifest),
    "stand-in/run.sh": `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`,
  });
  packed ??= packStandIn(folder.path);
  await folder.write({ "draftsync-0.1.0.tgz": await packed });
  return join(folder.path, "draftsync-0.1.0.tgz");
}

let packed: Promise<Buffer> | undefined;

async function packStandIn(path: string): Promise<Buffer> {
  const options = { cwd: path, env: npmEnvironment(path) };
  const { code, stderr } = await runProgram("npm", ["pack", "./stand-in"], options);
  if (code !== 0) throw new Error(stderr);
  return readFile(join(path, "draftsync-0.1.0.tgz"));
}

/** An environment in which npm works offline and keeps its files in `home`. */
export function npmEnvironment(home: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: home, npm_config_offline: "true" };
}

let installation: Promise<Readonly<Record<string, Buffer>>> | undefined;

/** The files that `draftsync init --package` writes for the stand-in: the same for every example. */
async function prepareInstallation(): Promise<Readonly<Record<string, Buffer>>> {
  const folder = await makeFolder({ "repository/draftsync.yaml": "" });
  try {
    const cwd = join(folder.path, "repository");
    const packed = await packDraftsync(folder);
    const args = ["init", "--package", packed];
    const { code, stderr } = await draftsync(args, { cwd, env: npmEnvironment(folder.path) });
    if (code !== 0) throw new Error(stderr);
    const names = ["package.json", "package-lock.json", "vendor/draftsync-0.1.0.tgz"];
    const read = async (name: string) => [`repository/${name}`, await readFile(join(cwd, name))] as const;
    return Object.fromEntries(await Promise.all(names.map(read)));
  } finally {
    await folder.dispose();
  }
}

/** Copies an example of `examples/` and starts an empty sandbox for it. */
export async function startExample(name: string): Promise<Example> {
  const key = "canary-key-9b1d";
  const arrivals: RequestLogEntry[] = [];
  const sandbox = await startSandbox({
    key,
    uploadProcessingMs: 0,
    log: (arrival) => void arrivals.push(arrival),
  });
  const folder = await makeFolder();
  const path = join(folder.path, "repository");
  await cp(`${repository}examples/${name}`, path, { recursive: true });
  installation ??= prepareInstallation();
  await folder.write(await installation);
  return {
    folder,
    path,
    sandbox,
    arrivals,
    env: {
      ...npmEnvironment(folder.path),
      DRAFTSYNC_API_KEY: key,
      DRAFTSYNC_BASE_URL: sandbox.url,
    },
    close: async () => {
      await sandbox.close();
      await folder.dispose();
    },
  };
}

/** Working folder and complete environment of a program. */
export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a program to its end and checks that it does not print the key. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env }: ProgramOptions,
): Promise<Ended> {
  return new Promise((done, failed) => {
    const child = execFile(program, args, { cwd, env }, (error, stdout, stderr) => {
      try {
        expectNoKey(stdout + stderr, `the output of ${program}`);
        if (error !== null && child.exitCode === null) throw error;
        done({ code: child.exitCode ?? -1, stdout, stderr });
      } catch (cause) {
        failed(cause);
      }
    });
  });
}
