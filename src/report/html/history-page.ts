import { callFacts, describeSettled, describeStarter, endOfRun, outcomeWord } from "../history-text.ts";
import type { HistoryOperation, HistoryRun } from "../history-view.ts";
import { formatCount } from "../quantities.ts";
import { formatStamp } from "./blocks.ts";
import type { PageAssets } from "./document.ts";
import { formatPage } from "./document.ts";
import type { RateBound, RunSpan } from "./history-plots.ts";
import { plotChanges, plotDrift, plotLatency, plotOperations, plotRate } from "./history-plots.ts";
import type { Item } from "./item-list.ts";
import { draftOf, formatItemList } from "./item-list.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { callOutcomes, countOutcomes, formatRunEnding, formatRunEndings } from "./run-ending.ts";
import { countRuns } from "./run-figures.ts";

/** What a page of the history is made of. */
export interface HistoryPageInput {
  readonly workspace: string;
  /** Oldest first. One run has a page of its own kind. */
  readonly runs: readonly HistoryRun[];
  readonly bound: RateBound;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Runs as one HTML page: of one, how it went; of several, how they compare. */
export function formatHistoryPage(
  { workspace, runs, bound, now }: HistoryPageInput,
  assets: PageAssets,
): string {
  const [only] = runs.length === 1 ? runs : [];
  const facts = [
    { name: "Workspace", value: workspace },
    ...(only === undefined ? [{ name: "Runs", value: formatCount(runs.length) }] : factsOf(only)),
    { name: "As of", value: formatStamp(now) },
  ];
  const operations = runs.flatMap((run) => run.operations);
  const plots = only === undefined ? plotsOfRuns(runs) : plotsOfRun(only, bound);
  const ending = only === undefined ? formatRunEndings(runs) : formatRunEnding(only);
  const main = html`<section aria-labelledby="sum"><h2 id="sum">Result</h2>${ending}</section>
${only === undefined && runs.length > 0 && formatRuns(runs)}
${operations.length > 0 && formatCalls(runs)}
${runs.length > 0 && html`<section aria-labelledby="plots"><h2 id="plots">${only === undefined ? "Trends" : "Timeline"}</h2><div class="plots">${plots}</div></section>`}
${formatLimits()}`;
  const title =
    only === undefined
      ? `History: ${workspace}`
      : `Run: ${only.command}, ${formatStamp(Date.parse(only.started_at))}`;
  return formatPage({ title, facts, main }, assets);
}

function factsOf(run: HistoryRun) {
  return [
    { name: "Run", value: run.run_id },
    ...(run.plan_id === undefined ? [] : [{ name: "Plan", value: run.plan_id.slice(0, 16) }]),
    ...(run.started_by === undefined ? [] : [{ name: "Started", value: describeStarter(run.started_by) }]),
    { name: "Ended", value: endOfRun(run) },
  ];
}

function plotsOfRun(run: HistoryRun, bound: RateBound): readonly (Markup | undefined)[] {
  const { operations } = run;
  if (operations.length === 0) return [];
  const start = Date.parse(run.started_at);
  const ends = operations.map(({ started_at, finished_at = started_at }) => Date.parse(finished_at));
  const end = ends.reduce(
    (latest, at) => Math.max(latest, at),
    Date.parse(run.finished_at ?? run.started_at),
  );
  const span: RunSpan = { operations, start, end };
  return [plotRate(span, bound), plotLatency(operations), plotOperations(span)];
}

function plotsOfRuns(runs: readonly HistoryRun[]): readonly (Markup | undefined)[] {
  if (runs.length === 0) return [];
  const counts = countRuns(runs);
  return [plotChanges(counts), plotDrift(counts), plotLatency(runs.flatMap(({ operations }) => operations))];
}

/** What a reader might look for and cannot find. */
function formatLimits(): Markup {
  return html`<section class="callout" aria-labelledby="limits"><h2 id="limits">Not recorded</h2><p>It keeps every writing call with its beginning and its outcome. Reads, probes, polls and the transfer of bytes to storage are not kept, and of a call that was retried, not when each attempt left.</p></section>`;
}

/** A line for each run, in the order of the history. */
function formatRuns(runs: readonly HistoryRun[]): Markup {
  const rows = runs.map(
    (run) =>
      html`<tr><td>${formatStamp(Date.parse(run.started_at))}</td><td>${run.command}</td><td>${run.started_by === undefined ? "" : describeStarter(run.started_by).replace(/^by /, "")}</td><td>${endOfRun(run)}</td></tr>`,
  );
  return html`<section aria-labelledby="runs"><h2 id="runs">Runs</h2><table class="runs"><thead><tr><th scope="col">Started</th><th scope="col">Command</th><th scope="col">By</th><th scope="col">Result</th></tr></thead><tbody>${rows}</tbody></table></section>`;
}

function formatCalls(runs: readonly HistoryRun[]): Markup {
  return formatItemList({
    title: "Calls",
    noun: "call",
    facets: { label: "Outcomes", options: countOutcomes(runs.flatMap(({ operations }) => operations)) },
    groups: runs
      .filter(({ operations }) => operations.length > 0)
      .map((run) => ({
        heading: `${formatStamp(Date.parse(run.started_at))} ${run.command}${run.started_by === undefined ? "" : ` ${describeStarter(run.started_by)}`}`,
        note: endOfRun(run),
        items: run.operations.map(itemOf),
      })),
  });
}

function itemOf(operation: HistoryOperation): Item {
  const { address, title, kind, method, path, outcome, started_at } = operation;
  const facts = [started_at.slice(11, 19), ...callFacts(operation)].join(", ");
  const facet = callOutcomes.find((known) => known === outcome) ?? "unknown";
  return {
    facet,
    draft: draftOf(address),
    head: html`<span class="badge f-${facet}">${outcomeWord(operation)}</span> <span class="kind">${kind}</span> <code title="${address}">${address}</code>${title !== undefined && html` ${title}`} <span class="note">${facts}</span>`,
    body: html`<p><code>${`${method} ${path}`}</code></p>${formatEnd(operation)}`,
  };
}

function formatEnd({ failure, settled }: HistoryOperation): Markup {
  return html`${failure !== undefined && html`<p>${failure.message} <span class="note">[${failure.code}]</span></p>`}${settled !== undefined && html`<p>${describeSettled(settled)}, ${formatStamp(Date.parse(settled.at))}</p>`}`;
}
