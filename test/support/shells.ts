import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { expect } from "vitest";
import { type Folder, main } from "./cli.ts";

/** How a shell is started without anybody's own settings, and told to complete. */
const shells = {
  bash: { start: "bash --noprofile --norc -i", load: "source <(draftsync completion bash)" },
  zsh: {
    start: "zsh -f -i",
    load: "autoload -Uz compinit; compinit -u -D; source <(draftsync completion zsh)",
  },
  fish: { start: "fish --no-config -i", load: "draftsync completion fish | source" },
} as const;

/** A shell that completion is tested with. */
export type ShellName = keyof typeof shells;

/** Whether a program is installed. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync("which", [program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/**
 * Puts a `draftsync` into the folder's `bin` that completes as the real one does; called in any other way, it writes its
 * arguments to the file `args`, each ended by a NUL.
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
 * Types keys into an interactive shell, on a terminal of its own, and presses Enter; resolves with the arguments that
 * `draftsync` was called with (see {@link placeCommand}).
 */
export async function typeInto(name: ShellName, folder: Folder, keys: string): Promise<readonly string[]> {
  const { start, load } = shells[name];
  const env = {
    PATH: `${folder.path}/bin:${process.env.PATH}`,
    HOME: folder.path,
    TERM: "xterm",
    LC_ALL: "C.UTF-8",
  };
  const child = spawn("script", ["-qec", start, "/dev/null"], { cwd: folder.path, env });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  const appears = (file: string) =>
    expect.poll(() => existsSync(`${folder.path}/${file}`), { timeout: 30_000, message: said }).toBe(true);
  const ended = new Promise((done) => child.once("close", done));
  try {
    child.stdin.write(`${load}\rtouch ready\r`);
    await appears("ready");
    child.stdin.write(`${keys}\r`);
    await appears("args");
    return (await folder.read("args")).split("\0").slice(0, -1);
  } catch (error) {
    throw new Error(`${name} said: ${JSON.stringify(said)}`, { cause: error });
  } finally {
    child.kill("SIGKILL");
    await ended;
    for (const file of ["ready", "args"]) if (existsSync(`${folder.path}/${file}`)) await folder.remove(file);
  }
}
