import type { AttachmentState, InDoubtChange } from "../model/change.ts";
import type { Recorded, RecordedOperation } from "../model/recorded.ts";
import { isoTime } from "../model/time.ts";

/**
 * The operations in doubt that block their address: a call that must not be sent a second time. The others may be
 * repeated (RELIABILITY: "send again"): an update or a detachment is planned anew, an upload at worst leaves a file
 * that nothing is attached to.
 */
export function blockingDoubts(recorded: Recorded): ReadonlyMap<string, RecordedOperation> {
  return new Map(recorded.inDoubt.filter(isBlocking).map((operation) => [operation.address, operation]));
}

/** The operations in doubt at an address that are simply sent again: updates and detachments. */
export function repeatableDoubts(recorded: Recorded): ReadonlyMap<string, readonly RecordedOperation[]> {
  const byAddress = new Map<string, RecordedOperation[]>();
  for (const operation of recorded.inDoubt) {
    if (operation.kind !== "update" && operation.kind !== "detach") continue;
    const others = byAddress.get(operation.address);
    if (others === undefined) byAddress.set(operation.address, [operation]);
    else others.push(operation);
  }
  return byAddress;
}

function isBlocking({ kind }: RecordedOperation): boolean {
  return kind === "attach" || kind === "publish" || kind === "duplicate";
}

/** The change that stands in a plan for an address in doubt. `after` lets apply find out about it. */
export function inDoubtChange(
  operation: RecordedOperation,
  after: AttachmentState | null = null,
): InDoubtChange {
  return {
    address: operation.address,
    action: "in_doubt",
    reason: "outcome_unknown",
    before: {
      operation_id: operation.id,
      kind: operation.kind,
      method: operation.method,
      path: operation.path,
      since: isoTime(operation.startedAt),
      detail: operation.detail ?? "the process ended before the answer was recorded",
    },
    after,
    attributes: [],
  };
}
