import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { messageOf, systemCodeOf } from "../../model/errors.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import type { FileContent } from "./files.ts";

/** The folder of a repository that holds the packed draftsync. */
const folder = "vendor";

/** A commit of a git repository in the notation of npm; a branch or a tag could move. */
const commitPattern = /^(github:[\w.-]+\/[\w.-]+|git\+(https|ssh|file):\/\/[^\s#]+)#[0-9a-f]{40}$/;

/** The reason why a value of `--package` is not valid; `undefined` for a valid one. */
export function refusePackage(spec: string): CliError | undefined {
  if (spec.endsWith(".tgz") || commitPattern.test(spec)) return undefined;
  return new CliError(`"${spec}" is neither a packed file (.tgz) nor a git commit`, {
    code: "invalid-flag",
    hint: packageHint,
  });
}

/** The two ways to name a package. draftsync is not in a registry, where anyone could take its name. */
export const packageHint =
  "Use the file that `npm pack` writes in a clone of draftsync (./draftsync-0.1.0.tgz), or a commit with all 40 digits (github:OWNER/REPOSITORY#COMMIT).";

/**
 * The files that let `npm ci` install draftsync in a repository: the packed file, `package.json`, and the lockfile with
 * the digests of the packed file and of every dependency. Existing ones keep their other dependencies. npm writes all of
 * them in a temporary folder; nothing at `root` changes. Throws {@link CliError} `package-unusable`.
 */
export async function packageFiles(
  cli: Pick<Cli, "cwd" | "env" | "signal">,
  { root, name, spec }: { readonly root: string; readonly name: string; readonly spec: string },
): Promise<Readonly<Record<string, FileContent>>> {
  const temporary = await mkdtemp(join(tmpdir(), "draftsync-init-"));
  try {
    const npm = (...args: string[]) => runNpm(args, { cwd: temporary, cli });
    await mkdir(join(temporary, folder));
    if (spec.endsWith(".tgz")) await copyPacked(resolve(cli.cwd, spec), join(temporary, folder));
    else await npm("pack", "--pack-destination", folder, spec);
    const [packed = ""] = await readdir(join(temporary, folder));
    await writeFile(join(temporary, "package.json"), `${JSON.stringify({ name, private: true }, null, 2)}\n`);
    for (const file of ["package.json", "package-lock.json", ".npmrc"]) {
      await copyFile(join(root, file), join(temporary, file)).catch((error: unknown) => {
        if (systemCodeOf(error) !== "ENOENT") throw error;
      });
    }
    // Without the addresses of the registry that answered here: jobs may use another one.
    const lock = ["--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"];
    await npm("install", ...lock, "--no-audit", "--no-fund", "--save-exact", `./${folder}/${packed}`);
    const read = (file: string) => readFile(join(temporary, file));
    const lockfile = await read("package-lock.json");
    assertLocked(lockfile.toString("utf8"), spec);
    return {
      [`${folder}/${packed}`]: await read(join(folder, packed)),
      "package.json": await read("package.json"),
      "package-lock.json": lockfile,
    };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function copyPacked(file: string, to: string): Promise<void> {
  await copyFile(file, join(to, basename(file))).catch((error: unknown) => {
    throw unusable(`${file} cannot be read: ${messageOf(error)}`, error);
  });
}

const lockSchema = z.object({
  packages: z.object({
    "node_modules/draftsync": z.object({
      // npm notes the name of a package that calls itself something else.
      name: z.undefined().optional(),
      integrity: z.string().startsWith("sha512-"),
      bin: z.object({ draftsync: z.string() }),
    }),
  }),
});

function assertLocked(lockfile: string, spec: string): void {
  if (lockSchema.safeParse(JSON.parse(lockfile)).success) return;
  throw unusable(`${spec} does not contain a draftsync package`);
}

/** Runs npm without the secrets of draftsync: the build of a commit runs its scripts. */
async function runNpm(
  args: readonly string[],
  { cwd, cli }: { readonly cwd: string; readonly cli: Pick<Cli, "env" | "signal"> },
): Promise<void> {
  const env = Object.fromEntries(Object.entries(cli.env).filter(([name]) => !name.startsWith("DRAFTSYNC_")));
  const failure = await new Promise<string | undefined>((ended) => {
    execFile("npm", [...args], { cwd, env, signal: cli.signal }, (error, _stdout, stderr) => {
      if (error === null) return ended(undefined);
      const reasons = stderr.split("\n").filter((line) => line.startsWith("npm error"));
      ended(reasons.slice(0, 4).join("; ").replaceAll("npm error ", "") || error.message);
    });
  });
  if (cli.signal.aborted) throw new CliError("canceled; nothing was written", { code: "stopped" });
  if (failure !== undefined) throw unusable(`npm ${args[0]} failed: ${failure}`);
}

function unusable(message: string, cause?: unknown): CliError {
  return new CliError(message, { code: "package-unusable", hint: packageHint, cause });
}
