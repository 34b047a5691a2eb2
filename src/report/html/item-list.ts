import { draftIdOf } from "../../model/address.ts";
import { formatCount, plural } from "../quantities.ts";
import type { Markup } from "./markup.ts";
import { dataBlock, html } from "./markup.ts";

/** A list that can be searched and filtered. */
export interface ItemList {
  readonly title: string;
  /** Of one item: `change`. */
  readonly noun: string;
  readonly facets: FacetFilter;
  readonly groups: readonly ItemGroup[];
}

/** What items are filtered by, beside their draft. */
export interface FacetFilter {
  /** `Actions` */
  readonly label: string;
  readonly options: readonly { readonly id: string; readonly label: string; readonly count: number }[];
}

/** Items below one heading. */
export interface ItemGroup {
  readonly heading: string;
  /** What people call the draft that the heading names. */
  readonly title?: string | undefined;
  /** Beside the heading. */
  readonly note: string | Markup;
  readonly items: readonly Item[];
}

/** One entry. */
export interface Item {
  /** One of the ids of the list's facets. */
  readonly facet: string;
  /** What the filter by draft goes by. */
  readonly draft: string;
  readonly head: Markup;
  /** Shown when the entry is opened; an entry without one cannot be. */
  readonly body?: Markup | undefined;
}

/** Lists up to this long are open from the start. */
const maxOpen = 40;
/**
 * Past this many items the bodies are kept as data, and the script puts them in when an entry is opened: to build the
 * elements of 20,000 folded entries takes a browser seconds.
 */
const maxWhole = 1_000;

/** The list with its controls, which show once the page's script has taken them over. */
export function formatItemList({ title, noun, facets, groups }: ItemList): Markup {
  const items = groups.flatMap((group) => group.items);
  const isLazy = items.length > maxWhole;
  const isOpen = items.length <= maxOpen;
  const bodies: string[] = [];
  const formatItem = ({ facet, draft, head, body }: Item) => {
    const isLate = isLazy && body !== undefined;
    if (isLate) bodies.push(body.toString());
    const late = isLate && html` data-body="${bodies.length - 1}"`;
    const whole =
      isLate || body === undefined
        ? head
        : html`<details${isOpen && open}><summary>${head}</summary><div class="body">${body}</div></details>`;
    return html`<div class="item" data-facet="${facet}" data-draft="${draft}"${late}>${whole}</div>`;
  };
  const sections = groups.map(
    ({ heading, title, note, items: own }) =>
      html`<section class="group"><h3>${title !== undefined && html`${title} `}<code>${heading}</code><span class="note">${note}</span></h3>${own.map(formatItem)}</section>`,
  );
  const titles = new Map(groups.map(({ heading, title }) => [heading, title]));
  const drafts = [...new Set(items.map(({ draft }) => draft))].map((address) => ({
    address,
    name: titles.get(address) === undefined ? address : `${titles.get(address)} (${address})`,
  }));
  return html`<section id="list" aria-labelledby="list-title" tabindex="-1" data-noun="${noun}">
<h2 id="list-title">${title}</h2>
${formatControls(facets, drafts)}
<p id="shown" role="status">${plural(items.length, noun)}</p>
${isLazy && html`<noscript><p class="callout">Values are shown with JavaScript only: there are too many for one page.</p></noscript>`}
${sections}
</section>
${isLazy && dataBlock("bodies", bodies)}`;
}

const open = html` open`;

/** What the filter by draft goes by: the draft, or the first part of an address that has none. */
export function draftOf(address: string): string {
  const draftId = draftIdOf(address);
  return draftId === undefined ? (address.split("/")[0] ?? "") : `drafts/${draftId}`;
}

/** An entry of the filter by draft. */
interface NamedDraft {
  readonly address: string;
  readonly name: string;
}

/** Search and filters; without drafts, neither a choice of them nor what opens entries. */
export function formatControls(
  { label, options }: FacetFilter,
  drafts: readonly NamedDraft[] | undefined,
): Markup {
  const buttons = options.map(
    ({ id, label: name, count }) =>
      html`<button type="button" class="chip f-${id}" data-facet="${id}" aria-pressed="false">${name} <span class="count">${formatCount(count)}</span></button>`,
  );
  const choices = drafts?.map(({ address, name }) => html`<option value="${address}">${name}</option>`);
  const select =
    drafts !== undefined &&
    html`<select id="draft" aria-label="Draft"><option value="">all drafts (${formatCount(drafts.length)})</option>${choices}</select>
`;
  const openers =
    drafts !== undefined &&
    html`<button type="button" id="open-all">Open all</button><button type="button" id="close-all">Close all</button>`;
  return html`<div id="controls" role="search" hidden>
<input type="search" id="search" aria-label="Search" autocomplete="off" spellcheck="false" placeholder="${drafts === undefined ? "name or text  ( / )" : "address or text  ( / )"}">
${select}<div class="chips" role="group" aria-label="${label}">${buttons}</div>
${openers}<button type="button" id="clear">Clear filters</button>
</div>`;
}
