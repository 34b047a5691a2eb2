import { z } from "zod";
import type { ProcessIdentity } from "./process.ts";

/** The holder of a workspace's lock, described for the people who wait for it. Nothing is decided by it. */
export const lockHolderSchema = z.object({
  user: z.string(),
  host: z.string(),
  pid: z.int(),
  /** As it is typed, without arguments: `apply`, `uploads create`. */
  command: z.string(),
  /** Page of the CI job that it runs in. */
  url: z.string().exactOptional(),
  /** Of the manifests, by git; ends with `-dirty` when files differ from it. */
  commit: z.string().exactOptional(),
});

/** {@link lockHolderSchema} */
export type LockHolder = Readonly<z.output<typeof lockHolderSchema>>;

/**
 * The right of a holder to its lock, as far as it can be judged from here.
 *
 * | state | the holder | the next writer |
 * |---|---|---|
 * | running | its process runs in this boot and PID namespace | waits, whatever the clock says |
 * | ended | its process has ended | takes the lock over |
 * | leased | elsewhere, or unknown; its lease has not ended | waits until the lease ends |
 * | released | by force, while it waits for the response to a call; its lease has not ended | waits until the lease ends |
 * | expired | elsewhere, unknown or released by force; its lease has ended | takes the lock over |
 */
export type LockState = "running" | "ended" | "leased" | "released" | "expired";

/** Whether no other writer takes the lock over yet. */
export function isKept({ state }: Pick<HeldLock, "state">): boolean {
  return state === "running" || state === "leased" || state === "released";
}

/** The lock of a workspace while it is held. Times are epoch milliseconds by the ledger's clock. */
export interface HeldLock {
  /** New with every acquisition; `lock release` names it. */
  readonly id: string;
  /** The fencing token: rises with every acquisition, and never falls. */
  readonly token: number;
  /** Absent when the record of the holder cannot be read. */
  readonly holder?: LockHolder;
  /** Absent when the holder did not note it, or its record cannot be read. */
  readonly process?: ProcessIdentity;
  readonly state: LockState;
  readonly acquiredAt: number;
  /** The end of the lease. It decides only where the process of the holder cannot be judged. */
  readonly expiresAt: number;
  /** When this was read. */
  readonly readAt: number;
  /** How long its lease is, milliseconds. */
  readonly leaseMs?: number;
}

/** How long a lease lasts without a renewal, milliseconds. */
export const defaultLeaseMs = 60_000;

/** How often its holder renews it, milliseconds. */
export const defaultHeartbeatMs = 20_000;

/** Arguments of {@link LockStore.acquireLock}; the times are {@link defaultLeaseMs} and {@link defaultHeartbeatMs} when absent, milliseconds. */
export interface LockRequest {
  readonly holder: LockHolder;
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
  readonly takeOver?: FailedRuns;
}

/** Runs that the ledger failed. The lease of such a run need not end when it can have no call in flight. */
export interface FailedRuns {
  readonly lockIds: readonly string[];
  /** Operations of which the outcome is known elsewhere. */
  readonly operationIds: readonly string[];
}

/** The right to write, until it is released or lost. A heartbeat renews it meanwhile. */
export interface Lease {
  readonly lock: HeldLock;
  /** The lock that was taken over from its earlier holder. */
  readonly tookOver?: HeldLock;
  /** One heartbeat. Rejects with the `LedgerError` `lock-lost` when another holder has the lock. */
  renew(): Promise<void>;
  /** Ends the heartbeat and gives the lock back, if it is still ours. */
  release(): Promise<void>;
}

/**
 * The lock of a ledger: one writer at a time.
 *
 * ```
 *            acquire (token + 1)                  release, or release by force
 *   free ───────────────────────────► held ─────────────────────────────────────► free
 *                                     │  ▲ commit, heartbeat: the lease is renewed
 *                                     ▼  │
 *                      its process has ended, or its lease ── acquire (token + 1) ──► held by another
 *
 * A release by force while a call may be in flight: held ── token + 1 ──► released ── its lease ends ──► free
 * ```
 *
 * From its acquisition to its release, every writing transaction of the store checks that the row still carries its
 * token; otherwise it commits nothing and rejects with the `LedgerError` `lock-lost`. However late a holder is, it may
 * commit while no other has taken the lock over. {@link LockState} says when another may.
 */
export interface LockStore {
  /** Rejects with a `LedgerError` `lock-held` (it carries the lock) while the lock is `running`, `leased` or `released`. */
  acquireLock(request: LockRequest): Promise<Lease>;
  /** The lock that is held, whatever its state. */
  heldLock(): Promise<HeldLock | undefined>;
  /**
   * Ends the right of the holder of the lock of this id to write, whichever process it is; false when that lock is not held. The
   * lock is free at once, or `released` while a call of that holder may be in flight.
   */
  releaseLock(id: string): Promise<boolean>;
}
