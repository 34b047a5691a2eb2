import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/model/event.ts";
import type { ReconcileResult, ReconcileStatus } from "../../../src/model/reconcile-result.ts";
import { routeOf } from "../../../src/report/log-line.ts";
import {
  makeProcessMetrics,
  makeReconcileMetrics,
  type ReconcileMetrics,
} from "../../../src/report/metrics.ts";

const basis = { workspace: "studio-a", rate: { limit: 10, windowMs: 1_000 } };
const totals = { done: 1, failed: 0, in_doubt: 0, skipped: 0, deferred: 0, calls: 4 };

const call = (method: string, path: string, status?: number, ms = 1): Event => ({
  type: "call_finished",
  at: 0,
  method,
  path,
  attempt: 1,
  outcome: "done",
  ms,
  ...(status === undefined ? {} : { status }),
});
const change = (action: "create" | "update", outcome: "done" | "unknown"): Event => ({
  type: "change_finished",
  at: 0,
  address: "drafts/1/product_files/1",
  action,
  outcome,
  ms: 1,
});
const run = (status: ReconcileStatus, parts: Partial<ReconcileResult> = {}): ReconcileResult => ({
  status,
  workspace: "studio-a",
  startedAt: 1_000_000,
  ms: 2_000,
  ...parts,
});

function begin(former?: string): ReconcileMetrics {
  const metrics = makeReconcileMetrics({ version: "1.2.3", ...(former === undefined ? {} : { former }) });
  metrics.begin(basis);
  return metrics;
}

/** Samples other than 0, without the workspace label. */
async function samplesOf(metrics: ReconcileMetrics): Promise<string[]> {
  const lines = (await metrics.text()).split("\n").filter((line) => /^\w/.test(line) && !line.endsWith(" 0"));
  for (const line of lines) expect(line).toContain('workspace="studio-a"');
  return lines.map((line) => line.replace(/,?workspace="studio-a"/, "").replace("{}", ""));
}

