import type { LogEntry } from "../model/log.ts";
import type { Palette, Tone } from "../report/palette.ts";
import { formatMilliseconds, formatSeconds, plural } from "../report/quantities.ts";
import type { EndedRun } from "./fleet-store.ts";
import {
  type FleetStatus,
  type FleetView,
  fleetStatuses,
  isBad,
  type RunStatus,
  type RunView,
  summaryOf,
  type WorkspaceView,
} from "./fleet-view.ts";

/** The status of a workspace or a run in words: `new ledger`. */
export function statusWords(status: FleetStatus | RunStatus): string {
  return status.replaceAll("_", " ");
}

const tones: Readonly<Record<FleetStatus, Tone>> = {
  in_doubt: "error",
  failing: "error",
  behind: "warning",
  never_run: "info",
  ok: "added",
  paused: "muted",
};

/** Statuses of a run that the status of its workspace does not show. */
const hiddenStatuses: readonly RunStatus[] = ["new_ledger", "refused", "interrupted", "locked", "stalled"];

/** What a run did, with its status if the workspace does not show it: `new ledger: 1 excluded`. */
export function summaryWithStatus({ status, summary }: RunView): string {
  return hiddenStatuses.includes(status) ? `${statusWords(status)}: ${summary}` : summary;
}

/** `12 workspaces: 1 failing, 11 ok; 2 workers`. */
function formatCounts({ counts, workspaces, workers }: FleetView): string {
  const parts = fleetStatuses.flatMap((status) => {
    const count = counts[status] ?? 0;
    return count === 0 ? [] : [`${count} ${statusWords(status)}`];
  });
  const total = plural(workspaces.length, "workspace");
  const said = workers.length === 0 ? "no worker is running" : plural(workers.length, "worker");
  return `${parts.length === 0 ? total : `${total}: ${parts.join(", ")}`}; ${said}`;
}

/** The counts, and a line for each workspace in `shown`. */
export function formatFleet(view: FleetView, shown: readonly WorkspaceView[], paint: Palette): string {
  const width = shown.reduce((most, { name }) => Math.max(most, name.length), 0);
  const lines = shown.map((each) => {
    const word = paint(tones[each.status], statusWords(each.status).padEnd(9));
    return `${word}  ${each.name.padEnd(width)}  ${describe(each, Date.parse(view.at))}\n`;
  });
  return `${formatCounts(view)}\n${lines.length > 0 ? "\n" : ""}${lines.join("")}`;
}

/** The rest of the line of a workspace. */
function describe(view: WorkspaceView, now: number): string {
  const { last_run: run, running_on, due_at, late_ms, failures, last_success_at } = view;
  const parts = [
    run === undefined ? undefined : `${summaryWithStatus(run)}, ${ago(run.ended_at, now)}`,
    run?.error === undefined || run.summary === run.error.message ? undefined : run.error.message,
    failures > 1 ? `${failures} failures in a row` : undefined,
    failures > 0 && last_success_at !== undefined ? `last success ${ago(last_success_at, now)}` : undefined,
    running_on === undefined ? undefined : `running on ${running_on}`,
    late_ms !== undefined && late_ms > 1_000 ? `due for ${formatSeconds(late_ms / 1000)}` : undefined,
    due_at === undefined || late_ms !== undefined || running_on !== undefined
      ? undefined
      : `next in ${formatSeconds((Date.parse(due_at) - now) / 1000)}`,
  ];
  return parts.filter((part) => part !== undefined).join("; ");
}

function ago(time: string, now: number): string {
  return `${formatSeconds(Math.max(0, now - Date.parse(time)) / 1000)} ago`;
}

/** One workspace with its last runs, the newest first. */
export function formatWorkspace(
  view: WorkspaceView,
  { runs, now, paint }: { runs: readonly RunView[]; now: number; paint: Palette },
): string {
  const { name, status, config, every_ms, key, last_run } = view;
  const facts = [
    `config ${config}`,
    `every ${formatSeconds(every_ms / 1000)}`,
    ...(key === undefined ? [] : [`key ${key}`]),
    describe(view, now),
  ];
  const head = `${paint("strong", name)}  ${paint(tones[status], statusWords(status))}\n${facts
    .filter((fact) => fact !== "")
    .map((fact) => `  ${fact}\n`)
    .join("")}`;
  const advice = last_run?.error?.hint ?? adviceOf(last_run?.status, config);
  const hint = advice === undefined ? "" : `  ${paint("info", "hint:")} ${advice}\n`;
  const lines = runs.map(
    ({ started_at, ended_at, status: how, summary, worker, run_id }) =>
      `${started_at.slice(0, 19).replace("T", " ")} UTC  ${statusWords(how).padEnd(11)}  ${summary}, in ${formatMilliseconds(Date.parse(ended_at) - Date.parse(started_at))}, on ${worker}${run_id === undefined ? "" : `  ${run_id.slice(0, 8)}`}\n`,
  );
  const more = runs.find(({ run_id }) => run_id !== undefined);
  const command =
    more === undefined
      ? ""
      : `\nThe calls of the last run with a plan: draftsync history --config ${config} --run ${more.run_id?.slice(0, 8)}\n`;
  return `${head}${hint}${lines.length > 0 ? "\n" : ""}${lines.join("")}${command}`;
}

/** What an operator does about a run that ended without an error and waits for one. */
function adviceOf(status: RunStatus | undefined, config: string): string | undefined {
  if (status === "new_ledger")
    return `The ledger is new or restored: draftsync apply --config ${config} asks whether to publish.`;
  const waits = status === "refused" || status === "in_doubt";
  return waits
    ? `draftsync plan --config ${config} names the command that settles it; then \`draftsync fleet run\`.`
    : undefined;
}

/** The line that a worker logs of a run. */
export function describeRun(
  name: string,
  { ended, ms, inMs }: { ended: EndedRun; ms: number; inMs: number | undefined },
): LogEntry {
  const { status, error } = ended;
  const next = inMs === undefined ? "" : `; next in ${formatSeconds(inMs / 1000)}`;
  const why = error === null ? "" : `: ${error.message}`;
  const text = `${name}: ${statusWords(status)}, ${summaryOf(ended)}, in ${formatMilliseconds(ms)}${next}${why}\n`;
  const level = status === "in_doubt" ? "warning" : isBad(status) ? "error" : "info";
  return { level, text, code: error?.code ?? "fleet-run", facts: { workspace: name, status, ms } };
}
