import type { CallResult } from "../model/outcome.ts";
import type { Clock, ReadOptions } from "../model/ports.ts";
import type { UploadCredentials } from "./documents.ts";

/** Asks the service for credentials. */
export type AskCredentials = (options: ReadOptions) => Promise<CallResult<UploadCredentials>>;

/** Credentials that would expire sooner than this are not used for a new request. */
const refreshBeforeMs = 60_000;

/**
 * Upload credentials, asked for when they are first needed and again before they expire; those who need them at the
 * same time share one call.
 */
export class StorageSession {
  readonly #ask: AskCredentials;
  readonly #clock: Clock;
  #asking: Promise<CallResult<UploadCredentials>> | undefined;
  #known: Extract<CallResult<UploadCredentials>, { outcome: "done" }> | undefined;

  constructor(ask: AskCredentials, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Credentials that are good for a while, if the service gives such; the options are those of the first caller. */
  async credentials(options: ReadOptions): Promise<CallResult<UploadCredentials>> {
    if (this.#known !== undefined && !this.#isEnding(this.#known.value)) return this.#known;
    this.#asking ??= this.#ask(options).finally(() => {
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
