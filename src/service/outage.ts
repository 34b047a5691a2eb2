import type { CallFailure } from "../model/outcome.ts";
import type { Call } from "./calls.ts";

/** So many calls without an outcome, all their attempts included, stop a draft or the run after a time. */
const minCalls = 5;
/** How long the calls of one draft must have been lost, and how long the service must have answered nothing. */
const draftMs = 10_000;
const runMs = 60_000;

/** So many publishes or duplicates in a row without an outcome are enough: a person has to settle each. */
const minProducts = 3;

/** Calls without an outcome in a row. Times are monotonic milliseconds. */
interface Losses {
  calls: number;
  since?: number;
}

/** What a lost call stops. `silence`: the run, if the service does not answer a read that concerns no draft either. */
export type Stopped = CallFailure["stops"] | "silence";

/**
 * Calls that ended without an outcome. A draft whose calls are all lost stops, so that the others have their turn; the run stops
 * only in an outage, when each further call would be in doubt as well.
 */
export class Outage {
  readonly #all: Losses = { calls: 0 };
  readonly #byDraft = new Map<string, Losses>();
  #products = 0;

  /** An attempt has ended without an outcome. */
  attemptLost(call: Pick<Call<unknown>, "path">, now: number): void {
    this.#all.since ??= now;
    const draft = this.#draftOf(call);
    if (draft !== undefined) draft.since ??= now;
  }

  /** A call has ended without an outcome, all its attempts included. */
  lost(call: Pick<Call<unknown>, "path" | "callClass">): void {
    const draft = this.#draftOf(call);
    this.#all.calls += 1;
    if (draft !== undefined) draft.calls += 1;
    if (call.callClass === "non_idempotent") this.#products += 1;
  }

  /** What a call stops that was lost. */
  stopOf(call: Pick<Call<unknown>, "path">, now: number): Stopped {
    if (this.#products >= minProducts) return "run";
    if (isLong(this.#all, runMs, now)) return "silence";
    const draft = this.#draftOf(call);
    return draft !== undefined && isLong(draft, draftMs, now) ? "draft" : "operation";
  }

  /** The service has answered an attempt. `isSettled`: the outcome of the call is known. */
  answered({ path, callClass }: Pick<Call<unknown>, "path" | "callClass">, isSettled: boolean): void {
    this.#all.calls = 0;
    delete this.#all.since;
    if (!isSettled) return;
    this.#byDraft.delete(draftIn(path) ?? "");
    if (callClass === "non_idempotent") this.#products = 0;
  }

  #draftOf({ path }: Pick<Call<unknown>, "path">): Losses | undefined {
    const id = draftIn(path);
    if (id === undefined) return undefined;
    const losses = this.#byDraft.get(id) ?? { calls: 0 };
    this.#byDraft.set(id, losses);
    return losses;
  }
}

function draftIn(path: string): string | undefined {
  return /^\/api\/drafts\/(\d+)\//.exec(path)?.[1];
}

function isLong({ calls, since }: Losses, ms: number, now: number): boolean {
  return calls >= minCalls && since !== undefined && now - since >= ms;
}
