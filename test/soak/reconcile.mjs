// `npm run soak:reconcile -- --minutes N [--seed S]`: two instances of `reconcile --interval` side by side on one ledger,
// against a sandbox with faults, looking at the files within a budget, with edits, another client's changes, doubts
// resolved, changes of the config and restarts in between; then it is judged by the server's log: one writer at a time, the bound kept, and metrics that agree with it. Ends with 1 on a violation.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { attachedTwice, growth, unaccounted } from "./judge.mjs";
import {
  editSome,
  env,
  exits,
  exported,
  faults,
  folder,
  isStrangers,
  judgeWire,
  key,
  limit,
  main,
  meddle,
  minutes,
  pick,
  random,
  readProducts,
  resolveAll,
  root,
  run,
  say,
  seed,
  start,
  startSandbox,
  tellVerdict,
  violations,
  writeConfig,
} from "./stage.mjs";

const notices = [];
const webhook = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text) => {
    body += text;
  });
  request.on("end", () => {
    notices.push(JSON.parse(body));
    // Now and then it fails, and has to be notified again.
    response.writeHead(random() < 0.1 ? 500 : 204).end();
    notices.at(-1).taken = response.statusCode === 204;
  });
}).listen(0, "127.0.0.1");
await once(webhook, "listening");
const webhookUrl = `http://127.0.0.1:${webhook.address().port}/secret-path-7f`;

/** Everything that an instance has reported since the beginning, over its restarts. */
class Instance {
  constructor(name) {
    this.name = name;
    this.file = join(root, `${name}.prom`);
    this.events = [];
    this.log = "";
    this.samples = [];
  }

  async start() {
    const args = [
      "reconcile",
      "--interval",
      "1s",
      "--listen",
      "127.0.0.1:0",
      "--metrics-file",
      this.file,
      "--json",
    ];
    this.child = start([main, ...args], {
      cwd: folder,
      env: { ...env, DRAFTSYNC_NOTIFY_URL: webhookUrl },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let line = "";
    this.child.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = `${line}${text}`.split("\n");
      line = lines.pop();
      this.events.push(...lines.map((each) => JSON.parse(each)));
    });
    await new Promise((listening) => {
      this.child.stderr.setEncoding("utf8").on("data", (text) => {
        this.log += text;
        const [, url] = [...this.log.matchAll(/listening on (\S+)/g)].at(-1) ?? [];
        if (url !== undefined) this.url = url;
        if (text.includes("listening on")) listening();
      });
    });
    this.closed = once(this.child, "close");
  }

  async stop() {
    this.child.kill("SIGTERM");
    const [code, signal] = await this.closed;
    exits.set(`reconcile ${code ?? signal}`, (exits.get(`reconcile ${code ?? signal}`) ?? 0) + 1);
    // 130: a call was cut off after 5 s; the timeout is 2 s, so nothing may take as long.
    if (code !== 0)
      violations.push(`${this.name} ended ${code ?? signal} on SIGTERM: ${this.log.slice(-400)}`);
  }

  async sample() {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const read = (name) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    this.samples.push({
      rss: read("process_resident_memory_bytes"),
      descriptors: read("process_open_fds"),
    });
    for (const path of ["/healthz", "/readyz"]) await fetch(`${this.url}${path}`);
  }
}

/** What the services are allowed, from reload to reload. */
const policies = [
  "reconcile: { allow: [create, update, replace, delete, publish], lock_wait: 3s }\n",
  "reconcile: { allow: [create, update, replace, delete, publish], lock_wait: 0s }\n",
  "reconcile: { allow: [create, update] }\n",
].map((policy) => `${policy}refresh: { attachments: probe, max_calls: 5 }\n`);

const pause = (ms) => new Promise((over) => setTimeout(over, ms));

async function disturb(until, [first, second]) {
  while (Date.now() < until) {
    await pause(300 + random() * 1200);
    if (random() < 0.6) for (let left = 1 + Math.floor(random() * 6); left > 0; left -= 1) editSome();
    if (random() < 0.4) await meddle(service.url);
    if (random() < 0.1) await resolveAll();
    if (random() < 0.1) {
      writeConfig(service.url, pick(policies));
      for (const { child } of pick([[first], [second], [first, second]])) child.kill("SIGHUP");
    }
    if (random() < 0.03) {
      await second.stop();
      await second.start();
    }
    if (random() < 0.3) await first.sample();
  }
}

