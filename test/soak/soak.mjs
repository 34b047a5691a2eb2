// `npm run soak -- --minutes N [--seed S]`: the real binary against a real sandbox with faults, several processes at
// once, edits in between, SIGKILL and SIGINT at random; then everything is settled and judged. Ends with 1 on a violation.
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { attachedTwice, growth, unaccounted } from "./judge.mjs";
import {
  edit,
  editSome,
  exits,
  exported,
  faults,
  folder,
  here,
  judgeWire,
  key,
  limit,
  main,
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
  stop,
  tellVerdict,
  temporary,
  violations,
  writeConfig,
} from "./stage.mjs";

/** Commands that are under way, and the person who looks at the service meanwhile. */
const commands = new Set();
let resolving;

/** The calls that a person looks for must not be sent again before the answer: `settle_delay` is far shorter here than a look. */
async function resolveUndisturbed() {
  resolving ??= Promise.all(commands)
    .then(resolveAll)
    .finally(() => {
      resolving = undefined;
    });
  await resolving;
}

async function disturb(until) {
  while (Date.now() < until) {
    while (resolving !== undefined) await resolving;
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
    const running = run(command, { signal, afterMs });
    commands.add(running);
    const { code } = await running.finally(() => commands.delete(running));
    if (code === 4 && random() < 0.5) await resolveUndisturbed();
  }
}

/** Without faults everything becomes as desired, and a plan finds nothing to do. */
async function converge() {
  editSome();
  for (let round = 0; round < 10; round += 1) {
    await resolveAll();
    await run(["apply", "--auto-approve", "--max-deletes", "100", "--remove-drafts"]);
    const { code } = await run(["plan", "--detailed-exitcode"]);
    if (code === 0) return;
  }
  const { stdout } = await run(["plan"]);
  violations.push(`ten applies without faults left something to do:\n${stdout.slice(0, 2000)}`);
}

function judgeFiles() {
  const known =
    /^(draftsync\.yaml|manifests(\/.*)?|\.draftsync(\/(\.gitignore|state\.db(-wal|-shm|\.recovery\.ndjson\.reserve)?))?)$/;
  const left = readdirSync(folder, { recursive: true }).filter((name) => !known.test(name));
  left.push(...readdirSync(temporary));
  if (left.length > 0) violations.push(`files are left behind: ${left.join(", ")}`);
  const database = new Database(join(folder, ".draftsync/state.db"), { readonly: true });
  const [{ integrity_check: integrity }] = database.prepare("PRAGMA integrity_check").all();
  database.close();
  if (integrity !== "ok") violations.push(`the ledger is damaged: ${integrity}`);
}

writeFileSync(join(root, "faults.yaml"), faults);
const rules = join(root, "faults.yaml");
const first = await startSandbox("0", "faulty.log", rules);
const port = new URL(first.url).port;
writeConfig(first.url, "");
edit();
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

await run(["apply", "--auto-approve", "--new-ledger"]);
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
tellVerdict();
