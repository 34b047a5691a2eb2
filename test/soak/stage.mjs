// What the soaks share: a workspace and a sandbox with faults in a folder of their own, edits and processes, and how the
// server's log is judged. Importing this makes the folder and reads `--minutes N [--seed S]`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Database from "libsql";
import { makeRandom } from "../support/random.mjs";
import { busiestWindow } from "./judge.mjs";

const { values } = parseArgs({ options: { minutes: { type: "string" }, seed: { type: "string" } } });
export const minutes = Number(values.minutes ?? "2");
export const seed = Number(values.seed ?? Date.now() % 1_000_000);
export const here = fileURLToPath(new URL(".", import.meta.url));
export const main = join(here, "../../dist/cli/main.js");
export const key = "canary-key-50a4";
export const limit = 20;
export const windowMs = 300;
export const root = mkdtempSync(join(tmpdir(), "draftsync-soak-"));
export const folder = join(root, "workspace");
export const temporary = join(root, "tmp");
export const say = (text) => void process.stdout.write(`${text}\n`);
/** The same seed gives the same edits, commands and kills; the processes' own timing it cannot give. */
export const random = makeRandom(seed);
export const pick = (list) => list[Math.floor(random() * list.length)];
export const violations = [];
/** How often each command ended so: `apply 0`. */
export const exits = new Map();
/** What the processes may know of the environment. */
export const env = { PATH: process.env.PATH, HOME: root, TMPDIR: temporary, DRAFTSYNC_API_KEY: key };