/** The samples of a metric in both files, added up by their labels. */
function added(name, labels) {
  const sums = new Map();
  for (const { file } of instances) {
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (!line.startsWith(`${name}{`)) continue;
      const of = labels.map((label) => new RegExp(`${label}="([^"]*)"`).exec(line)?.[1]).join(" ");
      sums.set(of, (sums.get(of) ?? 0) + Number(line.split(" ").at(-1)));
    }
  }
  return sums;
}

function counted(list, nameOf) {
  const counts = new Map();
  for (const item of list) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
  return counts;
}

function compare(what, metric, truth) {
  for (const name of new Set([...metric.keys(), ...truth.keys()])) {
    const [reported = 0, is = 0] = [metric.get(name), truth.get(name)];
    if (reported !== is) violations.push(`${what} ${name}: the metrics say ${reported}, the log ${is}`);
  }
}

const routeOf = (path) =>
  path
    .replace(/\/drafts\/\d+/, "/drafts/:draft_id")
    .replace(/(_files|uploads|products)\/(?!credentials)[^/]+/, "$1/:id");

/** The times in which an instance checked the service or wrote to it. */
function turnsOf({ name, events }) {
  const turns = [];
  for (const { type, at } of events) {
    if (type === "refresh_started" || type === "run_started")
      turns.push({ name, type, from: at, to: Number.POSITIVE_INFINITY });
    if (type === "refresh_finished" || type === "run_finished") turns.at(-1).to = at;
  }
  return turns;
}

/** Turns of both never overlap, and every call that is no mere reading came within one of them. */
function judgeWriters(arrivals) {
  const runs = instances.flatMap(turnsOf);
  runs.sort((a, b) => a.from - b.from);
  for (const [at, { from, name }] of runs.entries()) {
    const before = runs[at - 1];
    if (before !== undefined && before.to > from)
      violations.push(`${before.name} and ${name} wrote at once, ${from}`);
  }
  for (const { method, path, time } of arrivals) {
    if (method === "GET") continue;
    if (!runs.some(({ from, to }) => time >= from - 2 && time <= to + 2))
      violations.push(`${method} ${path} came at ${time}, within no run`);
  }
  return runs;
}

writeFileSync(join(root, "faults.yaml"), faults);
const service = await startSandbox("0", "faulty.log", join(root, "faults.yaml"));
const port = new URL(service.url).port;
writeConfig(service.url, policies[0]);
editSome();
say(`seed ${seed}, ${minutes} minutes, in ${root}`);
const instances = [new Instance("first"), new Instance("second")];
for (const instance of instances) await instance.start();
await disturb(Date.now() + minutes * 60_000, instances);
for (const instance of instances) await instance.stop();
await service.stop();

const { arrivals, most } = judgeWire("faulty.log");
// What `resolve` asked on behalf of a person is no call of a run.
const isOfPerson = ({ method, path }) => method === "GET" && path.startsWith("/api/products/");
const ofRounds = arrivals.filter((arrival) => !isStrangers(arrival) && !isOfPerson(arrival));
const runs = judgeWriters(ofRounds);
const inLog = counted(
  ofRounds,
  ({ method, path, status }) => `${method} ${routeOf(path)} ${status ?? "none"}`,
);
const reported = added("draftsync_calls_total", ["method", "endpoint", "status"]);
for (const name of [...reported.keys()].filter((each) => each.startsWith("GET /api/products/")))
  reported.delete(name);
