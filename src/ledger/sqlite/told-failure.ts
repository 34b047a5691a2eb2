import { LedgerError, type LedgerErrorCode } from "../ledger-error.ts";
import { explainFailure } from "./sqlite-failure.ts";

/** A LedgerError as one thread tells it to another: an error that is cloned keeps neither its class nor its code. */
export interface ToldFailure {
  readonly type: "failed";
  readonly code: LedgerErrorCode;
  readonly message: string;
  readonly hint: string | undefined;
}

/** What was thrown while the ledger at `location` was at work, for another thread. */
export function tellFailure(thrown: unknown, location: string): ToldFailure {
  const { code, message, hint } = explainFailure(thrown, location);
  return { type: "failed", code, message, hint };
}

/** The error that another thread told of. */
export function failureOf({ code, message, hint }: ToldFailure): LedgerError {
  return new LedgerError(code, message, hint === undefined ? {} : { hint });
}
