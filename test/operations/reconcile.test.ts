import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";
import { useWorkspace } from "../support/workspace.ts";

const files = (...ids: number[]) => ids.map((id) => `{ file_id: ${id} }`).join(", ");
const manifest = (list: string, rest = "") => ({
  "manifests/a.yaml": `draft: 1\nproduct_files: [${list}]\n${rest}`,
});

const { sandbox, proxy, folder, arrivals, config, run, apply, confirmLedger, start, holdApply, options } =
  useWorkspace({
    files: manifest(files(1, 2, 3)),
  });
const reconcile = (...args: string[]) => run("reconcile", ...args);
const attached = () =>
  sandbox
    .state()
    .attachments.map(({ fileId }) => fileId)
    .sort();

describe("a run ends with", () => {
  test("0 when everything is done, and when there is nothing to do; both are in the history", async () => {
    const first = await reconcile();
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining("Applied: 3 done. 3 calls") });
    expect(attached()).toEqual([1, 2, 3]);
    const second = await reconcile();
    expect(second).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("No changes.") });
    const { runs } = JSON.parse((await run("history", "--json")).stdout);
    expect(runs).toMatchObject([
      { command: "reconcile", status: "done", totals: { done: 3 }, operations: [{}, {}, {}] },
      { command: "reconcile", status: "done", totals: { done: 0, calls: 0 }, operations: [] },
    ]);
  });

  test("1 when a manifest is broken: nothing is sent, and the history has it", async () => {
    await folder.write({ "manifests/b.yaml": "draft: one\n" });
    const { code, stderr } = await reconcile();
    expect(code).toBe(1);
    expect(stderr).toContain("manifests/b.yaml:1:8");
    expect(proxy.seen).toEqual([]);
    const { runs } = JSON.parse((await run("history", "--json")).stdout);
    expect(runs).toMatchObject([{ command: "reconcile", status: "error", operations: [] }]);
  });

  test.each([
    ["nothing", ""],
    ["one file of three", "/1"],
  ])("1 when its refresh can read %s, although the ledger needs no change", async (_name, end) => {
    await folder.write(config("refresh: { attachments: probe, max_age: 0s }\n"));
    await reconcile();
    proxy.choose = ({ method, path }) =>
      method === "PATCH" && (end === "" || !path.endsWith(end)) ? { type: "answer", status: 503 } : undefined;
    expect(await reconcile()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[nothing-checked]"),
    });
  });

  test("3 when some operations failed", async () => {
    proxy.choose = ({ body }) => (body.includes('"file_id":2') ? { type: "answer", status: 422 } : undefined);
    expect(await reconcile()).toMatchObject({ code: 3, stderr: expect.stringContaining("2 done, 1 failed") });
  });

  test("4 while something is in doubt, and the rest is carried out", async () => {
    await confirmLedger();
    await folder.write({
      ...config("reconcile: { allow: [create, publish] }\n"),
      ...manifest("", "publish: true\n---\ndraft: 2\nproduct_files: [{ file_id: 9 }]\n"),
    });
    proxy.choose = ({ path }) => (path === "/api/products" ? { type: "answer-lost" } : undefined);
    expect((await reconcile()).code).toBe(4);
    expect(attached()).toEqual([9]);
    expect((await reconcile()).code).toBe(4);
    expect(proxy.seen.filter((line) => line === "POST /api/products")).toHaveLength(1);
  });

  test("5 when a safety limit refuses, of what the policy leaves", async () => {
    await folder.write(
      config("reconcile: { allow: [create, delete] }\nsafety: { max_deletes: { above: 1, percent: 10 } }\n"),
    );
    await reconcile();
    await folder.write(manifest(files(1)));
    const refused = await reconcile();
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("2 of 3 recorded files") });
    expect(attached()).toEqual([1, 2, 3]);
    await folder.write(config("safety: { max_deletes: { above: 1, percent: 10 } }\n"));
    expect((await reconcile()).code).toBe(0);
    const { runs } = JSON.parse((await run("history", "--json")).stdout);
    expect(runs.map(({ status }: { status: string }) => status)).toEqual(["done", "refused", "done"]);
  });

  test("7 at its limit of calls, and the next one goes on", async () => {
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 8 }, { file_id: 9 }]\n" });
    expect((await reconcile("--max-calls", "3")).code).toBe(7);
    expect((await reconcile("--until", "1h")).code).toBe(0);
    expect(attached()).toEqual([1, 2, 3, 8, 9]);
  });

  test("130 when interrupted: what was sent is accounted for", async () => {
    proxy.choose = () => ({ type: "answer-held" });
    const running = start(["reconcile"]);
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBe(3);
    running.kill("SIGTERM");
    running.kill("SIGINT");
    const { code } = await running.ended;
    expect(code).toBe(130);
    proxy.choose = () => undefined;
    expect((await reconcile()).code).toBe(0);
    expect(proxy.seen.filter((line) => line.startsWith("POST"))).toHaveLength(3);
  });
});

