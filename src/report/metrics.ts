import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Event } from "../model/event.ts";
import { append } from "../model/lists.ts";
import { isSuccess, noticeOf, type ReconcileResult, reconcileStatuses } from "../model/reconcile-result.ts";
import { routeOf } from "./log-line.ts";

/** What a run was planned with. */
export interface ReconcileBasis {
  readonly workspace: string;
  /** The bound: at most `limit` calls in any window of `windowMs`. */
  readonly rate: { readonly limit: number; readonly windowMs: number };
}

/** How far the ledger can be trusted. What is absent is not known, and has no metric. */
export interface LedgerAge {
  /** How long ago the record was confirmed that was not confirmed for the longest, milliseconds. */
  readonly oldestUnconfirmedMs?: number;
  /** Records that differ from what the service returned. */
  readonly drift?: number;
}

/** Metrics of `reconcile` for Prometheus. Labels hold words of ours, methods, routes and statuses: nothing without bound. */
export interface ReconcileMetrics {
  /** Before a run. */
  begin(basis: ReconcileBasis): void;
  /** Every event of a run. */
  count(event: Event): void;
  reportConfidence(confidence: LedgerAge): void;
  /** After a run. */
  end(run: ReconcileResult): void;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
}

/**
 * Makes the metrics. `former` is what an earlier process wrote: its counters and the time of its last success go on, so
 * that runs of a timer count as one process would.
 */
export function makeReconcileMetrics({
  version,
  former = "",
}: {
  version: string;
  former?: string;
}): ReconcileMetrics {
  const registry = new Registry();
  const optional = (name: string, help: string, value: number | undefined) => {
    registry.removeSingleMetric(name);
    if (value !== undefined) new Gauge({ name, help, registers: [registry] }).set(value);
  };
  /** A metric that is absent before its first value. */
  const gauge = (name: string, help: string) => {
    let value: number | undefined;
    return {
      set: (next: number) => {
        value = next;
        optional(name, help, value);
      },
      get: () => value,
    };
  };
  const labelled = (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge<string>({ name, help, labelNames: [...labelNames], registers: [registry] });
  const counters: {
    readonly name: string;
    readonly labelNames: readonly string[];
    readonly metric: Counter;
  }[] = [];
  const counter = (name: string, help: string, labelNames: readonly string[]) => {
    const metric = new Counter<string>({ name, help, labelNames: [...labelNames], registers: [registry] });
    counters.push({ name, labelNames, metric });
    return metric;
  };

  const build = labelled("draftsync_build_info", "Always 1; the version is in its label.", ["version"]);
  const reconciles = counter("draftsync_runs_total", "Runs that have ended, by how.", ["status"]);
  const status = labelled("draftsync_run_status", "1 for how the last run ended.", ["status"]);
  const lastResult = gauge("draftsync_last_run_timestamp_seconds", "When the last run ended.");
  const lastSuccess = gauge(
    "draftsync_last_success_timestamp_seconds",
    "When the last run ended that did all it was to do.",
  );
  const took = gauge("draftsync_last_run_duration_seconds", "How long the last run took.");
  const inARow = gauge("draftsync_failures_in_a_row", "Runs since the last one that did not fail.");
  const changes = counter("draftsync_changes_total", "Changes that have ended, by action and outcome.", [
    "action",
    "outcome",
  ]);
  const held = labelled(
    "draftsync_excluded",
    "Changes that the policy excluded in the last cycle, by the action it would have to allow.",
    ["action"],
  );
  const inDoubt = gauge("draftsync_in_doubt", "Changes in doubt after the last run.");
  const calls = counter("draftsync_calls_total", "Requests that were sent to the service.", [
    "method",
    "endpoint",
    "status",
  ]);
  const limit = gauge("draftsync_rate_limit_calls", "Calls that the bound allows in a window.");
  const window = gauge("draftsync_rate_limit_window_seconds", "The window of the bound.");
  const use = gauge("draftsync_rate_use_ratio", "Share of the bound that the last run used, 0 to 1.");
  const latency = makeLatency();

  build.set({ version }, 1);
  for (const each of reconcileStatuses) reconciles.inc({ status: each }, 0);
  let basis: ReconcileBasis = { workspace: "", rate: { limit: 0, windowMs: 0 } };
  let isFirst = true;

  const carryOn = (workspace: string) => {
    const samples = readSamples(former, workspace);
    for (const { name, labelNames, metric } of counters) {
      for (const { labels, value } of samples.get(name) ?? []) {
        // Another version may have had other labels.
        if (Object.keys(labels).sort().join() === [...labelNames].sort().join()) metric.inc(labels, value);
      }
    }
    for (const { value } of samples.get("draftsync_last_success_timestamp_seconds") ?? [])
      lastSuccess.set(value);
    for (const { value } of samples.get("draftsync_failures_in_a_row") ?? []) inARow.set(value);
    latency.carryOn(workspace, samples);
  };

  return {
    begin(next) {
      basis = next;
      registry.setDefaultLabels({ workspace: next.workspace });
      limit.set(next.rate.limit);
      window.set(next.rate.windowMs / 1000);
      if (isFirst) carryOn(next.workspace);
      isFirst = false;
    },
    count(event) {
      if (event.type === "change_finished") changes.inc({ action: event.action, outcome: event.outcome });
      if (event.type !== "call_finished") return;
      const { method, path, status: answer = "none" } = event;
      calls.inc({ method, endpoint: routeOf(path), status: String(answer) });
      latency.observe({ method, endpoint: routeOf(path), workspace: basis.workspace }, event.ms / 1000);
    },
    reportConfidence({ oldestUnconfirmedMs, drift }) {
      optional(
        "draftsync_oldest_unconfirmed_age_seconds",
        "How long ago the record was confirmed that was not confirmed for the longest.",
        oldestUnconfirmedMs === undefined ? undefined : oldestUnconfirmedMs / 1000,
      );
      optional("draftsync_drift", "Records that differ from what the service returned.", drift);
    },
    end(run) {
      const endedAt = (run.startedAt + run.ms) / 1000;
      reconciles.inc({ status: run.status });
      for (const each of reconcileStatuses) status.set({ status: each }, each === run.status ? 1 : 0);
      lastResult.set(endedAt);
      took.set(run.ms / 1000);
      if (isSuccess(run)) lastSuccess.set(endedAt);
      if (run.status === "failing") inARow.set((inARow.get() ?? 0) + 1);
      else if (noticeOf(run) !== undefined) inARow.set(0);
      if (run.inDoubt !== undefined) inDoubt.set(run.inDoubt);
      use.set(shareOf(run, basis.rate));
      if (run.excluded === undefined) return;
      held.reset();
      for (const [action, count] of Object.entries(run.excluded)) held.set({ action }, count);
    },
    text: async () => `${await registry.metrics()}\n${await latency.text()}`,
  };
}

const latencyName = "draftsync_call_duration_seconds";

/** How long calls took, by method and route; continues from the buckets that an earlier process wrote. */
function makeLatency() {
  const registry = new Registry();
  const help = "How long requests to the service took, from dispatch to the last byte or the failure.";
  const labelNames = ["method", "endpoint", "workspace"];
  const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
  const histogram = new Histogram({ name: latencyName, help, labelNames, buckets, registers: [registry] });
  const former: object[] = [];
  return {
    observe: (labels: Readonly<Record<"method" | "endpoint" | "workspace", string>>, seconds: number) =>
      histogram.observe(labels, seconds),
    carryOn: (workspace: string, samples: ReadonlyMap<string, readonly Sample[]>) => {
      const values = ["bucket", "sum", "count"].flatMap((part) =>
        (samples.get(`${latencyName}_${part}`) ?? []).map(({ labels: { le, ...labels }, value }) => ({
          metricName: `${latencyName}_${part}`,
          labels: { ...(le === undefined ? {} : { le }), ...labels, workspace },
          value,
        })),
      );
      if (values.length > 0)
        former.push([{ name: latencyName, help, type: "histogram", aggregator: "sum", values }]);
    },
    text: async () => {
      if (former.length === 0) return registry.metrics();
      return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...former]).metrics();
    },
  };
}

