import { append } from "../../model/lists.ts";
import { type DriftEntry, type DriftReport, describeLastCall } from "../drift-report.ts";
import { type DriftView, viewDrift, viewRefresh } from "../drift-view.ts";
import { plural } from "../quantities.ts";
import { formatPage, formatStamp, type PageAssets } from "./document.ts";
import { draftOf, formatItemList, type Item } from "./item-list.ts";
import { html } from "./markup.ts";
import { formatValues } from "./value-markup.ts";

/** By type: the color of the badge, which the list is filtered by, and its word. */
const kinds = {
  changed: { facet: "update", word: "changed" },
  gone: { facet: "delete", word: "gone" },
  product_gone: { facet: "delete", word: "gone" },
  found: { facet: "create", word: "found" },
} as const satisfies Record<DriftView["type"], { readonly facet: string; readonly word: string }>;

/** A drift report as one HTML page, by draft. `now`: epoch milliseconds. */
export function formatDriftPage(report: DriftReport, now: number, assets: PageAssets): string {
  const { drift, refresh, service_origin: service, workspace } = report;
  const { checked, notChecked } = viewRefresh(refresh, now);
  const facts = [
    { name: "Workspace", value: workspace },
    { name: "Service", value: service },
    { name: "As of", value: formatStamp(now) },
  ];
  const head =
    drift.length === 0 ? "No drift." : `${plural(drift.length, "resource")} changed outside draftsync.`;
  const main = html`<section aria-labelledby="sum"><h2 id="sum">Result</h2><p>${head}</p><p>${[checked, ...notChecked].join(". ")}.</p></section>
${drift.length > 0 && formatItemList({ title: "Drift", noun: "resource", facets: facetsOf(drift), groups: groupsOf(drift, now) })}`;
  return formatPage({ title: `Drift: ${workspace}`, facts, main }, assets);
}

function facetsOf(drift: readonly DriftEntry[]) {
  const found = Object.values(kinds).map(({ facet, word }) => ({
    id: facet,
    label: word,
    count: drift.filter(({ type }) => kinds[type].facet === facet).length,
  }));
  const distinct = new Map(found.map((option) => [option.id, option]));
  return { label: "Kinds", options: [...distinct.values()].filter(({ count }) => count > 0) };
}

function groupsOf(drift: readonly DriftEntry[], now: number) {
  const byDraft = new Map<string, DriftEntry[]>();
  for (const entry of drift) append(byDraft, draftOf(entry.address), entry);
  return [...byDraft].map(([heading, entries]) => {
    const title = entries.find((entry) => entry.title !== undefined)?.title;
    return { heading, title, note: "", items: entries.map((entry) => itemOf(entry, now)) };
  });
}

function itemOf(entry: DriftEntry, now: number): Item {
  const { address, declaredAt, evidence, note, type, values } = viewDrift(entry, now);
  const { facet, word } = kinds[type];
  return {
    facet,
    draft: draftOf(address),
    head: html`<span class="badge f-${facet}">${word}</span> <code title="${address}">${address}</code>${declaredAt !== undefined && html` <span class="note">${declaredAt}</span>`}`,
    body: html`<p>${note}; ${evidence}; ${describeLastCall(entry.last_call, now)}</p>${values.length > 0 && formatValues(values)}`,
  };
}