test("runs that sent nothing are in the history for a week", async () => {
  await reconcile();
  await reconcile();
  const { default: Database } = await import("libsql");
  const database = new Database(join(folder.path, ".draftsync/state.db"));
  database.exec(`update runs set started_at = started_at - ${7 * 86_400_000}`);
  database.close();
  await reconcile();
  const { runs } = JSON.parse((await run("history", "--json")).stdout);
  expect(runs.map(({ operations }: { operations: unknown[] }) => operations.length)).toEqual([3, 0]);
});

test("a run without an API key is in the history", async () => {
  expect((await draftsync(["reconcile"], { cwd: folder.path })).code).toBe(1);
  const { runs } = JSON.parse((await run("history", "--json")).stdout);
  expect(runs).toMatchObject([{ command: "reconcile", status: "error", operations: [] }]);
});

describe("policy", () => {
  test("excludes what is not allowed, with counts, and apply carries it out", async () => {
    await folder.write(manifest(files(1, 2, 3), "publish: true\n"));
    const first = await reconcile();
    expect(first.code).toBe(0);
    expect(first.stdout).toContain("1 change is excluded: the policy does not allow publish");
    await folder.write(manifest(files(3, 4), "publish: true\n"));
    const second = await reconcile();
    expect(second.code).toBe(0);
    expect(second.stdout).toContain("2 changes are excluded: the policy does not allow delete");
    expect(second.stdout).toContain("Plan: 1 to create.");
    expect(attached()).toEqual([1, 2, 3, 4]);
    expect(sandbox.state().products).toEqual([]);
    const third = await reconcile();
    expect(third.stdout).toContain("Remaining changes need manual approval.");
    expect((await run("plan")).stdout).toContain("Plan: 2 to delete, 1 to publish.");
    expect((await apply()).code).toBe(0);
    expect(attached()).toEqual([3, 4]);
    expect(sandbox.state().products).toHaveLength(1);
  });

  test("publishes and detaches when it says so, without asking", async () => {
    await apply();
    await folder.write({
      ...config("reconcile: { allow: [delete, publish] }\n"),
      ...manifest(files(1, 2), "publish: true\n"),
    });
    expect((await reconcile()).code).toBe(0);
    expect(attached()).toEqual([1, 2]);
    expect(sandbox.state().products).toHaveLength(1);
  });
});

describe("the lock", () => {
  test("is waited for, and what the holder has done is not done again", async () => {
    const holder = await holdApply(3);
    const waiting = start(["reconcile"]);
    await expect
      .poll(() => waiting.stderr(), { timeout: 60_000 })
      .toMatch(/waiting up to 5 min for the lock of .+ apply/);
    holder.answer();
    expect((await holder.ended).code).toBe(0);
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("No changes.") });
    expect(proxy.seen).toHaveLength(3);
  });

  test("is given up after lock_wait, with 6 and the holder's name", async () => {
    const holder = await holdApply(3);
    await folder.write(config("reconcile: { lock_wait: 10ms }\n"));
    const { code, stderr } = await reconcile("--metrics-file", "m.prom");
    expect(code).toBe(6);
    expect(stderr).toContain("[lock-held]");
    expect(await folder.read("m.prom")).toContain('draftsync_runs_total{status="locked",workspace="w"} 1\n');
    holder.answer();
    await holder.ended;
  });

  test("is no longer waited for after an interrupt", async () => {
    const holder = await holdApply(3);
    const waiting = start(["reconcile"]);
    await expect.poll(() => waiting.stderr(), { timeout: 60_000 }).toContain("waiting up to");
    waiting.kill("SIGTERM");
    expect(await waiting.ended).toMatchObject({ code: 130, stderr: expect.stringContaining("[aborted]") });
    holder.answer();
    expect((await holder.ended).code).toBe(0);
  });
});

