import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { expectNoKey, expectNoKeyBelow } from "./canary.ts";
import { repository } from "./source-files.ts";

/** The result of a command. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command. */
export interface Running {
  /** The output so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<Ended>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** -1 when it could not be started. */
  readonly pid: number;
}

/** The folder and environment of a command. The environment has only the given variables of draftsync. */
export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The user of the process; by default that of the tests. */
  readonly uid?: number | undefined;
  /** Standard input; empty by default. */
  readonly input?: string;
  /** Whether every apply confirms the ledger, as a user does once; true by default. */
  readonly confirmsLedger?: boolean;
  /** Maximum size of a file in KiB: larger writes fail, as on a full disk. */
  readonly maxFileBytes?: number;
}

/** The real binary. */
export const main = `${repository}dist/cli/main.js`;

/** Starts the real binary without a terminal. */
export function startDraftsync(given: readonly string[], options: RunOptions): Running {
  const { maxFileBytes, confirmsLedger = true } = options;
  const args = given[0] === "apply" && confirmsLedger ? [...given, "--new-ledger"] : given;
  const command = [process.execPath, main, ...args];
  if (maxFileBytes !== undefined) command.unshift("bash", "-c", `ulimit -f ${maxFileBytes}; exec "$0" "$@"`);
  return watch(startProcess(command, options), args);
}

/** Starts a shell command in which `$draftsync` is the real binary. */
export function startShell(line: string, { env, ...options }: RunOptions): Running {
  const draftsync = `${process.execPath} ${main}`;
  const command = ["bash", "-c", `set -o pipefail; ${line}`];
  return watch(startProcess(command, { ...options, env: { ...env, draftsync } }), [line]);
}

/** Starts a command without reading its output. */
export function startProcess([file = "", ...args]: readonly string[], options: RunOptions) {
  const { cwd, env = {}, uid, input } = options;
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid }),
  });
  // A command that reads no input may end before the input is written.
  child.stdin.on("error", () => {}).end(input);
  return child;
}

/** Collects the output. */
function watch(child: ChildProcessWithoutNullStreams, args: readonly string[]): Running {
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((done, failed) => {
    child.once("error", failed);
    child.once("close", (code, signal) => {
      try {
        // The sandbox prints its key.
        if (args[0] !== "sandbox") expectNoKey(stdout + stderr, `the output of ${args.join(" ")}`);
        // As reported by a shell: 130 after SIGINT.
        done({ code: code ?? (signal === "SIGINT" ? 130 : signal === null ? -1 : 128), stdout, stderr });
      } catch (error) {
        failed(error);
      }
    });
  });
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    kill: (signal) => child.kill(signal),
    pid: child.pid ?? -1,
  };
}

/** Runs the real binary to its end. */
export function draftsync(args: readonly string[], options: RunOptions): Promise<Ended> {
  return startDraftsync(args, options).ended;
}

/** A temporary folder with the given files; `dispose` removes it, and throws when one of its files has the key. */
export interface Folder {
  readonly path: string;
  write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  read(name: string): Promise<string>;
  remove(name: string): Promise<void>;
  dispose(): Promise<void>;
}

/** Makes a folder with files; names may contain folders. */
export async function makeFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "draftsync-test-"));
  const written = new Set<string>();
  const folder: Folder = {
    path,
    write: async (more) => {
      for (const [name, content] of Object.entries(more)) {
        written.add(normalize(name));
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), content);
      }
    },
    read: (name) => readFile(join(path, name), "utf8"),
    remove: (name) => rm(join(path, name), { recursive: true }),
    dispose: async () => {
      try {
        await expectNoKeyBelow(path, written);
      } finally {
        await rm(path, { recursive: true, force: true });
      }
    },
  };
  await folder.write(files);
  return folder;
}
