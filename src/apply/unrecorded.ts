import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { Outcome } from "../model/outcome.ts";
import type { UnrecordedOutcome } from "../model/recovery.ts";

/** An outcome that the ledger did not record, and where it was saved. */
export interface LostRecord extends UnrecordedOutcome {
  /** Of the recovery log; absent when it could not be written, and the outcome was printed instead. */
  readonly path?: string;
}

/** Outcomes that the error names; the recovery log has all of them. */
const maxShown = 5;

const words: Readonly<Record<Outcome, string>> = {
  done: "done",
  rejected: "refused",
  not_sent: "not sent",
  unknown: "no answer",
};

/**
 * The ledger failed (`cause`) after calls had been sent. It holds their intents, and `outcomes` what it would have taken
 * to record them; each was given to the tracker before this was thrown.
 */
export class OutcomesNotRecordedError extends DraftsyncError {
  override readonly name = "OutcomesNotRecordedError";
  /** At least one, in the order in which the calls ended. */
  readonly outcomes: readonly LostRecord[];

  constructor(outcomes: readonly LostRecord[], cause: unknown) {
    const what = outcomes.length === 1 ? "1 outcome" : `${outcomes.length} outcomes`;
    super(`${messageOf(cause)} ${what} could not be recorded.`, {
      code: "outcome-not-recorded",
      details: detailsOf(outcomes),
      hint: hintFor(outcomes, cause),
      cause,
    });
    this.outcomes = outcomes;
  }
}

function hintFor(outcomes: readonly LostRecord[], cause: unknown): string {
  const fix = fixOf(cause);
  if (outcomes.every(({ path }) => path !== undefined))
    return `${fix}, then run \`draftsync state recover\`: nothing is planned or written before.`;
  return (
    `${fix}. The recovery log could not be written: save the JSON lines above to a file, then run ` +
    "`draftsync state recover FILE` before anything else."
  );
}

/** A lost lock is no damage to the ledger: another command holds it. */
function fixOf(cause: unknown): string {
  return cause instanceof DraftsyncError && cause.code === "lock-lost"
    ? "Wait until the lock is free (`draftsync lock status`)"
    : "Fix the ledger";
}

/** Waits for all of them, also when some fail; then throws the first failure, with every outcome that was not recorded. */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const ends = await Promise.allSettled(work);
  const reasons = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  if (reasons.length > 0) throw joinFailures(reasons);
  return ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
}

/** Changes that share an upload fail with the same error, so an outcome may come more than once. */
function joinFailures(reasons: readonly unknown[]): unknown {
  const unrecorded = reasons.filter((reason) => reason instanceof OutcomesNotRecordedError);
  const [first] = unrecorded;
  if (first === undefined) return reasons[0];
  const outcomes = new Map(
    unrecorded.flatMap((error) => error.outcomes).map((outcome) => [outcome.operation.id, outcome]),
  );
  return new OutcomesNotRecordedError([...outcomes.values()], first.cause);
}

/** A handful, those first that cannot be undone, and where all of them are. */
function detailsOf(outcomes: readonly LostRecord[]): readonly string[] {
  const isFinal = ({ operation: { kind } }: LostRecord) => kind === "publish" || kind === "duplicate";
  const shown = [...outcomes.filter(isFinal), ...outcomes.filter((one) => !isFinal(one))].slice(0, maxShown);
  const more = outcomes.length - shown.length;
  const paths = outcomes.flatMap(({ path }) => (path === undefined ? [] : [path]));
  return [
    ...shown.map(nameOf),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...[...new Set(paths)].map((path) => `saved in ${path}`),
  ];
}

function nameOf({ operation, result, productId, path }: LostRecord): string {
  const { method, address } = operation;
  const product = productId === undefined ? "" : `, product ${productId}`;
  const printed = path === undefined ? ", printed above as JSON" : "";
  return `${method} ${operation.path} for ${address}: ${words[result.outcome]}${product}${printed}`;
}
