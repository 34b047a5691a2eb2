import { causeOf } from "../../model/outcome.ts";
import { type FailureGroup, groupFailures, maxCauses, maxNamedAddresses } from "../failures.ts";
import {
  callFacts,
  describeSettled,
  describeStarter,
  endOfRun,
  outcomeWord,
  totalOf,
} from "../history-text.ts";
import type { HistoryOperation, HistoryRun } from "../history-view.ts";
import { formatCount, plural } from "../quantities.ts";
import type { PageAssets } from "./document.ts";
import { formatPage, formatStamp } from "./document.ts";
import type { RateBound, RunSpan } from "./history-plots.ts";
import {
  callOutcomes,
  knownOutcome,
  plotChanges,
  plotDrift,
  plotLatency,
  plotOperations,
  plotRate,
} from "./history-plots.ts";
import type { Item } from "./item-list.ts";
import { draftOf, formatItemList } from "./item-list.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

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
  return [plotChanges(runs), plotDrift(runs), plotLatency(runs.flatMap(({ operations }) => operations))];
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
  const { address, title, kind, method, path, started_at } = operation;
  const facts = [started_at.slice(11, 19), ...callFacts(operation)].join(", ");
  const facet = knownOutcome(operation);
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

/** A number of things that ended alike; `id` chooses the colour. */
export interface Ending {
  readonly id: string;
  readonly label: string;
  readonly count: number;
}

/** How many calls ended in which way; ways in which none did are left out. */
export function countOutcomes(operations: readonly HistoryOperation[]): readonly Ending[] {
  return callOutcomes.flatMap((id) => {
    const count = operations.filter(({ outcome }) => outcome === id).length;
    return count === 0 ? [] : [{ id, label: id.replaceAll("_", " "), count }];
  });
}

/**
 * The result of one run: its changes, what a reader has to know when it is not the whole plan, and its calls. A change may
 * take several calls, and one that never began has none, so both are counted.
 */
export function formatRunEnding(run: HistoryRun): Markup {
  const changes = changeEndings.flatMap(({ name, id, label }) => {
    const count = totalOf(run, name) ?? 0;
    return count === 0 ? [] : [{ id, label, count }];
  });
  const calls = countOutcomes(run.operations);
  const warning = warningOf(run);
  return html`${formatTiles(changes.length > 0 ? changes : calls)}${changes.length > 0 && formatCallCounts(calls)}${warning !== undefined && html`<p class="callout warning"><strong>${warning.what}</strong> ${warning.advice}</p>`}${formatCauses(run.operations)}`;
}

/** Why calls did not succeed: each cause once, with the number of its calls. */
function formatCauses(operations: readonly HistoryOperation[]): Markup | undefined {
  const failed = operations.flatMap(({ address, outcome, failure, method, path }) =>
    failure === undefined
      ? []
      : [{ address, outcome, failure: { ...failure, subject: `${method} ${path}` } }],
  );
  const groups = groupFailures(failed);
  if (groups.length === 0) return undefined;
  const others = groups.length - maxCauses;
  return html`<h3>Causes</h3><ul class="causes">${groups.slice(0, maxCauses).map(formatCause)}${others > 0 && html`<li>${`and ${plural(others, "other cause")}`}</li>`}</ul>`;
}

function formatCause({ isDoubt, failure, addresses }: FailureGroup): Markup {
  const more = addresses.length - maxNamedAddresses;
  const named = addresses
    .slice(0, maxNamedAddresses)
    .map((address, at) => html`${at > 0 && ", "}<code>${address}</code>`);
  const what = `${plural(addresses.length, "call")} ${isDoubt ? "without a certain outcome" : "failed"}`;
  return html`<li><strong>${causeOf(failure)}</strong> <span class="note">[${failure.code}]</span> ${what}: ${named}${more > 0 && ` and ${formatCount(more)} more`}</li>`;
}

/** The results of several runs, and of all their calls. */
export function formatRunEndings(runs: readonly HistoryRun[]): Markup {
  const words = runs.map(({ status, finished_at }) =>
    finished_at === undefined ? "cut off" : (status ?? "ended"),
  );
  const endings = [...new Set(words)].map((word) => ({
    id: word.replaceAll(" ", "_"),
    label: word.replaceAll("_", " "),
    count: words.filter((each) => each === word).length,
  }));
  const calls = countOutcomes(runs.flatMap(({ operations }) => operations));
  const tiles = endings.map((each) => ({
    ...each,
    label: `${each.count === 1 ? "run" : "runs"} ${each.label}`,
  }));
  return html`${formatTiles(tiles)}${formatCallCounts(calls)}`;
}

/** What a run reports of its changes, worst last. */
const changeEndings = [
  { name: "done", id: "done", label: "done" },
  { name: "failed", id: "rejected", label: "failed" },
  { name: "in_doubt", id: "unknown", label: "in doubt" },
  { name: "skipped", id: "skipped", label: "skipped" },
  { name: "deferred", id: "deferred", label: "left for the next run" },
] as const;

const rest = "The next plan shows the changes that did not start.";
const warnings: ReadonlyMap<string, { readonly what: string; readonly advice: string }> = new Map([
  ["interrupted", { what: "It was interrupted.", advice: rest }],
  ["stopped", { what: "A failure stopped it.", advice: `The calls below say which. ${rest}` }],
  [
    "failed",
    {
      what: "Something failed.",
      advice: "The calls below show the cause. The next plan shows what is left.",
    },
  ],
  [
    "unchecked",
    { what: "Most of what was to be checked could not be read.", advice: "The next run tries again." },
  ],
  ["deferred", { what: "It stopped at its limit of calls or time.", advice: "The next run continues." }],
  [
    "in_doubt",
    {
      what: "Something is in doubt.",
      advice: "The next plan shows it with a ?, and says who can settle it.",
    },
  ],
]);

function warningOf({ finished_at, status = "", operations }: HistoryRun) {
  const lost = operations.filter(({ outcome }) => outcome === "unknown");
  if (status === "in_doubt" && lost.length > 0 && lost.every(({ settled }) => settled !== undefined))
    return { what: "Something was in doubt.", advice: "It is settled since: the calls below show how." };
  if (finished_at !== undefined) return warnings.get(status);
  return {
    what: "It was cut off, or is under way.",
    advice: "A call without an outcome is in doubt until another run has settled it.",
  };
}

function formatTiles(endings: readonly Ending[]): Markup {
  const tiles = endings.map(
    ({ id, label, count }) => html`<li class="tile f-${id}"><b>${formatCount(count)}</b> ${label}</li>`,
  );
  return html`<ul class="tiles">${tiles.length === 0 ? html`<li class="tile">No writing calls.</li>` : tiles}</ul>`;
}

function formatCallCounts(calls: readonly Ending[]): Markup | undefined {
  if (calls.length === 0) return undefined;
  const all = calls.reduce((sum, { count }) => sum + count, 0);
  const parts = calls.map(({ label, count }) => `${formatCount(count)} ${label}`).join(", ");
  return html`<p class="note">${`${plural(all, "writing call")}: ${parts}.`}</p>`;
}
