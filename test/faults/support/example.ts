import { execFile } from "node:child_process";
import { chmod, cp } from "node:fs/promises";
import { join } from "node:path";
import type { Arrival, Sandbox } from "../../../src/sandbox/server.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";
import { expectNoKey } from "../../support/canary.ts";
import type { Ended, Folder } from "../../support/cli.ts";
import { main, makeFolder } from "../../support/cli.ts";
import { repository } from "../../support/source-files.ts";

/** A copy of an example, and the service that it is applied to. */
export interface Example {
  /** What is around the repository: programs in `bin`, and whatever else a machine has. */
  readonly folder: Folder;
  /** The copy of the repository. */
  readonly path: string;
  readonly sandbox: Sandbox;
  readonly arrivals: readonly Arrival[];
  /** Key and address of the service, and a `PATH` on which `npm install --global` puts `draftsync`. */
  readonly env: Readonly<Record<string, string>>;
  /** What npm was asked to install, each once. */
  installed(): Promise<string[]>;
  close(): Promise<void>;
}

/** Stands for npm, so that nothing is downloaded: installs the binary of this repository, whatever it is called. */
const npm = `#!/bin/sh
test "$1 $2 $3" = "install --global --ignore-scripts" || exit 64
prefix=HERE/installed
if [ "$4" = --prefix ]; then prefix=$5; shift 2; fi
echo "$4" >> HERE/installed.txt
mkdir -p "$prefix/bin"
printf '#!/bin/sh\\nexec "${process.execPath}" "${main}" "$@"\\n' > "$prefix/bin/draftsync"
chmod +x "$prefix/bin/draftsync"
`;

/** Starts an example of `examples/` next to a sandbox with nothing in it. */
export async function startExample(name: string): Promise<Example> {
  const key = "canary-key-9b1d";
  const arrivals: Arrival[] = [];
  const sandbox = await startSandbox({
    key,
    uploadProcessingMs: 0,
    log: (arrival) => void arrivals.push(arrival),
  });
  const folder = await makeFolder();
  await folder.write({ "bin/npm": npm.replaceAll("HERE", folder.path), "installed.txt": "" });
  await chmod(join(folder.path, "bin/npm"), 0o755);
  const path = join(folder.path, "repository");
  await cp(`${repository}examples/${name}`, path, { recursive: true });
  return {
    folder,
    path,
    sandbox,
    arrivals,
    env: {
      PATH: `${folder.path}/bin:${folder.path}/installed/bin:${process.env.PATH}`,
      HOME: folder.path,
      DRAFTSYNC_API_KEY: key,
      DRAFTSYNC_BASE_URL: sandbox.url,
    },
    installed: async () => [...new Set((await folder.read("installed.txt")).trimEnd().split("\n"))],
    close: async () => {
      await sandbox.close();
      await folder.dispose();
    },
  };
}

/** Where a program runs, with nothing in its environment but what is given. */
export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a program to its end, and holds that it says no key. */
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
