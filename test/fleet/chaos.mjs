// `npm run chaos:fleet [-- --minutes 10]`: workers and runs are killed at random while manifests change. Then the sandbox's own log is
// judged: nothing attached or published twice, and every window within the rate limit of its key. Ends with 1 when that does not hold.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import { attachedTwice, busiestWindow } from "../soak/judge.mjs";
import { makeRandom } from "../support/random.mjs";
import { startPostgres } from "../support/start-postgres.mjs";
import { key, makeFleet, manifestOf } from "./support/make-fleet.mjs";

const { values: options } = parseArgs({
  options: { minutes: { type: "string" }, workspaces: { type: "string" }, seed: { type: "string" } },
});
const minutes = Number(options.minutes ?? 10);
const count = Number(options.workspaces ?? 12);
const seed = Number(options.seed ?? Date.now() % 100_000);
const random = makeRandom(seed);
const pick = (list) => list[Math.floor(random() * list.length)];
const bound = { limit: 10, windowMs: 1000 };
const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const names = Array.from({ length: count }, (_, index) => `workspace-${String(index).padStart(2, "0")}`);
/** The first four share an account, its key and its rate limit. */
const accountOf = (index) => (index < 4 ? 1 : index + 1);
const say = (text) => process.stdout.write(`${text}\n`);

const log = [];
const folder = await mkdtemp(join(tmpdir(), "draftsync-chaos-"));
const postgres = await startPostgres();
const { startSandbox } = await import(
  pathToFileURL(fileURLToPath(new URL("../../dist/sandbox/server.js", import.meta.url))).href
);
const sandbox = await startSandbox({ key, accounts: count, rate: bound, log: (entry) => log.push(entry) });
const shared = names.slice(0, 4).map((name) => `  ${name}: { key: shared }`);
const more = `keys:\n  shared: { api_key_file: keys/${names[0]}, rate: { limit: 10, window: 1s } }\noverrides:\n${shared.join("\n")}`;
await makeFleet({
  folder,
  url: sandbox.url,
  databaseUrl: postgres.url,
  names,
  every: "20s",
  more,
  accountOf,
});
const env = { ...process.env, PGPASSWORD: "tester-password" };
const draftsync = (args) =>
  promisify(execFile)(process.execPath, [main, ...args], { cwd: folder, env }).catch((error) => error);

/** How many files the manifest of each workspace has; it only grows, so no file is attached twice on purpose. */
const files = names.map(() => 3);
async function edit(index) {
  files[index] += Math.floor(random() * 6);
  const text = `${manifestOf(index, files[index], `Text ${Math.floor(random() * 1e6)}`)}publish: true\n`;
  await writeFile(join(folder, "accounts", names[index], "manifests", "draft.yaml"), text);
}

const workers = new Set();
function startWorker() {
  const child = spawn(process.execPath, [main, "fleet", "worker", "--slots", "4"], {
    cwd: folder,
    env,
    stdio: "ignore",
  });
  workers.add(child);
  child.once("exit", () => workers.delete(child));
}

/** The processes of runs, by their command lines. */
async function runs() {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => [Number(pid), await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")]),
  );
  return lines.filter(([, line]) => line.includes("reconcile") && line.includes(folder)).map(([pid]) => pid);
}

say(`seed ${seed}: ${count} workspaces, three workers, ${minutes} min`);
for (const [index, name] of names.entries()) {
  const config = `accounts/${name}/draftsync.yaml`;
  const text = await readFile(join(folder, config), "utf8");
  await writeFile(
    join(folder, config),
    text.replace("[create, update, delete]", "[create, update, publish]"),
  );
  await draftsync(["apply", "--config", config, "--auto-approve", "--new-ledger"]);
  await edit(index);
}
log.length = 0;
await draftsync(["fleet", "apply"]);
for (let worker = 0; worker < 3; worker += 1) startWorker();
const counts = { workers: 0, runs: 0, edits: 0 };
for (const end = Date.now() + minutes * 60_000; Date.now() < end; await delay(500 + random() * 3_000)) {
  const chance = random();
  if (chance < 0.25) {
    pick([...workers])?.kill("SIGKILL");
    counts.workers += 1;
    startWorker();
  } else if (chance < 0.5) {
    const pid = pick(await runs());
    if (pid !== undefined) {
      process.kill(pid, "SIGKILL");
      counts.runs += 1;
    }
  } else {
    await edit(Math.floor(random() * count));
    counts.edits += 1;
  }
}
say(
  `killed: ${counts.workers} workers, ${counts.runs} runs; ${counts.edits} edits; now all run to their end`,
);
await draftsync(["fleet", "run", "--all"]);
let statuses = [];
for (const end = Date.now() + 180_000; Date.now() < end; await delay(1_000)) {
  statuses = JSON.parse((await draftsync(["fleet", "status", "--json"])).stdout).workspaces;
  const isDone = ({ last_run, running_on, late_ms }) =>
    running_on === undefined && late_ms === undefined && /nothing to do/.test(last_run?.summary ?? "");
  if (statuses.every((each) => isDone(each) || each.status === "in_doubt")) break;
}
for (const worker of workers) worker.kill("SIGTERM");
while (workers.size > 0) await delay(100);

const faults = [];
for (const [index, account] of sandbox.accounts.entries()) {
  const { products, attachments } = account.state();
  const own = log.filter((entry) => entry.account === index + 1 && entry.side === "service");
  const twice = attachedTwice(own);
  if (twice.length > 0) faults.push(`account ${index + 1}: attached twice: ${twice.join(", ")}`);
  const drafts = products.map(({ draftId }) => draftId);
  if (new Set(drafts).size !== drafts.length) faults.push(`account ${index + 1}: published twice`);
  const most = busiestWindow(
    own.map(({ monotonic }) => monotonic).sort((a, b) => a - b),
    bound.windowMs,
  );
  if (most > bound.limit) faults.push(`account ${index + 1}: ${most} calls in a window of ${bound.limit}`);
  const wanted = names.reduce((sum, _, at) => sum + (accountOf(at) === index + 1 ? files[at] : 0), 0);
  if (attachments.length !== wanted)
    faults.push(`account ${index + 1}: ${attachments.length} of ${wanted} files`);
}
const by = (status) => statuses.filter((each) => each.status === status).map(({ name }) => name);
say(
  `${log.length} requests; ok ${by("ok").length}, in doubt ${by("in_doubt").length} (${by("in_doubt").join(", ")})`,
);
for (const name of [...by("failing"), ...by("behind")]) faults.push(`${name} is failing or behind`);
say(
  faults.length === 0 ? "Nothing was attached or published twice, and every window held." : faults.join("\n"),
);
await sandbox.close();
await postgres.stop();
await rm(folder, { recursive: true, force: true });
process.exit(faults.length === 0 ? 0 : 1);
