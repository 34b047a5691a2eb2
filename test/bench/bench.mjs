// `npm run bench [-- --only WORD] [--runs N] [--growth] [--write]`: one figure a line, each with its ratio to a yardstick measured in the
// same run. Ends with 1 when a target is missed. `--growth` goes on to a million attachments; `--write` writes
// docs/internals/performance.md again. Nothing else should run at the same time.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { busiestWindow } from "../soak/judge.mjs";
import { makeRandom } from "../support/random.mjs";
import { offline, writeCatalogue } from "./catalogue.mjs";
import { measureFleet } from "./fleet.mjs";
import { main, median, percent, processorTicks, runNode, time, withheldSince } from "./measure.mjs";
import { writePerformancePage } from "./performance-page.mjs";
import { atServer, startServer } from "./servers.mjs";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    runs: { type: "string" },
    growth: { type: "boolean" },
    write: { type: "boolean" },
  },
});
const runs = Number(options.runs ?? 3);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const root = mkdtempSync(join(tmpdir(), "draftsync-bench-"));
process.once("exit", () => rmSync(root, { recursive: true, force: true }));
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

/** What the yardstick was at a run between two measurements of it: the speed of a machine may change from one minute to the next. */
const between = (yardsticks, run) => (yardsticks[run] + yardsticks[run + 1]) / 2;

/** Rows, in the order of the table. `ratio` is held against `target`; `least`: it must be as large, not as small. */
const rows = [];
const begun = processorTicks();
let partBegun = begun;

function tell(row) {
  rows.push(row);
  const { name, figure, ratio, target, least = false } = row;
  const holds = target === undefined || ratio === undefined || (least ? ratio >= target : ratio <= target);
  row.holds = holds;
  const bound =
    target === undefined ? "" : ` (${least ? "at least" : "at most"} ${Number(target.toFixed(2))})`;
  const mark = target === undefined || ratio === undefined ? " " : holds ? "✓" : "✗";
  const shown =
    ratio === undefined ? "" : `  ${ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)}${bound}`;
  process.stdout.write(`${mark} ${name}: ${figure}${shown}\n`);
}

/** A machine whose host gives its processors to others is not idle, whatever runs on it: the figures are worth less then. */
function tellWithheld() {
  const share = withheldSince(partBegun);
  partBegun = processorTicks();
  if (share !== undefined && share >= 0.01)
    process.stdout.write(`  meanwhile withheld by the machine's host: ${percent(share)}\n`);
}

/** A workspace of its own in which everything is as desired. */
async function catalogue(attachments) {
  const folder = mkdtempSync(join(root, "catalogue-"));
  const bytes = await writeCatalogue({ folder, drafts: attachments / 10, config: offline });
  await runNode([main, "state", "import", "ledger.json"], { cwd: folder });
  return { folder, bytes };
}

const cacheOf = (folder) => join(folder, ".kept");
const plan = (folder, more = {}) => ({ cwd: folder, env: { XDG_CACHE_HOME: cacheOf(folder) }, ...more });
const forget = (folder) => () => rmSync(cacheOf(folder), { recursive: true, force: true });

async function planBigCatalogues() {
  const big = await catalogue(100_000);
  const small = await catalogue(10_000);
  const [cold, warm, ratios] = [[], [], { cold: [], warm: [] }];
  let rss = 0;
  const yaml = async () =>
    Number((await runNode([here("parse-yaml.mjs"), join(big.folder, "manifests")])).stdout);
  const parse = [await yaml()];
  for (let run = 0; run < runs; run += 1) {
    forget(big.folder)();
    const first = await runNode([main, "plan"], plan(big.folder));
    cold.push(first.ms);
    const second = await runNode([main, "plan"], plan(big.folder));
    warm.push(second.ms);
    rss = Math.max(rss, first.rss, second.rss);
    parse.push(await yaml());
    ratios.cold.push(first.ms / between(parse, run));
    ratios.warm.push(second.ms / between(parse, run));
  }
  const size = `${(big.bytes / 1e6).toFixed(1)} MB in 10,000 files`;
  tell({ name: `yaml.parse, one thread, ${size}`, figure: seconds(median(parse)) });
  tell({
    name: "no-change plan of 100,000, nothing kept / yaml.parse",
    figure: seconds(median(cold)),
    ratio: median(ratios.cold),
    // Near 1 on two processors: a run may be on either side.
    target: 1.1,
  });
  tell({
    name: "no-change plan of 100,000, all kept / yaml.parse",
    figure: seconds(median(warm)),
    ratio: median(ratios.warm),
    target: 0.4,
  });
  tell({
    name: "memory of the plan of 100,000, in MB",
    figure: megabytes(rss),
    ratio: rss / 1e6,
    target: 600,
  });
  const { ms } = await time([main, "plan"], { ...plan(small.folder), runs, before: forget(small.folder) });
  tell({
    name: "plan of 100,000 / plan of 10,000",
    figure: `${seconds(median(cold))} / ${seconds(ms)}`,
    ratio: median(cold) / ms,
    target: 11,
  });
}