/**
 * Metrics of this process (memory, processor time, descriptors) under the names that Prometheus has for them. Apart from
 * the others: in a textfile they would be taken for those of the collector.
 */
export function makeProcessMetrics(): () => Promise<string> {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return () => register.metrics();
}

/** Of what the bound had allowed for as long as the run took, a window at the least. */
function shareOf(
  { totals, refreshCalls = 0, ms }: ReconcileResult,
  { limit, windowMs }: ReconcileBasis["rate"],
): number {
  const calls = (totals?.calls ?? 0) + refreshCalls;
  return limit === 0 ? 0 : (calls * windowMs) / (limit * Math.max(ms, windowMs));
}

/** A sample in a metrics file. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The samples of a workspace that an earlier process wrote, by metric, without the workspace label. Reads the text format of
 * Prometheus and skips other lines.
 */
function readSamples(text: string, workspace: string): ReadonlyMap<string, readonly Sample[]> {
  const found = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name = "", inner = "", number = ""] = /^(\w+)(?:\{(.*)\})? (\d+(?:\.\d+)?)$/.exec(line) ?? [];
    const { workspace: of, ...labels } = labelsOf(inner);
    if (name === "" || of !== workspace) continue;
    append(found, name, { labels, value: Number(number) });
  }
  return found;
}

/** No label of draftsync contains a quotation mark or a backslash. */
function labelsOf(inner: string): Readonly<Record<string, string>> {
  const pairs = [...inner.matchAll(/(\w+)="([^"\\]*)"/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}
