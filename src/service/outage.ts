/** So many calls in a row without an outcome are an outage once this time has passed since the first of them ended. */
const minCalls = 5;
const minMs = 10_000;

/**
 * Calls that ended without an outcome since the service last accepted or refused one: in an outage each further call would be
 * in doubt as well. The caller passes the time (monotonic milliseconds).
 */
export class Outage {
  #calls = 0;
  #since = 0;

  /** A call has ended, all its attempts included, and its outcome is unknown. Returns whether it is an outage. */
  lost(now: number): boolean {
    if (this.#calls === 0) this.#since = now;
    this.#calls += 1;
    return this.#calls >= minCalls && now - this.#since >= minMs;
  }

  answered(): void {
    this.#calls = 0;
  }
}
