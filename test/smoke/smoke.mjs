// Builds the program, runs the demo, and uses the packed program from an empty folder, on each supported Node.
// `node test/smoke/smoke.mjs [VERSION…]`; the binaries come from npm, without an install script.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The oldest release that `engines` allows, then the newest of each later line. */
const supported = ["20.19.0", "22", "24", "26"];
const versions = process.argv.length > 2 ? process.argv.slice(2) : supported;
const repository = fileURLToPath(new URL("../..", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "draftsync-smoke-"));
const print = (text) => void process.stdout.write(`${text}\n`);

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("DRAFTSYNC_")),
);

/** Runs a program; its output appears only when it ends with another exit code than the expected one. */
async function run(program, args, { cwd, env = {}, code = 0 }) {
  const options = { cwd, env: { ...inherited, ...env }, maxBuffer: 2 ** 26 };
  const ended = await promisify(execFile)(program, args, options).catch((error) => error);
  if ((ended.code ?? 0) === code) return ended.stdout;
  throw new Error(
    `${[program, ...args].join(" ")}\nin ${cwd} ended with ${ended.code ?? ended.signal}, not ${code}:\n${ended.stdout}${ended.stderr}`,
  );
}

/** The folder of a Node, from the package of this platform. */
async function installNode(version) {
  const folder = join(root, `node-${version}`);
  const name = `node-${process.platform}-${process.arch}@${version}`;
  mkdirSync(folder);
  await run("npm", ["install", "--prefix", folder, "--no-save", "--ignore-scripts", name], { cwd: folder });
  return join(folder, "node_modules", `node-${process.platform}-${process.arch}`, "bin");
}

/** What Tab does in bash after "draftsync expl". */
const completeExpl = `
source <(draftsync completion bash)
COMP_LINE="draftsync expl" COMP_POINT=14 COMP_WORDS=(draftsync expl) COMP_CWORD=1
$(complete -p draftsync | sed 's/.*-F \\([^ ]*\\).*/\\1/') draftsync expl draftsync
echo "\${COMPREPLY[@]}"`;

async function build(env) {
  await run("npm", ["run", "build"], { cwd: repository, env });
  // Where no earlier demo has left a ledger.
  const clone = mkdtempSync(join(root, "demo-"));
  for (const name of ["dist", "manifests", "package.json"])
    cpSync(join(repository, name), join(clone, name), {
      recursive: true,
      filter: (path) => !path.includes("manifests/.draftsync"),
    });
  symlinkSync(join(repository, "node_modules"), join(clone, "node_modules"));
  await run("node", [join(clone, "dist/cli/demo.js")], { cwd: clone, env });
  rmSync(clone, { recursive: true });
}

/** As a user installs it: globally, and found in the PATH, also by the completion of the shell. */
async function useInstalled(tarball, nodeEnv) {
  const cwd = mkdtempSync(join(root, "user-"));
  const prefix = mkdtempSync(join(root, "prefix-"));
  await run("npm", ["install", "--global", "--prefix", prefix, "--ignore-scripts", tarball], {
    cwd,
    env: nodeEnv,
  });
  const env = { ...nodeEnv, PATH: `${join(prefix, "bin")}${delimiter}${nodeEnv.PATH}` };
  const draftsync = (args, code) => run("draftsync", args, { cwd, env, code });
  await draftsync(["--version"]);
  const completed = await run("bash", ["-c", completeExpl], { cwd, env });
  if (completed.trim() !== "explain") throw new Error(`"draftsync expl<Tab>" became "${completed.trim()}"`);
  await draftsync(["explain", "lock-held"]);
  await draftsync(["init"]);
  await draftsync(["validate"]);
  await draftsync(["plan", "--detailed-exitcode"], 2);
  await draftsync(["apply", "--auto-approve"]);
  await draftsync(["plan", "--detailed-exitcode"]);
  const library = join(prefix, "lib/node_modules/draftsync/dist/index.js");
  await run("node", ["--input-type=module", "--eval", `await import(${JSON.stringify(library)})`], {
    cwd,
    env,
  });
  rmSync(cwd, { recursive: true });
  rmSync(prefix, { recursive: true });
}

try {
  await run("npm", ["pack", "--pack-destination", root], { cwd: repository });
  const [tarball = ""] = readdirSync(root).filter((name) => name.endsWith(".tgz"));
  for (const version of versions) {
    const start = performance.now();
    const bin = await installNode(version);
    const env = { PATH: `${bin}${delimiter}${process.env.PATH}` };
    const name = (await run("node", ["--version"], { cwd: root, env })).trim();
    await build(env);
    await useInstalled(join(root, tarball), env);
    rmSync(join(root, `node-${version}`), { recursive: true });
    print(
      `Node ${name}: build, demo and smoke test passed in ${Math.round((performance.now() - start) / 1000)} s.`,
    );
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
