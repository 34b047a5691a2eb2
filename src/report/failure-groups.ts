import type { ApiError, CallFailure } from "../model/outcome.ts";

/** Something that did not end well, by its address. */
export interface FailedItem {
  readonly address: string;
  /** `unknown` is in doubt; anything else failed. */
  readonly outcome: string;
  readonly failure: GroupedFailure;
}

/** The members of a {@link CallFailure} that tell one cause from another. */
export type GroupedFailure = Pick<CallFailure, "code" | "message"> & Partial<CallFailure>;

/** Everything that failed, or is in doubt, for one cause. */
export interface FailureGroup<F extends GroupedFailure = GroupedFailure> {
  readonly isDoubt: boolean;
  /** That of the first, or of one that stopped the run. */
  readonly failure: F;
  readonly count: number;
  /** The first few. */
  readonly addresses: readonly string[];
}

/** Addresses that a group names. */
const maxAddresses = 5;

interface OpenGroup<F extends GroupedFailure> {
  readonly isDoubt: boolean;
  failure: F;
  readonly addresses: string[];
  count: number;
}

/** Counts failures by their cause: the same outcome, code, sentence, hint and errors of the service. */
export class FailureGroups<F extends GroupedFailure = GroupedFailure> {
  readonly #groups = new Map<string, OpenGroup<F>>();

  add({ address, outcome, failure }: FailedItem & { readonly failure: F }): void {
    const isDoubt = outcome === "unknown";
    const { code, hint, errors = [] } = failure;
    const key = JSON.stringify([isDoubt, code, causeOf(failure), hint, errors.map(substanceOf)]);
    const group = this.#groups.get(key) ?? { isDoubt, failure, addresses: [], count: 0 };
    group.count += 1;
    if (failure.stops === "run") group.failure = failure;
    if (group.addresses.length < maxAddresses) group.addresses.push(address);
    this.#groups.set(key, group);
  }

  /** Returns the groups, in the order of their first failures, and starts again. */
  take(): readonly FailureGroup<F>[] {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    return groups;
  }
}

/** The sentence of a failure without the request or the file that it begins with. */
export function causeOf({ message, subject }: GroupedFailure): string {
  const lead = `${subject}: `;
  return subject !== undefined && message.startsWith(lead) ? message.slice(lead.length) : message;
}

/** Without members that are the answer's own, such as `id`. */
function substanceOf({ status, code, title, detail, source }: ApiError) {
  return [status, code, title, detail, source?.pointer, source?.parameter, source?.header];
}
