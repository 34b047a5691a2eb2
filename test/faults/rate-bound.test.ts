import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";
import { freshSchema } from "../unit/ledger/samples.ts";

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

/** Resolves when this many calls have arrived. */
function arrived(count: number): Promise<void> {
  return new Promise((resolve) => {
    onArrival = () => arrivals.length >= count && resolve();
    onArrival();
  });
}

interface CallerOptions {
  readonly calls: number;
  readonly jumpMs?: number;
  readonly timeoutMs?: number;
  /** Stops itself twice: before it writes its first call, and after 25 calls. */
  readonly stops?: boolean;
  readonly ledger?: string;
}

/** Starts a process that sends calls with a shared ledger, by default that of the folder. */
function startCaller(options: CallerOptions): ChildProcessByStdio<null, Readable, null> {
  const ledger = join(folder.path, ".draftsync", "state.db");
  const given = { url: sandbox.url, key, ledger, rate: { limit, windowMs }, ...options };
  const caller = join(repository, "test/support/caller.mjs");
  return spawn(process.execPath, [caller, JSON.stringify(given)], { stdio: ["ignore", "pipe", "inherit"] });
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

test("one apply never exceeds the bound in any window at the server", async () => {
  const { code } = await draftsync(["apply", "--auto-approve"], {
    cwd: folder.path,
    env: { DRAFTSYNC_API_KEY: key },
  });
  expect(code).toBe(0);
  expect(expectBound()).toBe(93);
});

/** Checks that no call was refused and no window exceeded the bound; returns the number of calls. */
function expectBound(): number {
  const calls = arrivals.filter(({ side }) => side === "service");
  expect(calls.filter(({ status }) => status === 429)).toEqual([]);
  const times = calls.map(({ monotonic }) => monotonic).sort((a, b) => a - b);
  expect(largestWindow(times, windowMs)).toBeLessThanOrEqual(limit);
  // A bound that sends nothing would also pass the line above.
  expect(largestWindow(times, windowMs)).toBeGreaterThan(limit / 2);
  return calls.length;
}

test.each([
  { name: "SQLite", draft: 9, locate: () => join(folder.path, "other.db") },
  { name: "PostgreSQL", draft: 10, locate: freshSchema },
])(
  "four processes with kills, restarts and clock jumps never exceed the bound in any window: $name",
  async ({ draft, locate }) => {
    const ledger = locate();
    const hour = 3_600_000;
    const files = "product_files: [{ file_id: 1 }, { file_id: 2 }]";
    const own = await makeFolder({
      "draftsync.yaml": await readFile(join(folder.path, "draftsync.yaml"), "utf8"),
      "manifests/a.yaml": `draft: ${draft}\n${files}\n`,
    });
    onTestFinished(() => own.dispose());
    const steady = [hour, -hour].map((jumpMs) => startCaller({ calls: 60, jumpMs, ledger }));
    let killed = 0;
    for (let count = 15; count <= 105; count += 15) {
      const short = startCaller({ calls: 200, ledger });
      await arrived(count);
      short.kill("SIGKILL");
      if ((await ended(short)) === "SIGKILL") killed += 1;
    }
    const env = { DRAFTSYNC_API_KEY: key, DRAFTSYNC_STATE: ledger };
    const apply = await draftsync(["apply", "--auto-approve"], { cwd: own.path, env });
    expect(apply.stderr).not.toContain("error");
    expect(apply.code).toBe(0);
    expect(await Promise.all(steady.map(ended))).toEqual([0, 0]);
    expect(killed).toBe(7);
    expect(expectBound()).toBeGreaterThanOrEqual(122);
  },
);

test("a process stopped for longer than its reservations last never exceeds the bound in any window", async () => {
  const other = startCaller({ calls: 250, timeoutMs: 1_000 });
  await arrived(20);
  const stopped = startCaller({ calls: 60, timeoutMs: 1_000, stops: true });
  const output = createInterface({ input: stopped.stdout })[Symbol.asyncIterator]();
  expect(await output.next()).toMatchObject({ value: "begun" });
  // The reservations expire within the first stop: after 5 s, the timeout, the settle delay and the window.
  for (const stopMs of [7_000, 300]) {
    expect(await output.next()).toMatchObject({ value: "stopping" });
    await new Promise((resolve) => setTimeout(resolve, stopMs));
    stopped.kill("SIGCONT");
  }
  expect(await Promise.all([stopped, other].map(ended))).toEqual([0, 0]);
  expect(expectBound()).toBeGreaterThanOrEqual(310);
});

describe("workspaces that share an API key", () => {
  const env = { DRAFTSYNC_API_KEY: key };
  const configOf = (shared: string) => `version: 1
workspace: w
service:
  base_url: ${sandbox.url}
  rate: { limit: ${limit}, window: ${windowMs}ms, shared: ${shared} }
  concurrency: 16
`;
  let drafts = 20;
  async function makeWorkspaces(): Promise<Folder> {
    drafts += 2;
    const ids = Array.from({ length: 40 }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
    const shared = await makeFolder({
      "one/draftsync.yaml": configOf("../rates.db"),
      "one/manifests/a.yaml": `draft: ${drafts}\nproduct_files: [${ids}]\n`,
      "two/draftsync.yaml": configOf("../rates.db"),
      "two/manifests/a.yaml": `draft: ${drafts + 1}\nproduct_files: [${ids}]\n`,
    });
    onTestFinished(() => shared.dispose());
    return shared;
  }
  const applyIn = (path: string, more: Readonly<Record<string, string>> = {}) =>
    draftsync(["apply", "--auto-approve"], { cwd: path, env: { ...env, ...more } });

  test("share one bound in a file, even if they spell the service's address differently", async () => {
    const { path } = await makeWorkspaces();
    const renamed = configOf("../rates.db").replace("127.0.0.1", "localhost");
    expect(renamed).toContain("localhost");
    await writeFile(join(path, "two/draftsync.yaml"), renamed);
    const both = await Promise.all([applyIn(join(path, "one")), applyIn(join(path, "two"))]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(expectBound()).toBe(80);
  });

  test("share one bound in a database named by the environment, with the smallest limit of all", async () => {
    const { path } = await makeWorkspaces();
    const slower = configOf("../rates.db").replace(`limit: ${limit}`, "limit: 4");
    await writeFile(join(path, "two/draftsync.yaml"), slower);
    const shared = { DRAFTSYNC_RATE_SHARED: freshSchema() };
    const both = await Promise.all([applyIn(join(path, "one"), shared), applyIn(join(path, "two"), shared)]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(expectBound()).toBe(80);
    expect(existsSync(join(path, "rates.db"))).toBe(false);
  });

  test("send nothing if the shared table cannot be opened, and stop when it disappears", async () => {
    const { path } = await makeWorkspaces();
    const nowhere = { DRAFTSYNC_RATE_SHARED: "postgres://127.0.0.1:9/none" };
    const refused = await applyIn(join(path, "one"), nowhere);
    expect([refused.code, arrivals.length]).toEqual([1, 0]);
    expect(refused.stderr).toContain("the table of rate reservations cannot be opened");
    const running = applyIn(join(path, "one"));
    await arrived(20);
    await rm(join(path, "rates.db"));
    const { code, stderr } = await running;
    expect(code).toBe(3);
    expect(stderr).toContain("its rate reservation could not be stored");
    expect(stderr).toContain("service.rate.shared");
    expect(arrivals.length).toBeLessThan(40);
    // The next run sends the rest.
    expect((await applyIn(join(path, "one"))).code).toBe(0);
    expect(arrivals.filter(({ status }) => status === 201)).toHaveLength(40);
  });
});

test("a run that starts within the Retry-After of an earlier run sends nothing and reports until when", async () => {
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
      expect(stderr).not.toContain("retrying in");
    }
    const plan = await draftsync(["plan"], run);
    expect(plan.stderr).toMatch(
      /note: the service asks for no calls until [\d-]+ [\d:]+ UTC; run apply after that/,
    );
    // A pause requested by mistake does not move to another ledger.
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
