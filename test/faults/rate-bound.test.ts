import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

const key = "canary-key-3ce4";
const limit = 7;
const windowMs = 250;
let sandbox: Sandbox;
let folder: Folder;
const arrivals: RequestLogEntry[] = [];
let onArrival = () => {};

beforeAll(async () => {
  const log = (arrival: RequestLogEntry) => {
    arrivals.push(arrival);
    onArrival();
  };
  sandbox = await startSandbox({ key, log });
  const ids = Array.from({ length: 30 }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: w
service:
  base_url: ${sandbox.url}
  rate: { limit: ${limit}, window: ${windowMs}ms }
  concurrency: 32
`,
    "manifests/a.yaml": [1, 2, 3]
      .map((draft) => `draft: ${draft}\nproduct_files: [${ids}]\npublish: true\n`)
      .join("---\n"),
  });
});
afterAll(async () => {
  await sandbox.close();
  await folder.dispose();
});

afterEach(() => {
  arrivals.length = 0;
  onArrival = () => {};
});

/** Resolves once so many calls have come in. */
function arrived(count: number): Promise<void> {
  return new Promise((resolve) => {
    onArrival = () => arrivals.length >= count && resolve();
    onArrival();
  });
}

/** A process that sends calls and shares the ledger of the folder. */
function startCaller(options: { readonly calls: number; readonly jumpMs?: number }): ChildProcess {
  const ledger = join(folder.path, ".draftsync", "state.db");
  const given = { url: sandbox.url, key, ledger, rate: { limit, windowMs }, ...options };
  const caller = join(repository, "test/support/caller.mjs");
  return spawn(process.execPath, [caller, JSON.stringify(given)], { stdio: ["ignore", "ignore", "inherit"] });
}

async function ended(child: ChildProcess): Promise<number | NodeJS.Signals | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  return child.exitCode ?? child.signalCode;
}

/** The largest number of arrivals in any window of the given length, closed at both ends. */
function largestWindow(times: readonly number[], length: number): number {
  let largest = 0;
  let from = 0;
  for (const [at, time] of times.entries()) {
    while (time - (times[from] ?? 0) > length) from += 1;
    largest = Math.max(largest, at - from + 1);
  }
  return largest;
}

test("no window at the server sees more calls than the bound, and none is refused", async () => {
  const { code } = await draftsync(["apply", "--auto-approve"], {
    cwd: folder.path,
    env: { DRAFTSYNC_API_KEY: key },
  });
  expect(code).toBe(0);
  const service = arrivals.filter(({ side }) => side === "service");
  expect(service).toHaveLength(93);
  expect(service.filter(({ status }) => status === 429)).toEqual([]);
  const times = service.map(({ monotonic }) => monotonic).sort((a, b) => a - b);
  expect(largestWindow(times, windowMs)).toBeLessThanOrEqual(limit);
  // The measure itself: a bound that idles would pass the line above.
  expect(largestWindow(times, windowMs)).toBeGreaterThan(limit / 2);
});

test("no window sees more over four processes, with kills, restarts and clocks that jump", async () => {
  const hour = 3_600_000;
  await folder.write({ "manifests/b.yaml": "draft: 9\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\n" });
  const steady = [startCaller({ calls: 60, jumpMs: hour }), startCaller({ calls: 60, jumpMs: -hour })];
  let killed = 0;
  for (let count = 15; count <= 105; count += 15) {
    const short = startCaller({ calls: 200 });
    await arrived(count);
    short.kill("SIGKILL");
    if ((await ended(short)) === "SIGKILL") killed += 1;
  }
  const env = { DRAFTSYNC_API_KEY: key };
  const apply = await draftsync(["apply", "--auto-approve"], { cwd: folder.path, env });
  expect(apply.stderr).not.toContain("error");
  expect(apply.code).toBe(0);
  expect(await Promise.all(steady.map(ended))).toEqual([0, 0]);
  expect(killed).toBe(7);
  const calls = arrivals.filter(({ side }) => side === "service");
  expect(calls.length).toBeGreaterThanOrEqual(122);
  expect(calls.filter(({ status }) => status === 429)).toEqual([]);
  const times = calls.map(({ monotonic }) => monotonic).sort((a, b) => a - b);
  expect(largestWindow(times, windowMs)).toBeLessThanOrEqual(limit);
  expect(largestWindow(times, windowMs)).toBeGreaterThan(limit / 2);
});

test("a run that starts within a wait that an earlier one was asked for sends nothing, and says so", async () => {
  const throttled = await startSandbox({
    key,
    log: (arrival) => arrivals.push(arrival),
    faults: FaultRulesSchema.parse({ rules: [{ fault: "throttle", for: "60s", times: 1 }] }),
  });
  const own = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: ${throttled.url}, profile: { max_wait: 5s } }\n`,
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n",
  });
  const run = { cwd: own.path, env: { DRAFTSYNC_API_KEY: key } };
  try {
    const first = await draftsync(["apply", "--auto-approve"], run);
    expect([first.code, arrivals.length]).toEqual([1, 1]);
    const second = await draftsync(["apply", "--auto-approve"], run);
    expect([second.code, arrivals.length]).toEqual([1, 1]);
    for (const { stderr } of [first, second]) {
      expect(stderr).toMatch(
        /error: the service asks for no calls for longer than service\.profile\.max_wait.*: until [\d-]+ [\d:]+ UTC/,
      );
      expect(stderr).toContain("draftsync state import ledger.json --state NEW");
    }
    const plan = await draftsync(["plan"], run);
    expect(plan.stderr).toMatch(
      /note: the service asks for no calls until [\d-]+ [\d:]+ UTC; run apply after that/,
    );
    // One that was asked for by mistake stays behind with its ledger.
    await own.write({ "ledger.json": (await draftsync(["state", "export"], run)).stdout });
    const moved = ["--state", "moved.db"];
    expect((await draftsync(["state", "import", "ledger.json", ...moved], run)).code).toBe(0);
    expect((await draftsync(["plan", ...moved], run)).stderr).not.toContain("asks for no calls");
    const third = await draftsync(["apply", "--auto-approve", ...moved], run);
    expect([third.code, arrivals.length]).toEqual([0, 2]);
  } finally {
    await throttled.close();
    await own.dispose();
  }
});
