import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { expectNoKey, expectNoKeyBelow } from "./canary.ts";
import { repository } from "./source-files.ts";

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that is under way. */
export interface Running {
  /** What it has written so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<Ended>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** -1 when it could not be started. */
  readonly pid: number;
}

/** Where and with what a command runs. The environment holds nothing of draftsync's but what is given. */
export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The user it runs as; the one of the tests otherwise. */
  readonly uid?: number | undefined;
  /** What comes on standard input; nothing otherwise. */
  readonly input?: string;
  /** Whether every apply confirms the ledger, as a person would once; true when absent. */
  readonly confirmsLedger?: boolean;
  /** KiB that a file may grow to: writes beyond it fail, as on a disk that is full. */
  readonly maxFileBytes?: number;
}

/** The real binary. */
export const main = `${repository}dist/cli/main.js`;

/** Starts the real binary, with no terminal. */
export function startDraftsync(given: readonly string[], options: RunOptions): Running {
  const { maxFileBytes, confirmsLedger = true } = options;
  const args = given[0] === "apply" && confirmsLedger ? [...given, "--new-ledger"] : given;
  const command = [process.execPath, main, ...args];
  if (maxFileBytes !== undefined) command.unshift("bash", "-c", `ulimit -f ${maxFileBytes}; exec "$0" "$@"`);
  return watch(startProcess(command, options), args);
}

/** Starts a line of a shell, in which `$draftsync` is the real binary. */
export function startShell(line: string, { env, ...options }: RunOptions): Running {
  const draftsync = `${process.execPath} ${main}`;
  const command = ["bash", "-c", `set -o pipefail; ${line}`];
  return watch(startProcess(command, { ...options, env: { ...env, draftsync } }), [line]);
}

/** Starts a command of which nobody reads what it writes. */
export function startProcess([file = "", ...args]: readonly string[], options: RunOptions) {
  const { cwd, env = {}, uid, input } = options;
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid }),
  });
  // A command that reads no input may have ended before it is there.
  child.stdin.on("error", () => {}).end(input);
  return child;
}

/** Reads what it writes. */
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
        // The sandbox says which key it wants.
        if (args[0] !== "sandbox") expectNoKey(stdout + stderr, `the output of ${args.join(" ")}`);
        // As a shell reports it: 130 when it ended by SIGINT.
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

/** A folder of its own, with the given files; `dispose` removes it, and throws when the key was written into it. */
export interface Folder {
  readonly path: string;
  write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  read(name: string): Promise<string>;
  remove(name: string): Promise<void>;
  dispose(): Promise<void>;
}

/** Makes a folder with files; names may hold folders. */
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