async function planBesideTerraform() {
  const folder = join(root, "five-thousand");
  await writeCatalogue({ folder, drafts: 500, config: offline });
  const { ms } = await time([main, "plan"], { ...plan(folder), runs, before: forget(folder) });
  const { terraformPlan } = await import("./terraform.mjs");
  const peer = await terraformPlan(join(root, "terraform"), 5000);
  if (peer === undefined) {
    tell({ name: "plan of 5,000, all to be created (terraform is not on the PATH)", figure: seconds(ms) });
  } else {
    tell({
      name: "plan of 5,000 / terraform plan of 5,000 terraform_data",
      figure: `${seconds(ms)} / ${seconds(peer)}`,
      ratio: ms / peer,
      target: 0.01,
    });
  }
}

const applying = (url, rate, concurrency) =>
  `version: 1\nworkspace: bench\nservice: { base_url: "${url}", rate: ${rate}, concurrency: ${concurrency} }\n`;

/** An apply as a pipeline has it; the milliseconds from its first change to its last are in the ledger. */
async function apply(folder) {
  await runNode([main, "apply", "--auto-approve"], plan(folder));
  const { stdout } = await runNode([main, "history", "--json"], plan(folder));
  const [{ started_at, finished_at }] = JSON.parse(stdout).runs;
  return Date.parse(finished_at) - Date.parse(started_at);
}

/** Raw undici at a server of its own, from a process of its own, in calls a second; `rest` as in raw-calls.mjs. */
const rawRate = ({ calls, connections, rest = 0 }) =>
  atServer(async ({ url }) => {
    const { stdout } = await runNode([here("raw-calls.mjs"), url, ...[calls, connections, rest].map(String)]);
    return Number(stdout);
  });

async function applyWithoutBound() {
  const calls = 20_000;
  // More than of the others: each takes a few seconds, in which a machine that others share may stand still.
  const turns = runs + 2;
  const [figures, ratios] = [[], []];
  const yardsticks = [await rawRate({ calls, connections: 32 })];
  for (let run = 0; run < turns; run += 1) {
    const folder = join(root, `apply-${run}`);
    const took = await atServer(async ({ url }) => {
      const config = applying(url, "{ limit: 100000, window: 1s }", 32);
      await writeCatalogue({ folder, drafts: calls / 10, config });
      return await apply(folder);
    });
    rmSync(folder, { recursive: true });
    yardsticks.push(await rawRate({ calls, connections: 32 }));
    figures.push((calls / took) * 1000);
    ratios.push(figures[run] / between(yardsticks, run));
  }
  tell({
    name: "raw undici, POST over 32 connections",
    figure: `${Math.round(median(yardsticks))} calls/s`,
  });
  tell({
    name: "apply of 20,000 without a bound / raw undici",
    figure: `${Math.round(median(figures))} calls/s`,
    ratio: median(ratios),
    target: 0.08,
    least: true,
  });
}

/**
 * A slot is free again a window after its answer, so the most is `limit / (window + round trip)`. What that is on this machine
 * is raw undici's rate under the same rule, at the same time: the calls of both wait nearly always, and what other work on the
 * machine does to one it does to the other.
 */
async function applyWithinBound() {
  const { calls, limit, windowMs } = { calls: 1000, limit: 50, windowMs: 500 };
  const [times, yardsticks, ratios] = [[], [], []];
  let most = 0;
  for (let run = 0; run < runs; run += 1) {
    const server = await startServer("--arrivals");
    const folder = join(root, `bound-${run}`);
    const config = applying(server.url, `{ limit: ${limit}, window: ${windowMs}ms }`, limit);
    await writeCatalogue({ folder, drafts: calls / 10, config });
    const [took, rate] = await Promise.all([
      apply(folder),
      rawRate({ calls, connections: limit, rest: windowMs }),
    ]);
    most = Math.max(most, busiestWindow(await server.stop(), windowMs));
    times.push(took);
    yardsticks.push((calls / rate) * 1000);
    ratios.push(yardsticks[run] / took);
  }
  const within = `within ${limit} per ${windowMs} ms`;
  tell({ name: `raw undici, ${calls} calls ${within}`, figure: seconds(median(yardsticks)) });
  tell({
    name: `raw undici / apply of ${calls} ${within}, at the same time`,
    figure: seconds(median(times)),
    ratio: median(ratios),
    target: 0.95,
    least: true,
  });
  tell({
    name: `most arrivals in any ${windowMs} ms, of ${limit}`,
    figure: String(most),
    ratio: most / limit,
    target: 1,
  });
}

