import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { expect } from "vitest";
import { type Folder, main } from "./cli.ts";

/** Flags to start a shell without the user's settings, and commands that load the completion. */
const shells = {
  bash: { flags: ["--noprofile", "--norc", "-i"], load: "source <(draftsync completion bash)" },
  zsh: {
    flags: ["-f", "-i"],
    load: "autoload -Uz compinit; compinit -u -D; source <(draftsync completion zsh)",
  },
  fish: { flags: ["--no-config", "-i"], load: "draftsync completion fish | source" },
} as const;

/** A shell in the tests of completion. */
export type ShellName = keyof typeof shells;

/** The suffix of a test's title when a required program is not installed. */
export function skipNote(...programs: readonly string[]): string {
  const missing = programs.filter((program) => !isInstalled(program));
  return missing.length === 0 ? "" : ` (skipped: ${missing.join(" and ")} is not installed)`;
}

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Puts a `draftsync` into the folder's `bin` that completes like the real one; for other calls, it writes its
 * arguments to the file `args`, each followed by a NUL.
 */
export async function placeCommand(folder: Folder): Promise<void> {
  const script = `#!/bin/sh
case $1 in
  __complete | completion) exec ${process.execPath} ${main} "$@" ;;
esac
printf '%s\\0' "$@" > args.part && mv args.part args
`;
  await folder.write({ "bin/draftsync": script });
  execFileSync("chmod", ["+x", `${folder.path}/bin/draftsync`]);
}

/**
 * Types keys and Enter into an interactive shell on a new terminal; resolves with the arguments with which
 * `draftsync` was called (see {@link placeCommand}).
 */
export async function typeInto(name: ShellName, folder: Folder, keys: string): Promise<readonly string[]> {
  const { flags, load } = shells[name];
  const env = {
    PATH: `${folder.path}/bin:${process.env.PATH}`,
    HOME: folder.path,
    TERM: "xterm",
    LC_ALL: "C.UTF-8",
  };
  const child = spawn(name, [...flags], { cwd: folder.path, env });
  let output = "";
  child.onData((text) => {
    output += text;
  });
  const appears = (file: string) =>
    expect.poll(() => existsSync(`${folder.path}/${file}`), { timeout: 30_000, message: output }).toBe(true);
  const ended = new Promise<unknown>((done) => child.onExit(done));
  try {
    child.write(`${load}\rtouch ready\r`);
    await appears("ready");
    child.write(`${keys}\r`);
    await appears("args");
    return (await folder.read("args")).split("\0").slice(0, -1);
  } catch (error) {
    throw new Error(`${name} printed: ${JSON.stringify(output)}`, { cause: error });
  } finally {
    child.kill("SIGKILL");
    await ended;
    for (const file of ["ready", "args"]) if (existsSync(`${folder.path}/${file}`)) await folder.remove(file);
  }
}