const events = instances.flatMap((instance) => instance.events);
const finished = events.filter(({ type }) => type === "change_finished");
compare(
  "changes",
  added("draftsync_changes_total", ["action", "outcome"]),
  counted(finished, ({ action, outcome }) => `${action} ${outcome}`),
);
const lines = instances.flatMap(
  ({ log }) =>
    log.match(/^\d{4}-\S+Z (ok|deferred|stalled|standby|failing|in doubt|refused|locked|interrupted)/gm) ??
    [],
);
const total = [...added("draftsync_runs_total", ["status"]).values()].reduce((sum, count) => sum + count, 0);
if (total !== lines.length) violations.push(`${total} runs in the metrics, ${lines.length} in the log`);
const isNone = (name) => name.endsWith(" none");
const sum = (counts, fits) => [...counts].reduce((all, [name, count]) => all + (fits(name) ? count : 0), 0);
// An answer that came too late, or broke on its way, is one that the service has given and nobody has got.
let unread = 0;
for (const name of new Set([...reported.keys(), ...inLog.keys()])) {
  const [knows = 0, is = 0] = [reported.get(name), inLog.get(name)];
  if (isNone(name)) continue;
  unread += is - knows;
  if (knows > is) violations.push(`calls ${name}: the metrics say ${knows}, the log ${is}`);
}
// A call whose connection broke on its way may never have got there.
const lost = sum(reported, () => true) - sum(inLog, () => true);
if (lost < 0) violations.push(`${-lost} calls came that the metrics do not know`);
if (unread + lost > ofRounds.length / 100)
  violations.push(`${unread} answers were not read, ${lost} calls lost`);
for (const { name, log } of instances) {
  if (/\n\s+at .+:\d+:\d+|TypeError|ReferenceError|MaxListeners/.test(log))
    violations.push(`a stack in the log of ${name}`);
  if (log.includes(key) || log.includes("secret-path")) violations.push(`a secret in the log of ${name}`);
}
const taken = notices.filter((notice) => notice.taken);
for (const [at, { status, reason }] of taken.entries()) {
  const before = taken[at - 1];
  if (before?.status === status && before.reason === reason)
    violations.push(`${status} was reported twice in a row`);
}
// Sampled between two collections, which also close what former runs had open of the ledger.
violations.push(...growth(instances[0].samples, { rss: 64 * 2 ** 20, descriptors: 12 }));

// Without faults, and with everything allowed, all becomes as desired.
const second = await startSandbox(port, "quiet.log");
writeConfig(
  service.url,
  "reconcile: { allow: [create, update, replace, delete, publish, duplicate, forget] }\nrefresh: { attachments: probe }\n",
);
let left = -1;
for (let round = 0; round < 10 && left !== 0; round += 1) {
  await resolveAll();
  await run(["reconcile"]);
  left = (await run(["plan", "--detailed-exitcode"])).code;
}
if (left !== 0) violations.push("ten runs without faults left something to do");
const ledger = await exported();
await second.stop();
const quiet = judgeWire("quiet.log");
violations.push(
  ...attachedTwice([...arrivals, ...quiet.arrivals]).map((file) => `${file} was attached twice`),
);
violations.push(...unaccounted(readProducts(), ledger));
webhook.close();

const statuses = [...counted(lines, (line) => line.slice(21))].map(([status, count]) => `${count} ${status}`);
say(`runs: ${statuses.join(", ")}; turns of both: ${runs.length}, none at once with another`);
say(
  `commands: ${[...exits]
    .sort()
    .map(([name, count]) => `${name}: ${count}`)
    .join(", ")}`,
);
say(
  `calls: ${ofRounds.length} in the log, ${sum(reported, () => true)} in the metrics (${lost} never arrived, ${unread} answers were not read); at most ${most} in a window of ${limit}`,
);
const looks = events.filter(({ type }) => type === "refresh_finished");
say(
  `looks: ${looks.reduce((all, { calls }) => all + calls, 0)} calls in ${looks.length} runs, drift in ${looks.filter(({ drift }) => drift > 0).length}; by another client: ${arrivals.filter(isStrangers).length} calls`,
);
say(
  `changes: ${finished.length}; faults: ${arrivals.filter(({ fault }) => fault !== undefined).length}; notices: ${taken.length} of ${notices.length}; publications: ${ledger.publications.length}`,
);
const { samples } = instances[0];
say(
  `first instance: ${JSON.stringify(samples[Math.floor(samples.length / 3)])} … ${JSON.stringify(samples.at(-1))}`,
);
tellVerdict();
