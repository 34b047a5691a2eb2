import { actionTable } from "../model/action.ts";
import { draftIdOf } from "../model/address.ts";
import type { Event } from "../model/event.ts";
import type { Palette } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { endOf } from "./progress-text.ts";
import { formatCount, formatMilliseconds } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

type Finished = Extract<Event, { type: "change_finished" }>;
type Ended = [Finished, ...Finished[]];

/**
 * Gathers the changes of each draft into one line, which is due when the last of them has ended:
 *
 * ```
 *   ~ drafts/48213 · Sea Serpent  3 attached, 1 updated, published as product 9000000004 (2.1 s)
 * ```
 */
export class FinishedDrafts {
  readonly #expected = new Map<number, number>();
  readonly #ended = new Map<number, Ended>();
  readonly #paint: Palette;

  /** `addresses`: of all changes that the run may make. */
  constructor(addresses: readonly string[], paint: Palette) {
    this.#paint = paint;
    for (const address of addresses) {
      const id = draftIdOf(address);
      if (id !== undefined) this.#expected.set(id, (this.#expected.get(id) ?? 0) + 1);
    }
  }

  /** Whether the change is one of several of its draft: then it has no line of its own. */
  gathers({ address }: Finished): boolean {
    return (this.#expected.get(draftIdOf(address) ?? -1) ?? 0) > 1;
  }

  /** A change that is gathered has ended. Returns the line of its draft, if it was the last and something was done. */
  take(event: Finished): string | undefined {
    const id = draftIdOf(event.address) ?? -1;
    const ended = this.#ended.get(id);
    if (ended === undefined) this.#ended.set(id, [event]);
    else ended.push(event);
    if (ended === undefined || ended.length < (this.#expected.get(id) ?? 0)) return undefined;
    this.#ended.delete(id);
    return this.#line(ended);
  }

  /** The lines of the drafts that the run has left before their last change. */
  rest(): readonly string[] {
    const left = [...this.#ended.values()];
    this.#ended.clear();
    return left.flatMap((ended) => this.#line(ended) ?? []);
  }

  /** Where nothing was done there is nothing to say: failures are shown by cause, and the rest is counted. */
  #line(ended: Ended): string | undefined {
    return ended.some(({ outcome }) => outcome === "done") ? formatDraft(ended, this.#paint) : undefined;
  }
}

function formatDraft(ended: Readonly<Ended>, paint: Palette): string {
  const counts = new Map<string, number>();
  for (const event of ended) counts.set(endOf(event), (counts.get(endOf(event)) ?? 0) + 1);
  const ends = [...counts].map(([end, count]) => (isSingle(end) ? end : `${formatCount(count)} ${end}`));
  const [{ address, title, action }] = ended;
  const sign = ended.every((event) => event.action === action) ? actionTable[action].sign : "~";
  const tone = ended.every(({ outcome }) => outcome === "done") ? "added" : "warning";
  const ms = Math.max(...ended.map(({ at }) => at)) - Math.min(...ended.map(({ at, ms }) => at - ms));
  const name = sanitizeLine(withTitle({ address: `drafts/${draftIdOf(address)}`, title }));
  return `${paint(tone, sign.padStart(3))} ${name}  ${ends.join(", ")} ${paint("muted", `(${formatMilliseconds(ms)})`)}`;
}

/** What a draft has at most once needs no number. */
function isSingle(end: string): boolean {
  return /^(published|protection)/.test(end);
}
