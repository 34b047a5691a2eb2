import type { StoredOperation } from "../model/history.ts";
import { append } from "../model/lists.ts";
import type { Clock, Ledger } from "../model/ports.ts";
import { fileResourceOf, type OperationIntent, type OperationKind } from "../model/recorded.ts";
import { type Attributes, fileResource, hasAttributes } from "../model/resource.ts";

/** A call of an earlier run that may still arrive at the service, and when it was lost, by the monotonic clock. */
interface EarlierWrite {
  readonly kind: OperationKind;
  readonly attributes: Attributes;
  readonly lostAt: number;
}

/** Calls of earlier runs that may still take effect, by file ({@link fileResource}), and publishes by draft. */
export type EarlierWrites = ReadonlyMap<string, readonly EarlierWrite[]>;

/** Reads the publishes and the calls about files that were lost within the last `settleDelayMs`, also those that were sent again since. */
export async function readEarlierWrites(
  ledger: Pick<Ledger, "lostWrites" | "now" | "redate">,
  { clock, settleDelayMs }: { readonly clock: Clock; readonly settleDelayMs: number },
): Promise<EarlierWrites> {
  const now = await ledger.now();
  const startedAt = clock.monotonic();
  const writes = new Map<string, EarlierWrite[]>();
  const lost = await ledger.lostWrites(now - settleDelayMs);
  // A clock that was ahead must not make every run wait until that time.
  const ahead = lost.filter(({ startedAt: sentAt, finishedAt = sentAt }) => finishedAt > now);
  if (ahead.length > 0) await ledger.redate(ahead.map(({ id }) => id));
  for (const operation of lost) {
    const { kind, intent, settled, startedAt: sentAt, outcome = "unknown" } = operation;
    const written = kind === "publish" ? draftOf(operation) : fileResourceOf(operation);
    if (written === undefined) continue;
    if (kind === "publish" && (settled !== undefined || outcome !== "unknown")) continue;
    // A crash lost it when the process ended; the next holder of the lock records when.
    const lostAt = startedAt - Math.max(0, now - (operation.finishedAt ?? sentAt));
    append(writes, written, { kind, attributes: intent.attributes ?? {}, lostAt });
  }
  return writes;
}

/**
 * When the last call was lost that would undo this one if it arrived after it, or would publish it with a product that no plan
 * showed; `undefined` when there is none. The same call twice is the same once.
 */
export function lostBefore(
  earlier: EarlierWrites,
  next: { readonly kind: OperationKind; readonly intent: OperationIntent },
): number | undefined {
  const writes = [fileResourceOf(next), draftOf(next)].flatMap((written) => earlier.get(written ?? "") ?? []);
  const times = writes.filter((write) => !isHarmless(write, next)).map(({ lostAt }) => lostAt);
  return times.length === 0 ? undefined : Math.max(...times);
}

function isHarmless(
  { kind, attributes }: EarlierWrite,
  next: { readonly kind: OperationKind; readonly intent: OperationIntent },
): boolean {
  // An update of a file that is not attached any more changes nothing.
  if (kind === "update" && next.kind === "detach") return true;
  if (kind !== next.kind) return false;
  const { fileKind, attributes: wanted = {} } = next.intent;
  return fileKind === undefined || hasAttributes(fileKind, wanted, attributes);
}

function draftOf({ intent: { draftId } }: Pick<StoredOperation, "intent">): string | undefined {
  return draftId === undefined ? undefined : `drafts/${draftId}`;
}
