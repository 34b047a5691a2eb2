import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { HeldLock } from "../model/lock.ts";
import type { Clock } from "../model/ports.ts";
import {
  emptyRecorded,
  noLineage,
  type Recorded,
  type RecordedNames,
  type RecordedOwner,
} from "../model/recorded.ts";
import type { OperationFilter, RunFilter } from "./history.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerExport } from "./transfer.ts";

/** A ledger to look into; there may be none. */
export interface LedgerReader {
  /** For messages: without a password. */
  readonly location: string;
  /** Whether there is no ledger; it reads like one that holds nothing. */
  readonly isMissing: boolean;
  load(): Promise<Recorded>;
  /** See {@link Recorded}; without the rest of {@link LedgerReader.load}. */
  lineage(): Promise<string>;
  /** The service and the workspace that the ledger is bound to, without the rest of {@link LedgerReader.load}. */
  owner(): Promise<RecordedOwner>;
  /** The titles of drafts and the products, without the rest of {@link LedgerReader.load}. */
  names(): Promise<RecordedNames>;
  /** The lock that is held, whatever its state. */
  heldLock(): Promise<HeldLock | undefined>;
  /** The time by which operations and runs are dated, epoch milliseconds: of one clock for all that share the ledger. */
  now(): Promise<number>;
  /** How long no call may be sent yet, because the service asked for it; milliseconds. */
  pausedMs(): Promise<number>;
  /**
   * Everything the ledger holds, in a stable order and without secrets. Rejects with `ledger-missing` when there is none:
   * an export of nothing could be taken for a backup.
   */
  export(): Promise<LedgerExport>;
  /** All operations, or those that the filter names, by start. */
  operations(filter?: OperationFilter): Promise<StoredOperation[]>;
  /** All runs, or those that the filter names, by start. */
  runs(filter?: RunFilter): Promise<StoredRun[]>;
  close(): Promise<void>;
}

/** Where there is no ledger. `location` is as it may be shown. */
export function missingLedger(location: string, clock: Clock): LedgerReader {
  return {
    location,
    isMissing: true,
    load: async () => emptyRecorded,
    lineage: async () => noLineage,
    owner: async () => emptyRecorded,
    names: async () => emptyRecorded,
    heldLock: async () => undefined,
    now: async () => clock.now(),
    pausedMs: async () => 0,
    export: async () => {
      throw new LedgerError("ledger-missing", `There is no ledger at ${location}.`, {
        hint: "Set `state` in draftsync.yaml (or DRAFTSYNC_STATE) to where it is; the first apply makes one.",
      });
    },
    operations: async () => [],
    runs: async () => [],
    close: async () => {},
  };
}