async function simulate() {
  const folder = join(root, "simulation");
  const bundle = await rolldown({
    input: here("simulate-rate.ts"),
    platform: "node",
    external: /^(node:|undici|zod)/,
  });
  await bundle.write({ dir: folder });
  const { simulateRate } = await import(pathToFileURL(join(folder, "simulate-rate.js")).href);
  const random = makeRandom(1);
  for (const limit of [10, 1000]) {
    const latency = () => [5 + random() * 20, 5 - 60 * Math.log(1 - random())];
    const windowMs = 1000;
    const { totalMs, leastMs, arrivals } = await simulateRate({ calls: 100_000, limit, windowMs, latency });
    const most = busiestWindow(arrivals, windowMs);
    const name = `100,000 calls at ${limit}/s, virtual clock / least possible`;
    tell({
      name,
      figure: `${seconds(totalMs)} / ${seconds(leastMs)}`,
      ratio: totalMs / leastMs,
      target: 1 / 0.9,
    });
    tell({
      name: `most arrivals in any second, of ${limit}`,
      figure: String(most),
      ratio: most / limit,
      target: 1,
    });
  }
}

async function starts() {
  const folder = join(root, "sample");
  cpSync(here("../../manifests"), folder, {
    recursive: true,
    filter: (path) => !path.endsWith(".draftsync"),
  });
  await runNode([main, "apply", "--auto-approve"], plan(folder));
  const [empty, version, sample] = [[], [], []];
  for (let run = 0; run < 5 * runs; run += 1) {
    empty.push((await runNode(["-e", "0"])).ms);
    version.push((await runNode([main, "--version"])).ms);
    sample.push((await runNode([main, "plan"], plan(folder))).ms);
  }
  const yardstick = median(empty);
  tell({ name: "node -e 0", figure: seconds(yardstick) });
  tell({
    name: "draftsync --version / node -e 0",
    figure: seconds(median(version)),
    ratio: median(version) / yardstick,
    target: 2.5,
  });
  tell({
    name: "no-change plan of the sample workspace / node -e 0",
    figure: seconds(median(sample)),
    ratio: median(sample) / yardstick,
    target: 10,
  });
}

async function growth() {
  const figures = [];
  for (const attachments of [1000, 10_000, 100_000, 1_000_000]) {
    const { folder } = await catalogue(attachments);
    const cold = await time([main, "plan"], {
      ...plan(folder),
      runs: attachments > 100_000 ? 1 : runs,
      before: forget(folder),
    });
    const warm = await time([main, "plan"], { ...plan(folder), runs: attachments > 100_000 ? 1 : runs });
    figures.push({ attachments, cold: cold.ms, warm: warm.ms, rss: cold.rss });
    tell({
      name: `plan of ${attachments.toLocaleString("en")}, nothing kept / all kept`,
      figure: `${seconds(cold.ms)} / ${seconds(warm.ms)}, ${megabytes(cold.rss)}`,
    });
    rmSync(folder, { recursive: true });
  }
  return figures;
}

const parts = {
  starts,
  plans: planBigCatalogues,
  terraform: planBesideTerraform,
  simulation: simulate,
  bound: applyWithinBound,
  apply: applyWithoutBound,
};
/** Takes half an hour, so it runs when it is named. */
if (options.only === "fleet") parts.fleet = () => measureFleet({ root, tell });
if (options.only !== undefined && !Object.hasOwn(parts, options.only)) {
  process.stderr.write(`--only is one of ${Object.keys(parts).join(", ")}, fleet, not ${options.only}.\n`);
  process.exit(2);
}
process.stdout.write(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}\n`);
for (const [name, part] of Object.entries(parts)) {
  if (options.only !== undefined && options.only !== name) continue;
  await part();
  tellWithheld();
}
// The table holds the figures of one run, or none of it.
const measured = options.only === undefined ? [...rows] : undefined;
const withheld = withheldSince(begun);
const grown = options.growth ? await growth() : undefined;
if (options.write) writePerformancePage({ rows: measured, growth: grown, withheld });
const missed = rows.filter(({ holds }) => !holds);
process.stdout.write(missed.length === 0 ? "Every target is met.\n" : `${missed.length} missed.\n`);
process.exitCode = missed.length === 0 ? 0 : 1;