describe("reconcile metrics", () => {
  test("count the events of a run, and show its result", async () => {
    const metrics = begin();
    metrics.count(call("POST", "/api/drafts/48213/product_files", 201));
    metrics.count(call("POST", "/api/drafts/7/product_files", 201));
    metrics.count(call("GET", "/api/uploads?filter%5Bid%5D=a,b", 200));
    metrics.count(call("POST", "/api/products"));
    metrics.count(change("create", "done"));
    metrics.count(change("update", "unknown"));
    metrics.end(run("in_doubt", { totals, inDoubt: 1, excluded: { delete: 3 } }));
    const samples = (await samplesOf(metrics)).filter((line) => !line.includes("_duration_seconds_"));
    expect(samples.sort()).toEqual([
      'draftsync_build_info{version="1.2.3"} 1',
      'draftsync_calls_total{method="GET",endpoint="/api/uploads",status="200"} 1',
      'draftsync_calls_total{method="POST",endpoint="/api/drafts/:draft_id/product_files",status="201"} 2',
      'draftsync_calls_total{method="POST",endpoint="/api/products",status="none"} 1',
      'draftsync_changes_total{action="create",outcome="done"} 1',
      'draftsync_changes_total{action="update",outcome="unknown"} 1',
      'draftsync_excluded{action="delete"} 3',
      "draftsync_in_doubt 1",
      "draftsync_last_run_duration_seconds 2",
      "draftsync_last_run_timestamp_seconds 1002",
      "draftsync_rate_limit_calls 10",
      "draftsync_rate_limit_window_seconds 1",
      "draftsync_rate_use_ratio 0.2",
      'draftsync_run_status{status="in_doubt"} 1',
      'draftsync_runs_total{status="in_doubt"} 1',
    ]);
  });

  test.each<[ReconcileStatus, boolean, number]>([
    ["ok", true, 0],
    ["excluded", true, 0],
    ["deferred", true, 0],
    ["standby", true, 1],
    ["stalled", false, 0],
    ["in_doubt", false, 0],
    ["refused", false, 0],
    ["failing", false, 2],
    ["locked", false, 1],
    ["interrupted", false, 1],
  ])(
    "count %s after a failure as success: %s, with %i failures in a row",
    async (status, success, failures) => {
      const metrics = begin();
      metrics.end(run("failing"));
      metrics.end(run(status, { startedAt: 5_000_000, ms: 0 }));
      const samples = await samplesOf(metrics);
      expect(samples.includes("draftsync_last_success_timestamp_seconds 5000")).toBe(success);
      expect(samples.includes(`draftsync_failures_in_a_row ${failures}`)).toBe(failures > 0);
    },
  );

  test("keep excluded and in-doubt counts after a failed run, and reset them after a successful one", async () => {
    const metrics = begin();
    metrics.end(run("in_doubt", { excluded: { delete: 3 }, inDoubt: 2 }));
    metrics.end(run("failing"));
    expect(await samplesOf(metrics)).toContain('draftsync_excluded{action="delete"} 3');
    expect(await samplesOf(metrics)).toContain("draftsync_in_doubt 2");
    metrics.end(run("ok", { excluded: {}, inDoubt: 0 }));
    expect((await samplesOf(metrics)).filter((line) => /excluded\{action|in_doubt /.test(line))).toEqual([]);
  });

  test("are absent before the end of the first run, except counters and settings", async () => {
    const text = await makeReconcileMetrics({ version: "1.2.3" }).text();
    const names = new Set([...text.matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name));
    expect([...names].sort()).toEqual(["draftsync_build_info", "draftsync_runs_total"]);
    const begun = begin();
    expect(await begun.text()).not.toMatch(/^draftsync_(last|failures|in_doubt|rate_use|run_status)/m);
    begun.end(run("failing"));
    expect(await begun.text()).toContain('draftsync_failures_in_a_row{workspace="studio-a"} 1\n');
    expect(await begun.text()).not.toMatch(/^draftsync_(last_success|in_doubt)/m);
  });

  test("count call durations in buckets, and continue those of an earlier process", async () => {
    const first = begin();
    first.count(call("GET", "/api/products/7", 200, 300));
    const second = begin(await first.text());
    second.count(call("GET", "/api/products/8", 200, 70));
    second.count(call("POST", "/api/products", 201, 7_000));
    const name = "draftsync_call_duration_seconds";
    const samples = (await samplesOf(second)).filter((line) => line.startsWith(name));
    const get = 'method="GET",endpoint="/api/products/:id"';
    expect(samples).toEqual(
      expect.arrayContaining([
        `${name}_bucket{le="0.1",${get}} 1`,
        `${name}_bucket{le="0.5",${get}} 2`,
        `${name}_bucket{le="+Inf",${get}} 2`,
        `${name}_sum{${get}} 0.37`,
        `${name}_count{${get}} 2`,
        `${name}_count{method="POST",endpoint="/api/products"} 1`,
      ]),
    );
    expect(await second.text()).toContain(`# TYPE ${name} histogram\n`);
  });

  test("are absent for unknown values", async () => {
    const metrics = begin();
    expect(await metrics.text()).not.toMatch(/drift|unconfirmed/);
    metrics.reportConfidence({ oldestUnconfirmedMs: 90_500, drift: 0 });
    expect(await metrics.text()).toContain('draftsync_drift{workspace="studio-a"} 0\n');
    expect(await metrics.text()).toContain(
      'draftsync_oldest_unconfirmed_age_seconds{workspace="studio-a"} 90.5\n',
    );
    metrics.reportConfidence({});
    expect(await metrics.text()).not.toMatch(/drift|unconfirmed/);
  });

  test("continue the values of an earlier process for the same workspace", async () => {
    const first = begin();
    first.count(call("POST", "/api/products", 201));
    first.count(change("create", "done"));
    first.end(run("ok"));
    const second = begin(await first.text());
    second.count(change("create", "done"));
    second.end(run("failing", { startedAt: 9_000_000 }));
    const samples = await samplesOf(second);
    expect(samples).toEqual(
      expect.arrayContaining([
        'draftsync_runs_total{status="ok"} 1',
        'draftsync_runs_total{status="failing"} 1',
        "draftsync_last_success_timestamp_seconds 1002",
        'draftsync_changes_total{action="create",outcome="done"} 2',
        'draftsync_calls_total{method="POST",endpoint="/api/products",status="201"} 1',
      ]),
    );
    const third = begin(await second.text());
    third.end(run("failing"));
    expect(await samplesOf(third)).toContain("draftsync_failures_in_a_row 2");
    const other = makeReconcileMetrics({ version: "1.2.3", former: await first.text() });
    other.begin({ ...basis, workspace: "studio-b" });
    expect(await other.text()).not.toContain("} 1002");
  });

  test.each([
    "",
    "\0\0\0",
    'draftsync_runs_total{status="ok"} 5',
    'draftsync_runs_total{status="ok",workspace="studio-a"} -5',
    'draftsync_runs_total{status="ok",workspace="studio-a"} NaN',
    'draftsync_runs_total{other="ok",workspace="studio-a"} 5',
    'draftsync_runs_total{status="o',
  ])("start at zero after the invalid file %j", async (former) => {
    expect(await samplesOf(begin(former))).toEqual(await samplesOf(begin()));
  });
});

test("gives process metrics separately, with the standard names of Prometheus", async () => {
  const text = await makeProcessMetrics()();
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
  expect(await begin().text()).not.toMatch(/^(process|nodejs)_/m);
});

describe("route of a path", () => {
  test.each([
    ["/api/drafts/48213/product_files", "/api/drafts/:draft_id/product_files"],
    ["/api/drafts/48213/promotional_files/99?x=1", "/api/drafts/:draft_id/promotional_files/:id"],
    ["/api/uploads/credentials", "/api/uploads/credentials"],
    ["/api/uploads/a%2Fb", "/api/uploads/:id"],
    ["/api/uploads?filter%5Bid%5D=a", "/api/uploads"],
    ["/api/products/7?include=draft", "/api/products/:id"],
    ["/api/products/7/duplicate", "/api/products/:id/duplicate"],
    ["/api/drafts/1/other_files", "other"],
    ["/api/$1", "other"],
    ["", "other"],
  ])("maps %j to %s", (path, route) => {
    expect(routeOf(path)).toBe(route);
  });
});
