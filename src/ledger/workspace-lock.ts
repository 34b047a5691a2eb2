import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { z } from "zod";
import {
  defaultHeartbeatMs,
  defaultLeaseMs,
  type FailedRuns,
  type HeldLock,
  type Lease,
  type LockHolder,
  type LockRequest,
  type LockState,
  lockHolderSchema,
} from "../model/lock.ts";
import { parseJson } from "../model/parse-json.ts";
import { isSameProcess, type ProcessTable, processSchema } from "../model/process.ts";
import { loseOpenCalls, openOperations } from "./journal.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError, LockHeldError, nameHolder } from "./ledger-error.ts";
import { parseRow } from "./records.ts";
import type { LedgerQueries } from "./tables.ts";

/** The row of a lock that is held. */
const leaseSchema = z.object({
  lock_id: z.string(),
  token: z.int(),
  holder: z.string(),
  acquired_at: z.int(),
  expires_at: z.int(),
  lease_until: z.int().nullable(),
  now: z.int(),
});

interface WorkspaceLockParts {
  /** The processes by which a holder on this machine is judged. */
  readonly processes: ProcessTable;
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
 * Whether the stores of this process hold their locks still, or left them behind when they were closed. Each worker thread has
 * its own copy of this module: a lock of this process that is not in it is another copy's, so its lease decides.
 */
const locksHere = new Map<string, boolean>();

/**
 * One ledger's lock, as one store sees it; model/ports.ts draws its states. Every change of it is one UPDATE of its row
 * in a writing transaction, so it holds without sessions, advisory locks and clocks that agree: a pooler may hand each
 * transaction another connection.
 *
 * The token alone decides which writer commits. The holder's process, or else its lease, only decides when another
 * writer may take the lock over.
 */
export class WorkspaceLock {
  readonly #database: LedgerDatabase;
  readonly #parts: WorkspaceLockParts;
  #own: OwnLease | undefined;

  constructor(database: LedgerDatabase, parts: WorkspaceLockParts) {
    this.#database = database;
    this.#parts = parts;
  }

  /** Who holds the lock by this store, if it does. */
  get holder(): LockHolder | undefined {
    return this.#own?.lock.holder;
  }

