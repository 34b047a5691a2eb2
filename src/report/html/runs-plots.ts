import { scaleLinear } from "d3-scale";
import { operationKinds } from "../../model/recorded.ts";
import { formatCount, plural } from "../quantities.ts";
import { formatStamp } from "./blocks.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { formatAxes, formatPlot, hatchOf, hatchPatterns, n, plotSize } from "./plot.ts";
import type { RunChanges } from "./run-figures.ts";

const { width, height, left, right, top, bottom } = plotSize;
const base = height - bottom;

/** Where the bar of each run stands. */
function barsOf(runs: readonly RunChanges[]) {
  const step = (width - left - right) / runs.length;
  const thickness = Math.min(48, Math.max(1, step * 0.7));
  return runs.map((_run, at) => ({
    x: n(left + step * (at + 0.5) - thickness / 2),
    thickness: n(thickness),
    middle: left + step * (at + 0.5),
  }));
}

function axesOf(runs: readonly RunChanges[], most: number, label: string) {
  const y = scaleLinear([0, Math.max(1, most) * 1.08], [base, top]);
  const bars = barsOf(runs);
  const every = Math.ceil(runs.length / 8);
  // Runs of one day may be seconds apart.
  const days = new Set(runs.map(({ run }) => run.started_at.slice(0, 10)));
  const [day] = days.size === 1 ? days : [];
  const timeOf = (iso: string) =>
    day === undefined ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, 19);
  const dates = runs.flatMap(({ run }, at) => {
    const { middle } = bars[at] ?? { middle: left };
    return at % every === 0 ? [{ at: middle, text: timeOf(run.started_at) }] : [];
  });
  const ticks = y
    .ticks(5)
    .filter(Number.isInteger)
    .map((at) => ({ at: y(at), text: formatCount(at) }));
  const axes = formatAxes({
    x: {
      label: `run started, ${day === undefined ? "month-day and time (UTC)" : `time (UTC) on ${day}`}`,
      ticks: dates,
    },
    y: { label, ticks },
  });
  return { y, bars, axes };
}

const nameOf = ({ run }: RunChanges) => `${formatStamp(Date.parse(run.started_at))} ${run.command}`;

/** What each run changed, by kind of call; nothing when none changed anything. */
export function plotChanges(runs: readonly RunChanges[]): Markup | undefined {
  const sums = runs.map(({ done }) => done.reduce((sum, count) => sum + count, 0));
  if (Math.max(...sums) === 0) return undefined;
  const { y, bars, axes } = axesOf(runs, Math.max(...sums), "calls done");
  const marks = runs.map(({ done }, at) => {
    const { x, thickness } = bars[at] ?? { x: 0, thickness: 1 };
    let below = 0;
    return done.map((count, kind) => {
      if (count === 0) return undefined;
      const [from, to] = [y(below), y(below + count)];
      below += count;
      const place = html`x="${x}" y="${n(to)}" width="${thickness}" height="${n(from - to)}"`;
      return html`<rect class="mark s${kind}" ${place}></rect><rect fill="${hatchOf(kind)}" ${place}><title>${`${operationKinds[kind] ?? ""}: ${count}`}</title></rect>`;
    });
  });
  return formatPlot({
    id: "changes",
    title: "Changes by run",
    caption:
      "Writing calls that were done, by what they do. Runs that the ledger has forgotten (rounds of reconcile that sent nothing, after a week) are not there.",
    description: `${plural(
      sums.reduce((sum, count) => sum + count, 0),
      "call",
    )} done in ${plural(runs.length, "run")}; at most ${Math.max(...sums)} in one.`,
    drawing: html`${hatchPatterns}${axes}${marks}`,
    legend: operationKinds.flatMap((name, kind) =>
      runs.some(({ done }) => (done[kind] ?? 0) > 0)
        ? [{ name, mark: `s${kind}`, hatch: hatchOf(kind) }]
        : [],
    ),
    table: { head: ["Run", ...operationKinds], rows: runs.map((run) => [nameOf(run), ...run.done]) },
  });
}

/** What each run found to be otherwise than recorded; nothing when no run looked. */
export function plotDrift(runs: readonly RunChanges[]): Markup | undefined {
  const looked = runs.filter(({ drift }) => drift !== undefined);
  if (looked.length === 0) return undefined;
  const most = Math.max(...looked.map(({ drift = 0 }) => drift));
  const { y, bars, axes } = axesOf(runs, most, "things");
  const marks = runs.map(({ drift }, at) => {
    const { x, thickness, middle } = bars[at] ?? { x: 0, thickness: 1, middle: 0 };
    if (drift === undefined) return undefined;
    if (drift === 0) return html`<circle class="mark s1" cx="${n(middle)}" cy="${base}" r="3"></circle>`;
    return html`<rect class="mark s1" x="${x}" y="${n(y(drift))}" width="${thickness}" height="${n(base - y(drift))}"></rect>`;
  });
  return formatPlot({
    id: "drift-by-run",
    title: "Drift by run",
    caption:
      "Resources that changed outside draftsync. A dot is a run that checked and found none; a run without a mark did not check.",
    description: `${plural(looked.length, "run")} checked, and found at most ${plural(most, "changed resource")}.`,
    drawing: html`${axes}${marks}`,
    table: { head: ["Run", "Drift"], rows: runs.map((run) => [nameOf(run), run.drift ?? "not looked"]) },
  });
}
