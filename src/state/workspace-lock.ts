import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { defaultHeartbeatMs, defaultLeaseMs, type HeldLock } from "../model/lock.ts";
import type { Clock, Lease, LockRequest } from "../model/ports.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError, LockHeldError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";
import { compileStep, runStep, type Step } from "./step.ts";
import { holderSchema } from "./stored-json.ts";
import { StoredRow } from "./stored-row.ts";

interface WorkspaceLockParts {
  readonly clock: Clock;
  /** Commits an empty transaction, in its turn: the fence in it is the heartbeat. */
  readonly commitNothing: () => Promise<void>;
}

/** The lease that this store writes under. */
interface OwnLease {
  readonly lock: HeldLock;
  readonly leaseMs: number;
  readonly heartbeat: NodeJS.Timeout;
}

/**
 * One ledger's lock, as one store sees it; model/ports.ts draws its states. Every change of it is one conditional
 * UPDATE of its row, which every database runs one after the other, so it holds without sessions, advisory locks and
 * clocks that agree: a pooler may hand each transaction another connection.
 *
 * Expiry is measured by the machine's wall clock. One that is wrong, or jumps, lets a lock be taken over too early or
 * too late, and no more: whoever is overtaken finds a newer token in its next transaction and commits nothing.
 */
export class WorkspaceLock {
  readonly #database: LedgerDatabase;
  readonly #parts: WorkspaceLockParts;
  readonly #statements: ReturnType<typeof compileStatements>;
  #own: OwnLease | undefined;

  constructor(database: LedgerDatabase, parts: WorkspaceLockParts) {
    this.#database = database;
    this.#parts = parts;
    this.#statements = compileStatements(database.queries);
  }

  /** Rejects with {@link LockHeldError} while somebody's lease, this store's own included, has not expired. */
  async acquire({
    holder,
    leaseMs = defaultLeaseMs,
    heartbeatMs = defaultHeartbeatMs,
  }: LockRequest): Promise<Lease> {
    const { clock, commitNothing } = this.#parts;
    const lockId = randomUUID();
    const { lock, before } = await this.#database.transaction("write", async (queries) => {
      const before = await this.read(queries);
      const now = clock.now();
      const take = this.#statements.take({
        lock_id: lockId,
        holder: JSON.stringify(holder),
        now,
        until: now + leaseMs,
      });
      const taken = await runStep(queries, take);
      const lock = await this.read(queries);
      if (lock === undefined) throw new LedgerError("ledger-conflict", "The lock changed while it was read.");
      if (taken === 0) throw new LockHeldError(this.#database.location, lock);
      return { lock, before };
    });
    this.stop();
    const heartbeat = setInterval(() => beat(), heartbeatMs);
    // A process with nothing else to do is not kept alive by holding a lock.
    heartbeat.unref();
    let beating = false;
    const beat = () => {
      if (beating) return;
      beating = true;
      commitNothing()
        // The next commit says so itself, and a ledger that is busy may not be at the next beat.
        .catch(() => {})
        .finally(() => {
          beating = false;
        });
    };
    this.#own = { lock, leaseMs, heartbeat };
    return {
      lock,
      ...(before === undefined ? {} : { tookOver: before }),
      renew: commitNothing,
      release: () => this.#release(lock.id),
    };
  }

  /**
   * The first step of every writing transaction of this store, made anew for each: it renews the store's lease, and is
   * refused when that is not the newest any more, or has expired. The row stays locked until the transaction ends, so that
   * nobody can take the lock over between this check and the commit. `undefined`: this store has no lease.
   */
  fence(): Step | undefined {
    if (this.#own === undefined) return undefined;
    const { lock, leaseMs } = this.#own;
    const now = this.#parts.clock.now();
    const { id: lock_id, token } = lock;
    const renew = this.#statements.renew({ lock_id, token, now, until: now + leaseMs });
    return { ...renew, refusal: "the lock was lost" };
  }

  /** What a fence that was refused means: `lock-lost`, with who has the lock, or how looking that up failed. */
  async lost(): Promise<Error> {
    try {
      const found = await this.#database.transaction("read", (queries) => this.read(queries));
      return describeLoss(this.#database.location, found, this.#own?.lock);
    } catch (error) {
      return error instanceof Error ? error : new LedgerError("ledger-failed", String(error));
    }
  }

  /** The lock that is held, expired or not. Part of a transaction. */
  async read(queries: LedgerQueries): Promise<HeldLock | undefined> {
    const columns = ["id", "token", "lock_id", "holder", "acquired_at", "expires_at"] as const;
    const values = await queries.selectFrom("leases").select(columns).executeTakeFirst();
    const shape = { location: this.#database.location, table: "leases", columns, keyLength: 1 };
    const row = new StoredRow(
      shape,
      columns.map((column) => values?.[column]),
    );
    const token = row.integer("token");
    const id = row.optionalText("lock_id");
    if (id === undefined) return undefined;
    return {
      id,
      token,
      holder: row.json("holder", holderSchema),
      acquiredAt: row.integer("acquired_at"),
      expiresAt: row.integer("expires_at"),
    };
  }

  /** False when no lock of this id is held. */
  async releaseByForce(id: string): Promise<boolean> {
    const released = await this.#database.transaction("write", (queries) =>
      runStep(queries, this.#statements.release({ lock_id: id })),
    );
    return released > 0;
  }

  /** Ends the heartbeat; the lease stays until it expires. */
  stop(): void {
    clearInterval(this.#own?.heartbeat);
  }

  async #release(id: string): Promise<void> {
    if (this.#own?.lock.id !== id) return;
    this.stop();
    await this.releaseByForce(id);
    this.#own = undefined;
  }
}

function compileStatements(db: LedgerQueries) {
  const free = { lock_id: null, holder: null, acquired_at: null, expires_at: null };
  return {
    take: compileStep<{ lock_id: string; holder: string; now: number; until: number }>((slot) =>
      db
        .updateTable("leases")
        .set({
          token: sql<number>`token + 1`,
          lock_id: slot("lock_id"),
          holder: slot("holder"),
          acquired_at: slot("now"),
          expires_at: slot("until"),
        })
        .where((eb) => eb.or([eb("lock_id", "is", null), eb("expires_at", "<=", slot("now"))])),
    ),
    renew: compileStep<{ lock_id: string; token: number; now: number; until: number }>((slot) =>
      db
        .updateTable("leases")
        .set({ expires_at: slot("until") })
        .where("lock_id", "=", slot("lock_id"))
        .where("token", "=", slot("token"))
        .where("expires_at", ">", slot("now")),
    ),
    release: compileStep<{ lock_id: string }>((slot) =>
      db.updateTable("leases").set(free).where("lock_id", "=", slot("lock_id")),
    ),
  };
}

function describeLoss(location: string, found: HeldLock | undefined, own: HeldLock | undefined): LedgerError {
  return new LedgerError(
    "lock-lost",
    `The lock of the ledger ${location} was lost: ${howLost(found, own)}. Nothing of this change was stored.`,
    { hint: "Run the command again once the lock is free: `draftsync lock status` shows who holds it." },
  );
}

function howLost(found: HeldLock | undefined, own: HeldLock | undefined): string {
  if (found === undefined) return "it was released by force, or has passed through other hands since";
  if (found.id === own?.id) return "this process stood still for longer than its lease";
  const { user, host, pid, command } = found.holder;
  return `${user} on ${host} (process ${pid}, ${command}) has taken it over`;
}