describe("--metrics-file", () => {
  test("is for others to read, agrees with the service's log, and goes on with the next run", async () => {
    const faults = [
      { type: "answer", status: 503 },
      { type: "answer", status: 503 },
    ] as const;
    const left = [...faults];
    proxy.choose = ({ method }) => (method === "POST" ? left.shift() : undefined);
    await folder.write({ "a.glb": "bytes", ...manifest(`${files(1)}, { source: ../a.glb }`) });
    await reconcile("--metrics-file", "m.prom");
    await folder.write(manifest(`{ file_id: 1, renderer: arnold }, { source: ../a.glb }`));
    await reconcile("--metrics-file", "m.prom");
    const { mode } = await stat(join(folder.path, "m.prom"));
    expect((mode & 0o777).toString(8)).toBe("644");
    const samples = (await folder.read("m.prom"))
      .split("\n")
      .filter((line) => /^draftsync_calls_total/.test(line));
    const reported = samples.flatMap((line) => {
      const [, method, endpoint, status, count] =
        /method="(.+?)",endpoint="(.+?)",status="(.+?)",.* (\d+)$/.exec(line) ?? [];
      return Array.from({ length: Number(count) }, () => `${method} ${endpoint} ${status}`);
    });
    const routes = arrivals
      .filter(({ side }) => side === "service")
      .map(({ method, path, status }) => {
        const route = path.replace(/drafts\/1/, "drafts/:draft_id").replace(/_files\/\d+/, "_files/:id");
        return `${method} ${route} ${status}`;
      });
    // The two that the proxy answered never came to the service.
    const refused = reported.filter((line) => line.endsWith(" 503"));
    expect(refused).toHaveLength(2);
    expect(reported.filter((line) => !refused.includes(line)).sort()).toEqual(routes.sort());
    expect(await folder.read("m.prom")).toContain(
      'draftsync_changes_total{action="update",outcome="done",workspace="w"} 1',
    );
  });

  test("that cannot be written is a warning", async () => {
    const { code, stderr } = await reconcile("--metrics-file", "nowhere/m.prom");
    expect(code).toBe(0);
    expect(stderr).toContain("warning: the metrics file cannot be written: ");
  });
});

test("--json writes the events of the run and nothing else", async () => {
  const { code, stdout } = await reconcile("--json");
  expect(code).toBe(0);
  const types = parseEvents(stdout).map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(["refresh_started", "refresh_finished"]);
  expect(types[2]).toBe("planned");
  expect(types[3]).toBe("run_started");
  expect(types.slice(-2)).toEqual(["run_finished", "reconcile_finished"]);
  expect(types.filter((type) => type === "change_finished")).toHaveLength(3);
  expect(parseEvents(stdout).at(-1)).toMatchObject({ status: "ok", totals: { done: 3 } });
});

test("--json ends with the result also when the run could not start, and DRAFTSYNC_RATE is checked", async () => {
  const { code, stdout } = await draftsync(["reconcile", "--json"], { cwd: options().cwd, env: {} });
  expect(code).toBe(1);
  expect(parseEvents(stdout).at(-1)).toMatchObject({
    type: "reconcile_finished",
    status: "failing",
    code: "api-key-missing",
  });
  const env = { ...options().env, DRAFTSYNC_RATE: "10" };
  expect(await draftsync(["reconcile"], { cwd: options().cwd, env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("[rate-invalid]"),
  });
});

test.each([
  [["--interval", "0s"], '--interval must be a duration of a second or more, not "0s"'],
  [["--interval", "15"], '--interval must be a duration of a second or more, not "15"'],
  [["--listen", "127.0.0.1:0"], "--listen needs --interval"],
  [["--interval", "1m", "--listen", "9090"], '--listen must be an address and a port, not "9090"'],
  [["--interval", "1m", "--until", "18:30"], 'with --interval, --until must be a duration, not "18:30"'],
  [["--until", "yesterday"], '--until must be a time, not "yesterday"'],
  [["--max-calls", "0"], "--max-calls must be a positive integer"],
])("%j is refused before anything is read", async (args, message) => {
  expect(await reconcile(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  expect(proxy.seen).toEqual([]);
});
