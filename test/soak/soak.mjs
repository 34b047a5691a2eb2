// `npm run soak -- --minutes N [--seed S]`: the real binary against a real sandbox with faults, several processes at
// once, edits in between, SIGKILL and SIGINT at random; then everything is settled and judged. Ends with 1 on a violation.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Database from "libsql";
import { attachedTwice, busiestWindow, growth, unaccounted } from "./judge.mjs";

const { values } = parseArgs({ options: { minutes: { type: "string" }, seed: { type: "string" } } });
const minutes = Number(values.minutes ?? "2");
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const here = fileURLToPath(new URL(".", import.meta.url));
const main = join(here, "../../dist/cli/main.js");
const key = "canary-key-50a4";
const limit = 20;
const windowMs = 300;
const root = mkdtempSync(join(tmpdir(), "draftsync-soak-"));
const folder = join(root, "workspace");
const temporary = join(root, "tmp");
const say = (text) => void process.stdout.write(`${text}\n`);
const random = makeRandom(seed);
const pick = (list) => list[Math.floor(random() * list.length)];
const violations = [];
/** Processes that are under way. They end with this one, however it ends. */
const children = new Set();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

function start(args, options) {
  const child = spawn(process.execPath, args, options);
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}
const exits = new Map();

/** mulberry32: the same seed gives the same edits, commands and kills; the processes' own timing it cannot give. */
function makeRandom(from) {
  let state = from | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const faults = `seed: ${seed}
rules:
  - { fault: reset, effect: before, times: always, when: { probability: 0.04 } }
  - { fault: reset, effect: none, times: always, when: { probability: 0.03 } }
  - { fault: close, effect: before, times: always, when: { probability: 0.02 } }
  - { fault: cut-body, times: always, when: { probability: 0.02 } }
  - { fault: garbage, effect: before, times: always, when: { probability: 0.02 } }
  - { fault: status, status: 503, effect: before, times: always, when: { probability: 0.03 } }
  - { fault: status, status: 500, effect: none, times: always, when: { probability: 0.03 } }
  - { fault: status, status: 422, effect: none, times: always, when: { probability: 0.01 } }
  - { fault: throttle, for: 100ms, times: always, when: { probability: 0.01 } }
  - { fault: no-id, times: always, when: { method: POST, path: /api/products, probability: 0.05 } }
`;

/** Starts the sandbox as a process of its own, on the same port and with the same data each time. */
async function startSandbox(port, log, rules) {
  const bound = `${limit}/${windowMs}ms`;
  const args = [
    "sandbox",
    "--port",
    port,
    "--key",
    key,
    "--db",
    join(root, "service.db"),
    "--log",
    log,
    "--rate",
    bound,
  ];
  const child = start([main, ...args, ...(rules === undefined ? [] : ["--faults", rules])], {
    cwd: root,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return { url: line.trim(), stop: () => stop(child) };
}

async function stop(child) {
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
}

/** Runs the binary; with a signal, sends it after so many milliseconds. Calls that nobody expects are violations. */
async function run(args, { signal, afterMs = 0, input } = {}) {
  const env = { PATH: process.env.PATH, HOME: root, TMPDIR: temporary, DRAFTSYNC_API_KEY: key };
  const child = start([main, ...args], {
    cwd: folder,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}).end(input);
  const timer = signal === undefined ? undefined : setTimeout(() => child.kill(signal), afterMs);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const [code, died] = await once(child, "close");
  clearTimeout(timer);
  const end = code ?? died;
  exits.set(`${args[0]} ${end}`, (exits.get(`${args[0]} ${end}`) ?? 0) + 1);
  if (/\n\s+at .+:\d+:\d+|TypeError|ReferenceError|UnhandledPromise/.test(stderr)) {
    violations.push(`${args.join(" ")} ended ${end} with a stack: ${stderr.slice(0, 600)}`);
  }
  if (code === 1 && !/\[(ledger-missing|lock-not-held|nothing-in-doubt|source-changed)\]/.test(stderr))
    violations.push(`${args.join(" ")} ended 1: ${stderr.slice(0, 600)}`);
  if ((stdout + stderr).includes(key)) violations.push(`the key is in the output of ${args.join(" ")}`);
  return { code: end, stdout, stderr };
}

const wishes = new Map([1, 2, 3, 4].map((id) => [id, { files: new Map(), revision: 0, source: undefined }]));

function edit() {
  const [id, wish] = pick([...wishes]);
  const fileId = 10 * id + Math.floor(random() * 6);
  const kind = random();
  if (kind < 0.55) wish.files.set(fileId, pick(["arnold", "cycles", "karma"]));
  else if (kind < 0.75) wish.files.delete(fileId);
  else if (kind < 0.9) wish.revision += 1;
  else wish.source = `content ${Math.floor(random() * 4)} of ${id}`;
  const documents = [...wishes].map(([draft, { files, revision, source }]) => {
    const lines = [`draft: ${draft}`, "product_files:"];
    for (const [file, renderer] of files) lines.push(`  - { file_id: ${file}, renderer: ${renderer} }`);
    if (source !== undefined) {
      replace(`manifests/${draft}.blend`, source);
      lines.push(`  - { source: ${draft}.blend }`);
    }
    if (lines.length === 2) lines[1] = "product_files: []";
    if (revision > 0) lines.push(`publish: { revision: ${revision} }`);
    return lines.join("\n");
  });
  replace("manifests/all.yaml", `${documents.join("\n---\n")}\n`);
}

/** At once: half a file would be a mistake that nobody made. */
function replace(name, content) {
  writeFileSync(join(root, "new"), content);
  renameSync(join(root, "new"), join(folder, name));
}

function editSome() {
  for (let left = 1 + Math.floor(random() * 6); left > 0; left -= 1) edit();
}

const alive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The lock of a process that was killed is released, as a person would who knows that it is gone. */
async function freeLock() {
  const { code, stdout } = await run(["lock", "status", "--json"]);
  const lock = code === 0 ? JSON.parse(stdout).lock : null;
  if (lock !== null && !alive(lock.pid)) await run(["lock", "release", lock.id, "--auto-approve"]);
}

async function disturb(until) {
  while (Date.now() < until) {
    if (random() < 0.7) editSome();
    const signal = random() < 0.55 ? pick(["SIGKILL", "SIGKILL", "SIGINT"]) : undefined;
    const afterMs = 200 + Math.floor(random() * 1500);
    const command = pick([
      ["apply", "--auto-approve"],
      ["apply", "--auto-approve"],
      ["apply", "--auto-approve", "--json"],
      ["plan"],
      ["state", "export"],
    ]);
    const { code } = await run(command, { signal, afterMs });
    if (code === 6 || code === "SIGKILL") await freeLock();
    if (code === 4 && random() < 0.5) await resolveAll();
  }
}

function readProducts() {
  const database = new Database(join(root, "service.db"), { readonly: true });
  const rows = database.prepare("SELECT number, draft_id FROM product").all();
  database.close();
  return rows.map(({ number, draft_id }) => ({ id: 9_000_000_000 + number, draftId: draft_id }));
}

async function exported() {
  const { code, stdout } = await run(["state", "export"]);
  if (code !== 0) throw new Error(`state export ended ${code}`);
  return JSON.parse(stdout);
}

/** Each doubt is resolved as a person would who looks at the service, and tells the truth. */
async function resolveAll() {
  const ledger = await exported();
  const recorded = new Set(ledger.publications.map((publication) => publication.product_id));
  for (const { kind, address, outcome, settled, intent } of ledger.operations) {
    if ((outcome ?? "unknown") !== "unknown" || settled !== undefined) continue;
    if (kind === "publish") {
      const product = readProducts().find(
        ({ id, draftId }) => draftId === intent.draft_id && !recorded.has(id),
      );
      if (product !== undefined) recorded.add(product.id);
      await run([
        "resolve",
        address,
        ...(product === undefined ? ["--not-done"] : ["--product-id", String(product.id)]),
      ]);
    } else if (kind === "attach") {
      const place = `SELECT count(*) AS n FROM attachment WHERE draft_id = ? AND file_id = ?`;
      const database = new Database(join(root, "service.db"), { readonly: true });
      const { n } = database.prepare(place).get(intent.draft_id, intent.file_id);
      database.close();
      await run(["resolve", address, n > 0 ? "--done" : "--not-done"]);
    }
  }
}

/** Without faults everything becomes as desired, and a plan finds nothing to do. */
async function converge() {
  editSome();
  for (let round = 0; round < 10; round += 1) {
    await freeLock();
    await resolveAll();
    await run(["apply", "--auto-approve", "--max-deletes", "100", "--allow-empty"]);
    const { code } = await run(["plan", "--detailed-exitcode"]);
    if (code === 0) return;
  }
  const { stdout } = await run(["plan"]);
  violations.push(`ten applies without faults left something to do:\n${stdout.slice(0, 2000)}`);
}

function readLog(name) {
  const lines = readFileSync(join(root, name), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

function judgeWire(name) {
  const arrivals = readLog(name)
    .filter(({ side }) => side === "service")
    .sort((a, b) => a.sequence - b.sequence);
  const most = busiestWindow(
    arrivals.map(({ monotonic }) => monotonic),
    windowMs,
  );
  if (most > limit) violations.push(`${name}: ${most} calls within a window of ${limit}`);
  return { arrivals, most };
}

function judgeFiles() {
  const known =
    /^(draftsync\.yaml|manifests(\/.*)?|\.draftsync(\/(\.gitignore|state\.db(-wal|-shm)?|recovery(\/soak\.reserve)?))?)$/;
  const left = readdirSync(folder, { recursive: true }).filter((name) => !known.test(name));
  left.push(...readdirSync(temporary));
  if (left.length > 0) violations.push(`files are left behind: ${left.join(", ")}`);
  const database = new Database(join(folder, ".draftsync/state.db"), { readonly: true });
  const [{ integrity_check: integrity }] = database.prepare("PRAGMA integrity_check").all();
  database.close();
  if (integrity !== "ok") violations.push(`the ledger is damaged: ${integrity}`);
}

mkdirSync(join(folder, "manifests"), { recursive: true });
mkdirSync(temporary);
writeFileSync(join(root, "faults.yaml"), faults);
edit();
const rules = join(root, "faults.yaml");
const first = await startSandbox("0", "faulty.log", rules);
const port = new URL(first.url).port;
const config = `version: 1
workspace: soak
service:
  base_url: ${first.url}
  rate: { limit: ${limit}, window: ${windowMs}ms }
  concurrency: 6
  timeout: 2s
  profile: { settle_delay: 100ms, upload_poll_min: 20ms, upload_poll_max: 100ms }
safety: { max_deletes: { percent: 100, above: 1000 }, allow_empty: true }
`;
writeFileSync(join(folder, "draftsync.yaml"), config);
say(`seed ${seed}, ${minutes} minutes, in ${root}`);

// Its own service: its calls are not of the ledger whose bound is judged.
const quietService = start([main, "sandbox", "--port", "0", "--key", key], {
  cwd: root,
  stdio: ["ignore", "pipe", "ignore"],
});
const [quietUrl] = await once(quietService.stdout.setEncoding("utf8"), "data");
const given = JSON.stringify({ url: quietUrl.trim(), key, folder: join(root, "cycles") });
const cycles = start(["--expose-gc", join(here, "cycles.mjs"), given], {
  stdio: ["pipe", "pipe", "inherit"],
});
let sampled = "";
cycles.stdout.setEncoding("utf8").on("data", (text) => {
  sampled += text;
});
const cyclesEnded = once(cycles, "close");

const until = Date.now() + minutes * 60_000;
await Promise.all([disturb(until), disturb(until)]);
cycles.stdin.end();
const [cyclesCode] = await cyclesEnded;
if (cyclesCode !== 0) violations.push(`the process that lives long ended with ${cyclesCode}`);
await stop(quietService);
await first.stop();
const faulty = judgeWire("faulty.log");
const second = await startSandbox(port, "quiet.log");
await converge();
const ledger = await exported();
await second.stop();
const quiet = judgeWire("quiet.log");

violations.push(
  ...attachedTwice([...faulty.arrivals, ...quiet.arrivals]).map((file) => `${file} was attached twice`),
);
violations.push(...unaccounted(readProducts(), ledger));
judgeFiles();
const samples = sampled
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));
violations.push(...growth(samples));

const last = samples.at(-1);
const ended = [...exits].sort().map(([name, count]) => `${name}: ${count}`);
say(`runs: ${ended.join(", ")}`);
say(
  `calls: ${faulty.arrivals.length} with faults, ${quiet.arrivals.length} without; at most ${faulty.most} and ${quiet.most} of ${limit} in a window`,
);
say(
  `faults: ${faulty.arrivals.filter(({ fault }) => fault !== undefined).length}; operations: ${ledger.operations.length}; publications: ${ledger.publications.length}`,
);
say(`one process: ${JSON.stringify(samples[Math.floor(samples.length / 3)])} … ${JSON.stringify(last)}`);
if (violations.length === 0) {
  rmSync(root, { recursive: true, force: true });
  say("no violation");
} else {
  say(`${violations.length} violations; everything is kept in ${root}`);
  for (const violation of violations) say(`- ${violation}`);
  process.exitCode = 1;
}
