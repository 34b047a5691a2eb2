import type { Diagnostic } from "../../model/diagnostic.ts";
import type { ChangeView } from "../change-view.ts";
import type { DriftView } from "../drift-view.ts";
import type { CountView, GroupView, PlanView } from "../plan-view.ts";
import { formatCount, plural } from "../quantities.ts";
import type { PageAssets } from "./document.ts";
import { formatDiagnostics, formatPage, formatStamp } from "./document.ts";
import type { Item, ItemGroup } from "./item-list.ts";
import { formatItemList } from "./item-list.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { formatInline, formatValues } from "./value-markup.ts";

/** A local picture of a change: its bytes as a `data:` URL, or why it is not shown. */
export type Thumbnail = { readonly dataUrl: string } | { readonly missing: string };

/** The pictures of a change: the one that goes, where it is known, and the one that comes. */
export interface Thumbnails {
  readonly before: Thumbnail | undefined;
  readonly after: Thumbnail | undefined;
}

/** What a plan's page is made of. */
export interface PlanPageInput {
  readonly view: PlanView;
  readonly planId: string;
  /** Now, for ages; epoch milliseconds. */
  readonly now: number;
  /** Pictures by the address of their change. */
  readonly thumbnails: ReadonlyMap<string, Thumbnails>;
  /** The page of the workspace's folder in the repository, for links to manifests. */
  readonly sourceUrl?: string | undefined;
  /** Why apply will refuse the plan. */
  readonly refusals?: readonly Diagnostic[];
}

/** A plan as one HTML page. */
export function formatPlanPage(
  { view, planId, now, thumbnails, sourceUrl, refusals = [] }: PlanPageInput,
  assets: PageAssets,
): string {
  const facts = [
    { name: "Workspace", value: view.workspace },
    { name: "Service", value: view.serviceOrigin },
    { name: "Plan", value: planId.slice(0, 16) },
    { name: "As of", value: formatStamp(now) },
  ];
  const main = html`${formatNewLedger(view.newLedger)}${formatRemoved(view.removed)}
${formatIrreversible(view)}
${formatSummary(view)}
${formatDoubts(view)}
${formatDiagnostics(refusals, { id: "refused", title: "Apply will refuse this plan" })}${formatDiagnostics(view.diagnostics, { id: "notes", title: "Notes" })}
${formatDrift(view.drift)}
${view.groups.length > 0 && formatChanges(view, { thumbnails, sourceUrl })}`;
  return formatPage({ title: `Plan: ${view.workspace}`, facts, main }, assets);
}

function formatNewLedger(view: PlanView["newLedger"]): Markup | undefined {
  if (view === undefined) return undefined;
  return html`<section class="callout warning" aria-labelledby="new-ledger"><h2 id="new-ledger">${view.headline}</h2><p>${view.effect}: <code>${view.command}</code></p></section>
`;
}

function formatRemoved(removed: PlanView["removed"]): Markup | undefined {
  if (removed === undefined) return undefined;
  return html`<section class="callout warning" aria-labelledby="removed"><h2 id="removed">${removed.headline}</h2><ul>${removed.drafts.map((draft) => html`<li>${formatName(draft)} (${draft.files})</li>`)}</ul><p>${removed.effect}. To keep them: <code>${removed.command}</code></p></section>`;
}

function formatSummary(view: PlanView): Markup {
  const { counts, unchanged, cost, refresh, unmanaged, diagnostics } = view;
  const tile = ({ action, count, text }: CountView) =>
    html`<li class="tile f-${action}"><b>${formatCount(count)}</b> ${text.slice(formatCount(count).length + 1)}</li>`;
  const isBroken = diagnostics.some(({ severity }) => severity === "error");
  const tiles =
    counts.length === 0 && !isBroken ? html`<li class="tile"><b>No changes</b></li>` : counts.map(tile);
  return html`<section aria-labelledby="sum"><h2 id="sum">Summary</h2>
<ul class="tiles">${tiles}${unchanged > 0 && html`<li class="tile f-noop"><b>${formatCount(unchanged)}</b> unchanged</li>`}</ul>
${counts.length > 0 && html`<p><strong>Cost:</strong> ${cost === undefined ? "no calls." : `${cost.calls}, ${cost.time} at ${cost.rate} (up to ${cost.upTo} with retries and slow uploads).`}</p>`}
${formatCommon(view.common)}${unmanaged !== undefined && html`<p><strong>Not managed:</strong> ${unmanaged.files} in <code>${unmanaged.list}</code>${unmanaged.rest}.</p>`}
${refresh !== undefined && html`<p>${[refresh.checked, ...refresh.notChecked].join(". ")}.</p>`}
</section>`;
}

function formatCommon({ repeated, others }: PlanView["common"]): Markup | undefined {
  if (repeated.length === 0) return undefined;
  const same = repeated.map(({ value, files }) => html`<li>${formatInline([value])} in ${files}</li>`);
  const exceptions = others.map(
    ({ value, ...named }) => html`<li>${formatName(named)} ${formatInline([value])}</li>`,
  );
  return html`<p><strong>The same change in many files:</strong></p><ul>${same}</ul>${others.length > 0 && html`<p><strong>Other changes of such values:</strong></p><ul>${exceptions}</ul>`}`;
}

