import { formatPage, formatStamp, type PageAssets } from "../report/html/document.ts";
import { formatControls } from "../report/html/item-list.ts";
import type { Markup } from "../report/html/markup.ts";
import { html } from "../report/html/markup.ts";
import { formatSeconds, plural } from "../report/quantities.ts";
import { statusWords, summaryWithStatus } from "./fleet-text.ts";
import { type FleetView, fleetStatuses, type WorkspaceView } from "./fleet-view.ts";

/** Each status looks like a change or an outcome. */
const looks = {
  in_doubt: "in_doubt",
  failing: "rejected",
  behind: "update",
  never_run: "adopt",
  ok: "create",
  paused: "noop",
} as const;

/** The status of a fleet as one HTML page. With `runPath`, each name leads to the record of the workspace's last run. */
export function formatFleetPage(
  { at, counts, workspaces, workers }: FleetView,
  assets: PageAssets,
  runPath?: (name: string) => string,
): string {
  const now = Date.parse(at);
  const options = fleetStatuses.flatMap((status) => {
    const count = counts[status] ?? 0;
    return count === 0 ? [] : [{ id: looks[status], label: statusWords(status), count }];
  });
  const columns = ["Status", "Workspace", "Last run", "Ended", "Last success", "Failures", "Next"];
  const head = columns.map((name) => html`<th scope="col"><button type="button">${name}</button></th>`);
  const main = html`<section id="list" aria-labelledby="list-title" tabindex="-1" data-noun="workspace">
<h2 id="list-title">Workspaces</h2>
${formatControls({ label: "Status", options }, undefined)}
<p id="shown" role="status">${plural(workspaces.length, "workspace")}</p>
<div class="wide" role="region" aria-label="Table, scrolls sideways" tabindex="0"><table class="fleet"><thead><tr>${head}</tr></thead><tbody>
${workspaces.map((each) => formatRow(each, { now, runPath }))}</tbody></table></div>
</section>`;
  const facts = [
    { name: "Workspaces", value: String(workspaces.length) },
    { name: "Workers", value: workers.length === 0 ? "none is running" : String(workers.length) },
    { name: "As of", value: formatStamp(now) },
  ];
  return formatPage({ title: "Fleet", facts, main }, assets);
}

function formatRow(
  view: WorkspaceView,
  { now, runPath }: { readonly now: number; readonly runPath: ((name: string) => string) | undefined },
): Markup {
  const { name, status, last_run: run, last_success_at, failures, in_doubt, due_at, running_on } = view;
  const look = looks[status];
  const cell = (sort: string | number, content: Markup | string) =>
    html`<td data-sort="${String(sort)}">${content}</td>`;
  const since = (time: string | undefined) =>
    time === undefined
      ? cell("", "never")
      : cell(
          Date.parse(time),
          html`<time datetime="${time}">${formatSeconds(Math.max(0, now - Date.parse(time)) / 1000)} ago</time>`,
        );
  const link =
    runPath === undefined || run?.run_id === undefined
      ? html`${name}`
      : html`<a href="${runPath(name)}">${name}</a>`;
  const said =
    run === undefined
      ? html``
      : html`${summaryWithStatus(run)}${run.error !== undefined && html`<span class="note">${run.error.message}</span>`}${run.error?.hint !== undefined && html`<span class="note">Hint: ${run.error.hint}</span>`}${in_doubt > 0 && html`<span class="note">${in_doubt} in doubt</span>`}`;
  const dueMs = due_at === undefined ? undefined : Date.parse(due_at) - now;
  const next =
    running_on !== undefined
      ? `running on ${running_on}`
      : dueMs === undefined
        ? "paused"
        : dueMs > 0
          ? `in ${formatSeconds(dueMs / 1000)}`
          : `due for ${formatSeconds(-dueMs / 1000)}`;
  return html`<tr class="item" data-facet="${look}" data-draft="${name}">${cell(fleetStatuses.indexOf(status), html`<span class="badge f-${look}">${statusWords(status)}</span>`)}<th scope="row" data-sort="${name}">${link}</th>${cell(run?.summary ?? "", said)}${since(run?.ended_at)}${since(last_success_at)}${cell(failures, String(failures))}${cell(dueMs ?? "", next)}</tr>
`;
}
