import type { CallFailure } from "../model/outcome.ts";
import type { Call } from "./calls.ts";

/** So many calls in a row without an outcome are an outage once this time has passed since the first of their attempts. */
const minCalls = 5;
const minMs = 10_000;

/** So many publishes or duplicates in a row without an outcome are enough: a person has to settle each. */
const minProducts = 3;

/**
 * Calls that ended without an outcome since the service last accepted or refused one: in an outage each further call would be
 * in doubt as well. Times are monotonic milliseconds.
 */
export class Outage {
  #calls = 0;
  #products = 0;
  #since: number | undefined;
  readonly #drafts = new Set<string>();

  /** An attempt has ended without an outcome. */
  attemptLost(now: number): void {
    this.#since ??= now;
  }

  /**
   * A call has ended without an outcome, all its attempts included. Returns what it stops: the run in an outage, but only the
   * draft while no other draft was tried.
   */
  lost({ path, callClass }: Pick<Call<unknown>, "path" | "callClass">, now: number): CallFailure["stops"] {
    this.#calls += 1;
    const draft = /^\/api\/drafts\/(\d+)\//.exec(path)?.[1];
    if (draft !== undefined) this.#drafts.add(draft);
    if (callClass === "non_idempotent") this.#products += 1;
    if (this.#products >= minProducts) return "run";
    if (this.#calls < minCalls || now - (this.#since ?? now) < minMs) return "operation";
    return this.#drafts.size === 1 ? "draft" : "run";
  }

  answered({ callClass }: Pick<Call<unknown>, "callClass">): void {
    this.#calls = 0;
    this.#since = undefined;
    this.#drafts.clear();
    if (callClass === "non_idempotent") this.#products = 0;
  }
}
