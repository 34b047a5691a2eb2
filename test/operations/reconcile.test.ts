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

describe("exit code of reconcile", () => {
  test("is 0 when all changes are applied and when there are none, and the history has both runs", async () => {
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

  test("is 1 when a manifest is invalid; nothing is sent, and the history has the run", async () => {
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
  ])("is 1 when the refresh reads %s, even if the ledger needs no change", async (_name, end) => {
    await folder.write(config("refresh: { attachments: probe, max_age: 0s }\n"));
    await reconcile();
    proxy.choose = ({ method, path }) =>
      method === "PATCH" && (end === "" || !path.endsWith(end)) ? { type: "answer", status: 503 } : undefined;
    expect(await reconcile()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[nothing-checked]"),
    });
  });

  test("is 3 when an operation fails", async () => {
    proxy.choose = ({ body }) => (body.includes('"file_id":2') ? { type: "answer", status: 422 } : undefined);
    expect(await reconcile()).toMatchObject({ code: 3, stderr: expect.stringContaining("2 done, 1 failed") });
  });

  test("is 4 while an operation is in doubt, and the other changes are applied", async () => {
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

  test("is 5 when a safety limit refuses the changes that the policy allows", async () => {
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

  test("is 7 at --max-calls, and the next run continues", async () => {
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 8 }, { file_id: 9 }]\n" });
    expect((await reconcile("--max-calls", "3")).code).toBe(7);
    expect((await reconcile("--until", "1h")).code).toBe(0);
    expect(attached()).toEqual([1, 2, 3, 8, 9]);
  });

  test("is 130 after an interrupt, and the next run sends no request twice", async () => {
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

test("the history keeps runs that sent nothing for a week", async () => {
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

test("the history has a run without an API key", async () => {
  expect((await draftsync(["reconcile"], { cwd: folder.path })).code).toBe(1);
  const { runs } = JSON.parse((await run("history", "--json")).stdout);
  expect(runs).toMatchObject([{ command: "reconcile", status: "error", operations: [] }]);
});

describe("reconcile policy", () => {
  test("excludes and counts changes that it does not allow, and apply makes them", async () => {
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

  test("allows publishes and deletes without a prompt", async () => {
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

test("reconcile forgets an undeclared duplicate only with safety.removed_drafts: delete", async () => {
  const copy = { "manifests/b.yaml": "duplicates: [{ name: copy, product: { draft: 1 } }]\n" };
  const copies = () => proxy.seen.filter((line) => line.endsWith("/duplicate"));
  const allow = "reconcile: { allow: [create, duplicate, forget] }\n";
  await folder.write({ ...config(allow), ...manifest(files(1), "publish: true\n"), ...copy });
  expect((await apply("--new-ledger")).code).toBe(0);
  await folder.write({ "manifests/b.yaml": "duplicates: []\n" });
  const kept = await reconcile("--metrics-file", "metrics.prom");
  expect(kept).toMatchObject({ code: 0, stdout: expect.stringContaining("[removed-duplicates-excluded]") });
  expect(kept.stdout).toContain("Remaining changes need manual approval.");
  expect(await folder.read("metrics.prom")).toMatch(/^draftsync_excluded\{.*action="removed_drafts".*\} 1$/m);
  await folder.write(copy);
  expect((await reconcile()).stdout).toContain("Everything is up to date.");
  expect(copies()).toHaveLength(1);
  await folder.write({
    "manifests/b.yaml": "duplicates: []\n",
    ...config(`${allow}safety: { removed_drafts: delete }\n`),
  });
  expect(await reconcile()).toMatchObject({ code: 0, stdout: expect.stringContaining("1 to forget") });
  expect((await run("state", "list")).stdout).not.toContain("duplicates/copy");
});

describe("lock in reconcile", () => {
  test("is waited for, and changes made by its holder are not repeated", async () => {
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

  test("times out after lock_wait with exit code 6 and names the holder", async () => {
    const holder = await holdApply(3);
    await folder.write(config("reconcile: { lock_wait: 10ms }\n"));
    const { code, stderr } = await reconcile("--metrics-file", "m.prom");
    expect(code).toBe(6);
    expect(stderr).toContain("[lock-held]");
    expect(await folder.read("m.prom")).toContain('draftsync_runs_total{status="locked",workspace="w"} 1\n');
    holder.answer();
    await holder.ended;
  });

  test("is not waited for after an interrupt", async () => {
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
  test("is readable by other users, matches the log of the service, and keeps counting in the next run", async () => {
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
    // The proxy answered two calls itself, so the service did not log them.
    const refused = reported.filter((line) => line.endsWith(" 503"));
    expect(refused).toHaveLength(2);
    expect(reported.filter((line) => !refused.includes(line)).sort()).toEqual(routes.sort());
    expect(await folder.read("m.prom")).toContain(
      'draftsync_changes_total{action="update",outcome="done",workspace="w"} 1',
    );
  });

  test("warns if the file cannot be written", async () => {
    const { code, stderr } = await reconcile("--metrics-file", "nowhere/m.prom");
    expect(code).toBe(0);
    expect(stderr).toContain("warning: the metrics file cannot be written: ");
  });
});

test("--json prints only the events of the run", async () => {
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

test("--json prints a result even if the run cannot start, and an invalid DRAFTSYNC_RATE is an error", async () => {
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
])("rejects %j before reading anything", async (args, message) => {
  expect(await reconcile(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  expect(proxy.seen).toEqual([]);
});
