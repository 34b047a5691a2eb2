// `npm run bench -- --only fleet`: what a fleet costs beside single plans, and how late its runs begin. About half an hour.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import pg from "pg";
import { startPostgres } from "../support/start-postgres.mjs";
import { writeCatalogue } from "./catalogue.mjs";
import { main, runNode } from "./measure.mjs";

const password = "tester-password";
const databaseOf = (url, schema) => `${url.replace(/:\/\/([^:@]+):[^@]*@/, "://$1@")}?schema=${schema}`;
const env = { PGPASSWORD: password };

/** Answers every probe, after so long: the least that a service can do. */
async function startService(ms) {
  const server = createServer(async (request, response) => {
    await delay(ms);
    const [kind = "", id = ""] = (request.url ?? "").split("/").slice(-2);
    const type = kind.replace(/s$/, "");
    response.writeHead(200, { "content-type": "application/vnd.api+json" });
    response.end(JSON.stringify({ data: { type, id } }));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** A fleet of workspaces in which all is as desired; `serviceOf` says where each probes one file a run, if anywhere. */
async function makeFleet({ root, prefix, url, count, files, more, serviceOf = () => undefined }) {
  const folder = join(root, prefix);
  const names = Array.from({ length: count }, (_, index) => `workspace-${String(index).padStart(4, "0")}`);
  const limit = pLimit(2);
  const make = async (name, index) => {
    const service = serviceOf(index);
    const at = join(folder, "accounts", name);
    const refresh =
      service === undefined ? "" : "refresh: { attachments: probe, max_calls: 1, max_age: 1s }\n";
    const origin = service ?? "https://api.example.com";
    const config = `version: 1\nworkspace: bench\nservice: { base_url: "${origin}", api_key_file: ../../key }\nstate: ${databaseOf(url, `${prefix}_${index}`)}\n${refresh}`;
    await writeCatalogue({ folder: at, drafts: Math.max(1, files / 10), files: Math.min(files, 10), config });
    const ledger = join(at, "ledger.json");
    writeFileSync(ledger, readFileSync(ledger, "utf8").replace('"https://api.example.com"', `"${origin}"`));
    await runNode([main, "state", "import", "ledger.json"], { cwd: at, env });
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "key"), "bench\n");
  await Promise.all(names.map((name, index) => limit(() => make(name, index))));
  writeFileSync(
    join(folder, "fleet.yaml"),
    `version: 1\ndatabase: ${databaseOf(url, `${prefix}_table`)}\nworkspaces: ["accounts/*/draftsync.yaml"]\n${more}\n`,
  );
  return { folder, names, schema: `${prefix}_table` };
}

function startWorker(folder) {
  const child = spawn(process.execPath, [main, "fleet", "worker"], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  return async () => {
    child.kill("SIGTERM");
    await ended;
  };
}

/** Processor seconds of the processes that this one has started and that ended; https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function spentSeconds() {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** How long after they were due the runs began that began by themselves; milliseconds, ascending. */
async function lagsOf(database, { schema, everyMs }) {
  const { rows } = await database.query(
    `select workspace, extract(epoch from started_at) * 1000 as began, status from ${schema}.fleet_runs`,
  );
  const bad = rows.filter(({ status }) => status !== "ok" && status !== "interrupted");
  if (bad.length > 0) throw new Error(`${bad.length} of ${rows.length} runs are not ok: ${bad[0].status}`);
  return rows
    .map(({ workspace, began }) => {
      const phaseMs = Math.floor(
        (createHash("sha256").update(workspace).digest().readUInt32BE() / 2 ** 32) * everyMs,
      );
      return (((Number(began) - phaseMs) % everyMs) + everyMs) % everyMs;
    })
    .sort((a, b) => a - b);
}

const shown = (ms) => `${(ms / 1000).toFixed(2)} s`;

export async function measureFleet({ root, tell }) {
  const postgres = await startPostgres();
  const database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
  const draftsync = (folder, ...args) => runNode([main, ...args], { cwd: folder, env });
  try {
    await round({ root, tell, url: postgres.url, draftsync, database });
    await halfLoad({ root, tell, url: postgres.url, draftsync, database });
    await slowFifth({ root, tell, url: postgres.url, draftsync, database });
  } finally {
    await database.end();
    await postgres.stop();
  }
}

async function round({ root, tell, url, draftsync, database }) {
  const { folder, names, schema } = await makeFleet({
    root,
    prefix: "idle",
    url,
    count: 400,
    files: 250,
    more: "every: 1d",
  });
  const limit = pLimit(2);
  const before = spentSeconds();
  const plan = (name) => draftsync(folder, "plan", "--config", `accounts/${name}/draftsync.yaml`);
  await Promise.all(names.map((name) => limit(() => plan(name))));
  const single = spentSeconds() - before;
  await draftsync(folder, "fleet", "apply");
  const begun = spentSeconds();
  const since = performance.now();
  const stop = startWorker(folder);
  await draftsync(folder, "fleet", "run", "--all");
  const isDone = async () => {
    const { rows } = await database.query(
      `select count(*)::int as left from ${schema}.fleet_workspaces where last_status is distinct from 'ok'`,
    );
    return rows[0].left === 0;
  };
  while (!(await isDone())) await delay(500);
  const took = performance.now() - since;
  await stop();
  const fleet = spentSeconds() - begun;
  tell({
    name: "processor time of a round of 400 idle workspaces of 250 attachments / 400 plans",
    figure: `${fleet.toFixed(0)} s in ${shown(took)} / ${single.toFixed(0)} s`,
    ratio: fleet / single,
    target: 1.5,
  });
}

async function halfLoad({ root, tell, url, draftsync, database }) {
  const service = await startService(2_000);
  const everyMs = 260_000;
  const options = { root, prefix: "half", url, count: 400, files: 10, serviceOf: () => service.url };
  const { folder, schema } = await makeFleet({ ...options, more: "every: 260s\nslots: 8" });
  await draftsync(folder, "fleet", "apply");
  const stop = startWorker(folder);
  const samples = [];
  for (const end = Date.now() + 1.5 * everyMs; Date.now() < end; await delay(1_000)) {
    const { rows } = await database.query(
      `select count(*)::int as busy from ${schema}.fleet_workspaces where started_at > coalesce(ended_at, 'epoch')`,
    );
    samples.push(rows[0].busy);
  }
  await stop();
  service.close();
  const lags = await lagsOf(database, { schema, everyMs });
  const busy = samples.reduce((sum, each) => sum + each, 0) / samples.length;
  const p99 = lags[Math.floor(lags.length * 0.99)];
  tell({
    name: `due to start, p99 of ${lags.length} runs, ${busy.toFixed(1)} of 8 slots in use, in s`,
    figure: `${shown(p99)}; p50 ${shown(lags[lags.length >> 1])}, most ${shown(lags.at(-1))}`,
    ratio: p99 / 1000,
    target: 2,
  });
}

async function slowFifth({ root, tell, url, draftsync, database }) {
  const everyMs = 480_000;
  const [fast, slow] = [await startService(100), await startService(12_000)];
  const serviceOf = (index) => (index % 5 === 0 ? slow.url : fast.url);
  const options = { root, prefix: "slow", url, count: 1000, files: 10, serviceOf };
  const { folder, schema, names } = await makeFleet({ ...options, more: "every: 480s\nslots: 8" });
  await draftsync(folder, "fleet", "apply");
  const stop = startWorker(folder);
  await delay(2.5 * everyMs);
  await stop();
  fast.close();
  slow.close();
  const lags = await lagsOf(database, { schema, everyMs });
  const { rows } = await database.query(
    `select workspace, extract(epoch from max(gap)) as most from (
       select workspace, started_at - lag(started_at) over (partition by workspace order by started_at) as gap from ${schema}.fleet_runs) as each
     group by workspace`,
  );
  if (rows.length < names.length) throw new Error(`only ${rows.length} of ${names.length} workspaces ran`);
  const most = Math.max(...rows.map((row) => Number(row.most)));
  tell({
    name: "longest time between two runs of a workspace / interval, 1,000 workspaces, a fifth 20 x slower",
    figure: `${most.toFixed(1)} s / 480 s; due to start at most ${shown(lags.at(-1))}`,
    ratio: most / (everyMs / 1000),
    target: 2,
  });
}
