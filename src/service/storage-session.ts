import type { CallResult } from "../model/outcome.ts";
import type { Clock } from "../model/ports.ts";
import type { UploadCredentials } from "./documents.ts";

/** Credentials that would expire sooner than this are not used for a new request. */
const refreshBeforeMs = 60_000;

/**
 * Upload credentials, asked for when they are first needed and again before they expire; those who need them at the
 * same time share one call.
 */
export class StorageSession {
  readonly #ask: (signal: AbortSignal) => Promise<CallResult<UploadCredentials>>;
  readonly #clock: Clock;
  #asking: Promise<CallResult<UploadCredentials>> | undefined;
  #known: Extract<CallResult<UploadCredentials>, { outcome: "done" }> | undefined;

  constructor(ask: (signal: AbortSignal) => Promise<CallResult<UploadCredentials>>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Credentials that are good for a while, if the service gives such; `signal` is that of the first who asks. */
  async credentials(signal: AbortSignal): Promise<CallResult<UploadCredentials>> {
    if (this.#known !== undefined && !this.#isEnding(this.#known.value)) return this.#known;
    this.#asking ??= this.#ask(signal).finally(() => {
      this.#asking = undefined;
    });
    const result = await this.#asking;
    if (result.outcome === "done") this.#known = result;
    return result;
  }

  #isEnding(credentials: UploadCredentials): boolean {
    return credentials.expiresAt !== undefined && credentials.expiresAt - this.#clock.now() < refreshBeforeMs;
  }
}