/** Processes that are under way. They end with this one, however it ends. */
const children = new Set();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export function start(args, options) {
  const child = spawn(process.execPath, args, options);
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}
export const faults = `seed: ${seed}
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
export async function startSandbox(port, log, rules) {
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

export async function stop(child) {
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
}

/** Runs the binary; with a signal, sends it after so many milliseconds. Calls that nobody expects are violations. */
export async function run(args, { signal, afterMs = 0, input } = {}) {
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
  // `resolve` looks a product up, which a fault may keep it from; manifests are edited while they are read.
  if (
    code === 1 &&
    !/\[(ledger-missing|lock-not-held|manifest-changed|nothing-in-doubt|resolution-too-early|source-changed)\]|GET \/api\/products\/\d/.test(
      stderr,
    )
  )
    violations.push(`${args.join(" ")} ended 1: ${stderr.slice(0, 600)}`);
  if ((stdout + stderr).includes(key)) violations.push(`the key is in the output of ${args.join(" ")}`);
  return { code: end, stdout, stderr };
}

const wishes = new Map([1, 2, 3, 4].map((id) => [id, { files: new Map(), revision: 0, source: undefined }]));

export function edit() {
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
export function replace(name, content) {
  writeFileSync(join(root, "new"), content);
  renameSync(join(root, "new"), join(folder, name));
}

export function editSome() {
  for (let left = 1 + Math.floor(random() * 6); left > 0; left -= 1) edit();
}

export function readProducts() {
  const database = new Database(join(root, "service.db"), { readonly: true });
  const rows = database.prepare("SELECT number, draft_id FROM product").all();
  database.close();
  return rows.map(({ number, draft_id }) => ({ id: 9_000_000_000 + number, draftId: draft_id }));
}

export async function exported() {
  const { code, stdout } = await run(["state", "export"]);
  if (code !== 0) throw new Error(`state export ended ${code}`);
  return JSON.parse(stdout);
}

/** Each doubt is resolved as a person would who looks at the service, and answers truthfully. */
export async function resolveAll() {
  const ledger = await exported();
  const recorded = new Set(ledger.publications.map((publication) => publication.product_id));
  for (const { kind, address, outcome, settled, intent } of ledger.operations) {
    if ((outcome ?? "unknown") !== "unknown" || settled !== undefined) continue;
    if (kind === "publish") {
      const made = () =>
        readProducts().find(({ id, draftId }) => draftId === intent.draft_id && !recorded.has(id));
      await resolveTruly(address, () => {
        const product = made();
        return product === undefined ? ["--not-done"] : ["--product-id", String(product.id)];
      });
      const product = made();
      if (product !== undefined) recorded.add(product.id);
    } else if (kind === "attach") {
      const file = `${address.split("/").slice(0, 3).join("/")}/${intent.file_id}`;
      await resolveTruly(file, () => [isAttached(intent) ? "--done" : "--not-done"]);
    }
  }
}

/** Looks again, and answers again, while the call of a process that has just been killed may still arrive. */
async function resolveTruly(address, truth) {
  for (;;) {
    const { stderr } = await run(["resolve", address, ...truth()]);
    if (!stderr.includes("[resolution-too-early]")) return;
    await delay(500);
  }
}

function isAttached({ draft_id: draftId, file_id: fileId }) {
  const database = new Database(join(root, "service.db"), { readonly: true });
  const place = "SELECT count(*) AS n FROM attachment WHERE draft_id = ? AND file_id = ?";
  const { n } = database.prepare(place).get(draftId, fileId);
  database.close();
  return n > 0;
}

export function readLog(name) {
  const lines = readFileSync(join(root, name), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Another client who uses the service with the same key. */
const stranger = "another client";
export const isStrangers = ({ headers }) => headers["user-agent"] === stranger;

/** Another client edits a file that is attached, or takes it away. */
export async function meddle(url) {
  const database = new Database(join(root, "service.db"), { readonly: true });
  const files = database
    .prepare("SELECT draft_id, file_id FROM attachment WHERE kind = 'product_file'")
    .all();
  database.close();
  if (files.length === 0) return;
  const { draft_id, file_id } = pick(files);
  const edit = random() < 0.7;
  const renderer = pick(["mantra", "redshift"]);
  const body = JSON.stringify({ data: { type: "product_file", attributes: { renderer } } });
  const request = {
    method: edit ? "PATCH" : "DELETE",
    headers: {
      authorization: `Token ${key}`,
      accept: "application/vnd.api+json; com.service.api.version=1",
      "content-type": "application/vnd.api+json",
      "user-agent": stranger,
    },
    ...(edit ? { body } : {}),
  };
  // It meets the same faults as everybody.
  await fetch(`${url}/api/drafts/${draft_id}/product_files/${file_id}`, request).catch(() => {});
}

export function judgeWire(name) {
  const arrivals = readLog(name)
    .filter(({ side }) => side === "service")
    .sort((a, b) => a.sequence - b.sequence);
  const most = busiestWindow(
    arrivals.filter((arrival) => !isStrangers(arrival)).map(({ monotonic }) => monotonic),
    windowMs,
  );
  if (most > limit) violations.push(`${name}: ${most} calls within a window of ${limit}`);
  return { arrivals, most };
}

/** The config of the workspace, for the service at `url`, with more lines below it. */
export function writeConfig(url, more) {
  mkdirSync(join(folder, "manifests"), { recursive: true });
  mkdirSync(temporary, { recursive: true });
  replace(
    "draftsync.yaml",
    `version: 1
workspace: soak
service:
  base_url: ${url}
  rate: { limit: ${limit}, window: ${windowMs}ms }
  concurrency: 6
  timeout: 2s
  profile: { settle_delay: 100ms, upload_poll_min: 20ms, upload_poll_max: 100ms }
safety: { max_deletes: { percent: 100, above: 1000 }, removed_drafts: delete }
${more}`,
  );
}

/** Says what was violated, and keeps the folder when anything was. */
export function tellVerdict() {
  if (violations.length === 0) {
    rmSync(root, { recursive: true, force: true });
    return say("no violation");
  }
  say(`${violations.length} violations; everything is kept in ${root}`);
  for (const violation of violations) say(`- ${violation}`);
  process.exitCode = 1;
}
