// `npm run demo:fleet`: PostgreSQL from npm, a sandbox with twelve accounts, and two workers, of which one is killed.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startPostgres } from "../support/start-postgres.mjs";
import { key, makeFleet } from "./support/make-fleet.mjs";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const sandboxModule = fileURLToPath(new URL("../../dist/sandbox/server.js", import.meta.url));
const names = "atlas basalt cobalt dragon ember fjord granite harbor indigo juniper kestrel lantern".split(
  " ",
);

const say = (text) => process.stdout.write(`${text}\n`);
const folder = await mkdtemp(join(tmpdir(), "draftsync-fleet-"));
say(`Starting PostgreSQL from npm, and a sandbox with ${names.length} accounts…`);
const postgres = await startPostgres();
const { startSandbox } = await import(pathToFileURL(sandboxModule).href);
const sandbox = await startSandbox({ key, accounts: names.length, rate: { limit: 10, windowMs: 1000 } });
await makeFleet({ folder, url: sandbox.url, databaseUrl: postgres.url, names, files: 12 });
const env = { ...process.env, PGPASSWORD: "tester-password", DRAFTSYNC_API_KEY: "" };

function start(args, prefix) {
  say(`\n$ draftsync ${args.join(" ")}${prefix === undefined ? "" : ` &  (${prefix})`}\n`);
  const stdio = prefix === undefined ? "inherit" : ["ignore", "pipe", "pipe"];
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      for (const line of text.trimEnd().split("\n")) say(`[${prefix}] ${line}`);
    });
  }
  const ended = new Promise((done) => child.once("close", done));
  return { child, ended };
}

async function run(args) {
  return await start(args).ended;
}

async function statuses() {
  const child = spawn(process.execPath, [main, "fleet", "status", "--json"], { cwd: folder, env });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more) => {
    text += more;
  });
  await new Promise((done) => child.once("close", done));
  return JSON.parse(text).workspaces;
}

const workers = [];
try {
  if ((await run(["fleet", "apply"])) !== 0) throw new Error("the fleet could not be made");
  workers.push(start(["fleet", "worker", "--slots", "2"], "worker 1"));
  workers.push(start(["fleet", "worker", "--slots", "2"], "worker 2"));
  await delay(2_000);
  await run(["fleet", "run", "--all"]);
  await delay(1_500);
  say("\nkill -9 worker 1: its runs return to worker 2 within 15 s\n");
  workers[0].child.kill("SIGKILL");
  for (const end = Date.now() + 120_000; Date.now() < end; await delay(1_000)) {
    const all = await statuses();
    if (all.every(({ status, running_on }) => status === "ok" && running_on === undefined)) break;
  }
  await run(["fleet", "status"]);
  const bad = (await statuses()).filter(({ status }) => status !== "ok");
  say(
    bad.length === 0
      ? "\nEvery workspace succeeded.\n"
      : `\nNot ok: ${bad.map(({ name }) => name).join(", ")}\n`,
  );
  process.exitCode = bad.length === 0 ? 0 : 1;
} finally {
  for (const { child } of workers) child.kill("SIGTERM");
  await Promise.all(workers.map(({ ended }) => ended));
  await sandbox.close();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
