/**
 * A failure of the sandbox itself, as opposed to a request it refuses: it could not start, or a test
 * asked its control surface for something impossible.
 *
 * Codes: `port-in-use`, `listen-failed`, `invalid-option`, `store-unusable`, `log-unusable`, `not-attached`, `already-attached`,
 * `no-such-product`.
 */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  /** Stable and kebab-case. */
  readonly code: string;
  /** What to do about it. */
  readonly hint: string;

  constructor(failure: { code: string; message: string; hint: string; cause?: unknown }) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.code = failure.code;
    this.hint = failure.hint;
  }
}
