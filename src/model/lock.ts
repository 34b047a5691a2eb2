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

/** The lock of a workspace, as long as somebody holds it. Times are epoch milliseconds. */
export interface HeldLock {
  /** Made anew with every acquisition; whoever releases the lock by force names it. */
  readonly id: string;
  /** The fencing token: rises with every acquisition, and never falls. */
  readonly token: number;
  readonly holder: LockHolder;
  readonly acquiredAt: number;
  /** From this moment on somebody else may take the lock. */
  readonly expiresAt: number;
}

/** How long a lock is held without being renewed, milliseconds. */
export const defaultLeaseMs = 60_000;

/** How often its holder renews it, milliseconds. */
export const defaultHeartbeatMs = 20_000;