  /** Rejects with {@link LockHeldError} while the lock is held: model/lock.ts says when its holder loses it. */
  async acquire(request: LockRequest): Promise<Lease> {
    const { leaseMs = defaultLeaseMs, heartbeatMs = defaultHeartbeatMs } = request;
    const { commitNothing } = this.#parts;
    const id = randomUUID();
    // Before its row can be read.
    locksHere.set(id, true);
    const { lock, before } = await this.#database
      .transaction("write", (queries) => this.#take(queries, { ...request, id, leaseMs }))
      .catch((error) => {
        // The lock was left behind if only the answer to its commit was lost.
        if (error instanceof LockHeldError) locksHere.delete(id);
        else locksHere.set(id, false);
        throw error;
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
        // The next commit reports a lost lock, and a busy ledger may be free at the next beat.
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
   * Comes first in every writing transaction of this store: renews its lease, or throws `lock-lost` when the row carries
   * another token. The row stays locked until the transaction ends, so that no other writer takes the lock over between
   * this check and the commit. Does nothing when this store has no lease.
   */
  async fence(queries: LedgerQueries): Promise<void> {
    if (this.#own === undefined) return;
    const { lock, leaseMs } = this.#own;
    const { numUpdatedRows } = await queries
      .updateTable("leases")
      .set({
        expires_at: sql<number>`${this.#database.wallClock} + ${leaseMs}`,
        lease_until: this.#leaseUntil(leaseMs),
      })
      .where("lock_id", "=", lock.id)
      .where("token", "=", lock.token)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw describeLoss(await this.read(queries), lock.id);
  }

  /** The lock that is held, whatever its state. Part of a transaction. */
  async read(queries: LedgerQueries): Promise<HeldLock | undefined> {
    const found = await queries
      .selectFrom("leases")
      .selectAll()
      .select(this.#database.wallClock.as("now"))
      .executeTakeFirst();
    if (found?.lock_id === null) return undefined;
    const { location } = this.#database;
    const row = parseRow(leaseSchema, found, { location, table: "leases", key: "id 1" });
    const { isReleased, ...holder } = parseHolder(row.holder);
    const lock = {
      id: row.lock_id,
      token: row.token,
      ...holder,
      acquiredAt: row.acquired_at,
      readAt: row.now,
    };
    const expiresAt = this.#endOfLease(row, lock.process);
    return { ...lock, expiresAt, state: this.#judge({ ...lock, expiresAt }, isReleased) };
  }

  /** False when no lock of this id is held. The next writer must not settle a call that may be in flight: it waits for the lease. */
  async releaseByForce(id: string): Promise<boolean> {
    return this.#database.transaction("write", async (queries) => {
      const held = await this.read(queries);
      if (held?.id !== id) return false;
      const open = await openOperations(queries);
      if (open.length > 0 && !isFree(held)) return this.#revoke(queries, held);
      await loseOpenCalls(queries, held.readAt);
      return free(queries, id);
    });
  }

  /** The holder can commit nothing more, and so start no call. Its own clock may have been ahead: it keeps no more than a lease. */
  async #revoke(
    queries: LedgerQueries,
    { id, holder, process, leaseMs = defaultLeaseMs, expiresAt, readAt }: HeldLock,
  ): Promise<true> {
    const released = { ...holder, process, leaseMs, released: true };
    await queries
      .updateTable("leases")
      .set({
        token: sql<number>`token + 1`,
        holder: JSON.stringify(released),
        expires_at: Math.min(expiresAt, readAt + leaseMs),
      })
      .where("lock_id", "=", id)
      .execute();
    return true;
  }

  /** Ends the heartbeat: this store writes no more under its lease. */
  stop(): void {
    if (this.#own === undefined) return;
    clearInterval(this.#own.heartbeat);
    locksHere.set(this.#own.lock.id, false);
  }

  async #take(
    queries: LedgerQueries,
    { id, holder, leaseMs, takeOver }: LockRequest & { readonly id: string; readonly leaseMs: number },
  ): Promise<{ readonly lock: HeldLock; readonly before: HeldLock | undefined }> {
    const before = await this.read(queries);
    if (before !== undefined && !(isFree(before) || (await hasFailed(queries, before, takeOver))))
      throw new LockHeldError(this.#database.location, before);
    const { wallClock } = this.#database;
    await queries
      .updateTable("leases")
      .set({
        token: sql<number>`token + 1`,
        lock_id: id,
        holder: JSON.stringify({ ...holder, process: this.#parts.processes.self, leaseMs }),
        acquired_at: wallClock,
        expires_at: sql<number>`${wallClock} + ${leaseMs}`,
        lease_until: this.#leaseUntil(leaseMs),
      })
      .execute();
    const lock = await this.read(queries);
    if (lock === undefined) throw new LedgerError("ledger-conflict", "The lock changed while it was read.");
    // Also of a run that could not store an outcome, and has released its lock since.
    await loseOpenCalls(queries, lock.readAt);
    return { lock: { ...lock, state: "running" }, before };
  }

  /** By the wall clock as it is now, when the holder is of this boot: no one sets the clock that its lease was stored with. */
  #endOfLease(
    { lease_until, expires_at, now }: z.infer<typeof leaseSchema>,
    holder: HeldLock["process"],
  ): number {
    const monotonic = this.#database.monotonicClock?.();
    const isOfThisBoot = holder?.boot === this.#parts.processes.self.boot;
    if (monotonic === undefined || lease_until === null || !isOfThisBoot) return expires_at;
    return now + lease_until - monotonic;
  }

  #judge(lock: Omit<HeldLock, "state">, isReleased: boolean): LockState {
    const { processes } = this.#parts;
    const { id, process: holder, expiresAt, readAt } = lock;
    const isOurs = holder !== undefined && isSameProcess(holder, processes.self);
    const alive = isOurs ? locksHere.get(id) : holder && processes.isAlive(holder);
    if (alive === false) return "ended";
    if (alive && !isReleased) return "running";
    if (expiresAt <= readAt) return "expired";
    return isReleased ? "released" : "leased";
  }

  /** The end of a lease by the clock of this boot, which no one sets; null where the machines that share the ledger differ. */
  #leaseUntil(leaseMs: number): number | null {
    const now = this.#database.monotonicClock?.();
    return now === undefined ? null : now + leaseMs;
  }

  async #release(id: string): Promise<void> {
    if (this.#own?.lock.id !== id) return;
    this.stop();
    await this.#database.transaction("write", (queries) => free(queries, id));
    locksHere.delete(id);
    this.#own = undefined;
  }
}

/** The column `holder`: as much of it as can be read. The lock holds without it, so a damaged one is no error. */
function parseHolder(
  json: string,
): Pick<HeldLock, "holder" | "process" | "leaseMs"> & { readonly isReleased: boolean } {
  const value = parseJson(json);
  const lease = z.object({ leaseMs: z.int() }).safeParse(value);
  const holder = lockHolderSchema.safeParse(value);
  const process = z.object({ process: processSchema }).safeParse(value);
  return {
    isReleased: z.object({ released: z.literal(true) }).safeParse(value).success,
    ...(holder.success ? { holder: holder.data } : {}),
    ...(process.success ? { process: process.data.process } : {}),
    ...(lease.success ? lease.data : {}),
  };
}

async function free(queries: LedgerQueries, id: string): Promise<boolean> {
  const values = { lock_id: null, holder: null, acquired_at: null, expires_at: null, lease_until: null };
  const rows = queries.updateTable("leases").set(values).where("lock_id", "=", id);
  return (await rows.executeTakeFirst()).numUpdatedRows > 0n;
}

function isFree({ state }: HeldLock): boolean {
  return state === "ended" || state === "expired";
}

/** Whether the run of a holder elsewhere has failed, and waits for no response: its process can send no further call. */
async function hasFailed(
  queries: LedgerQueries,
  { id, state }: HeldLock,
  runs: FailedRuns | undefined,
): Promise<boolean> {
  const isLeased = state === "leased" || state === "released";
  if (!isLeased || runs?.lockIds.includes(id) !== true) return false;
  const open = await openOperations(queries);
  return open.every((operation) => runs.operationIds.includes(operation));
}

function describeLoss(found: HeldLock | undefined, ownId: string): LedgerError {
  const how =
    found === undefined || found.id === ownId
      ? "it was released by force, or another command held it since"
      : `${nameHolder(found)} has taken it over`;
  return new LedgerError("lock-lost", `The lock of the workspace was lost: ${how}.`, {
    hint: "This change was not stored. Wait until the lock is free (`draftsync lock status`), then run `draftsync plan`.",
  });
}
