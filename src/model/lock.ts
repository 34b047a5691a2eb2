import type { ProcessIdentity } from "./process.ts";

/** Who holds the lock of a workspace: words for the people who wait for it. Nothing is decided by them. */
export interface LockHolder {
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  /** As it is typed, without arguments: `apply`, `uploads create`. */
  readonly command: string;
  /** Page of the CI job that it runs in. */
  readonly url?: string;
}

/**
 * The right of a holder to its lock, as far as it can be judged from here.
 *
 * | state | the holder | the next writer |
 * |---|---|---|
 * | running | its process runs in this boot and PID namespace | waits, whatever the clock says |
 * | ended | its process has ended | takes the lock over |
 * | leased | elsewhere, or unknown; its lease goes on | waits until the lease ends |
 * | expired | elsewhere, or unknown; its lease has ended | takes the lock over |
 */
export type LockState = "running" | "ended" | "leased" | "expired";

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
}

/** How long a lease goes on without being renewed, milliseconds. */
export const defaultLeaseMs = 60_000;

/** How often its holder renews it, milliseconds. */
export const defaultHeartbeatMs = 20_000;