/** The title of a draft, and the address. */
function formatName({
  address,
  title,
}: {
  readonly address: string;
  readonly title?: string | undefined;
}): Markup {
  return html`${title !== undefined && html`<b>${title}</b> `}<code>${address}</code>`;
}

function formatIrreversible({ irreversible }: PlanView): Markup | undefined {
  if (irreversible.length === 0) return undefined;
  return html`<section class="callout final" aria-labelledby="final"><h2 id="final">Cannot be undone</h2><ul>${irreversible.map((each) => html`<li>${formatName(each)} ${each.does}</li>`)}</ul></section>`;
}

function formatDoubts({ doubts }: PlanView): Markup | undefined {
  if (doubts.length === 0) return undefined;
  return html`<section class="callout warning" aria-labelledby="doubt"><h2 id="doubt">In doubt</h2><ul>${doubts.map((each) => html`<li>${formatName(each)} ${each.ending}</li>`)}</ul></section>`;
}

function formatDrift(drift: readonly DriftView[]): Markup | undefined {
  if (drift.length === 0) return undefined;
  const rows = drift.map(
    ({ symbol, note, evidence, values, ...named }) =>
      html`<li><span class="symbol">${symbol}</span> ${formatName(named)} <span class="note">${note}; ${evidence}</span>${values.length > 0 && formatValues(values)}</li>`,
  );
  return html`<section class="callout drift" aria-labelledby="drift"><h2 id="drift">Drift</h2><details open><summary>${plural(drift.length, "resource")} changed outside draftsync</summary><ul>${rows}</ul></details></section>`;
}

type Sources = Pick<PlanPageInput, "thumbnails" | "sourceUrl">;

function formatChanges(view: PlanView, sources: Sources): Markup {
  return formatItemList({
    title: "Changes",
    noun: "change",
    facets: {
      label: "Actions",
      options: view.counts.map(({ action, count }) => ({ id: action, label: wordOf(action), count })),
    },
    groups: view.groups.map((group) => groupOf(group, sources)),
  });
}

function groupOf(group: GroupView, { thumbnails, sourceUrl }: Sources): ItemGroup {
  const { address: draft, title, declaredAt, changes } = group;
  const items = changes.map((change): Item => {
    const address = change.label === "" ? draft : `${draft}/${change.label}`;
    const inline = formatInline(change.values);
    const body = bodyOf(inline === undefined ? change.values : [], thumbnails.get(address));
    return {
      facet: change.action,
      draft,
      head: headOf(change, { address, inline }),
      body,
    };
  });
  const note = html`${declaredAt !== undefined && html`${linkTo(declaredAt, sourceUrl)} · `}${plural(changes.length, "change")}`;
  return { heading: draft, title, note, items };
}

/** A line of a manifest, such as `manifests/dragon.yaml:5`. */
function linkTo(declaredAt: string, sourceUrl: string | undefined): Markup {
  const [, file, line] = /^(.*):(\d+)$/.exec(declaredAt) ?? [];
  if (sourceUrl === undefined || file === undefined) return html`${declaredAt}`;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return html`<a href="${sourceUrl}/${path}#L${line}">${declaredAt}</a>`;
}

function headOf(
  { action, symbol, note, label, blocked }: ChangeView,
  { address, inline }: { readonly address: string; readonly inline: Markup | undefined },
): Markup {
  return html`<span class="badge f-${action}"><span class="symbol" aria-hidden="true">${symbol}</span> ${wordOf(action)}</span> <code title="${address}">${label === "" ? "protection" : label}</code>${blocked && html` <span class="note">blocked</span>`}${inline}${note !== "" && html` <span class="note">${note}</span>`}`;
}

function bodyOf(values: ChangeView["values"], thumbnails: Thumbnails | undefined): Markup | undefined {
  if (values.length === 0 && thumbnails === undefined) return undefined;
  return html`${thumbnails !== undefined && formatThumbnails(thumbnails)}${values.length > 0 && formatValues(values)}`;
}

function formatThumbnails({ before, after }: Thumbnails): Markup {
  const former = before && formatThumbnail(before, "The picture that is attached now");
  const next = after && formatThumbnail(after, "The picture as it will be attached");
  if (former === undefined || next === undefined) return html`${former}${next}`;
  return html`<div class="pictures"><div><p class="note">Before</p>${former}</div><div><p class="note">After</p>${next}</div></div>`;
}

function formatThumbnail(thumbnail: Thumbnail, alt: string): Markup {
  if ("missing" in thumbnail) return html`<p class="note">Picture not shown: ${thumbnail.missing}.</p>`;
  return html`<img class="thumbnail" alt="${alt}" loading="lazy" decoding="async" src="${thumbnail.dataUrl}">`;
}

function wordOf(action: ChangeView["action"]): string {
  return action.replaceAll("_", " ");
}
