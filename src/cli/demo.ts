import { spawn } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/**
 * `npm run demo`: the sample workspace against the embedded sandbox, by the commands a user would type. Starts from
 * nothing each time, and leaves the ledger and the sandbox's data in `manifests/.draftsync` for you to inspect.
 */
const workspace = fileURLToPath(new URL("../../manifests/", import.meta.url));
const main = fileURLToPath(new URL("main.js", import.meta.url));

const planFile = ".draftsync/plan.json";
const steps: readonly (readonly string[])[] = [
  ["plan", "--out", planFile],
  ["apply", planFile, "--auto-approve"],
  ["plan"],
];

await rm(`${workspace}.draftsync`, { recursive: true, force: true });
// The first apply would make the folder, and the plan is saved into it before that.
await mkdir(`${workspace}.draftsync`);
for (const args of steps) {
  process.stdout.write(`\n$ cd manifests && draftsync ${args.join(" ")}\n\n`);
  const code = await draftsync(args);
  if (code !== 0) process.exit(code);
}
process.stdout.write(`
That was the real tool against the embedded sandbox. The ledger is manifests/.draftsync/state.db, the sandbox's
data and the log of every request it got are beside it. Now edit a description in manifests/drafts and plan again:\n\n  cd manifests && node ../dist/cli/main.js plan
`);

/** Runs one command in the sample workspace, on this terminal; the environment cannot lead it elsewhere. */
function draftsync(args: readonly string[]): Promise<number> {
  const { DRAFTSYNC_BASE_URL: _url, DRAFTSYNC_STATE: _state, DRAFTSYNC_API_KEY: _key, ...env } = process.env;
  const child = spawn(process.execPath, [main, ...args], { cwd: workspace, env, stdio: "inherit" });
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("exit", (code, signal) => done(code ?? (signal === "SIGINT" ? 130 : 1)));
  });
}
