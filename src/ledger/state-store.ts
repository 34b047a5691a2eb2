import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { HeldLock, Lease, LockRequest, LockStore } from "../model/lock.ts";
import type {
  Ledger,
  LedgerEffect,
  LedgerOwner,
  NewOperation,
  OperationResult,
  RunRecord,
  RunResult,
} from "../model/ports.ts";
import { type ProcessTable, systemProcesses } from "../model/process.ts";
import type { RateStore, ReservationRequest, ReservationResult } from "../model/rate.ts";
import {
  belongsTo,
  makesProduct,
  type Recorded,
  type RecordedNames,
  type RecordedOwner,
} from "../model/recorded.ts";
import type { ConflictChoice, RecoveryRecord, ReplayResult } from "../model/recovery.ts";
import { applyEffects } from "./effects.ts";
import {
  exchangeNotice,
  forgetQuietRuns,
  type OperationFilter,
  type RunFilter,
  readLostWrites,
  readOperations,
  readRuns,
  readTurns,
} from "./history.ts";
import {
  beginOperation,
  finishOperation,
  finishRun,
  resendOperation,
  startRun,
  supersede,
} from "./journal.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { RateReservations } from "./rate-reservations.ts";
import { ownerOf, readMeta, readNames, readRecorded } from "./read-recorded.ts";
import { replay } from "./replay.ts";
import type { LedgerQueries } from "./tables.ts";
import { exportLedger, importLedger, type LedgerExport } from "./transfer.ts";
import { WorkspaceLock } from "./workspace-lock.ts";
import { WriteQueue } from "./write-queue.ts";

/** Arguments of {@link StateStore}. */
export interface StateStoreOptions {
  /** By which a lock's holder on this machine is judged; the machine's when absent. */
  readonly processes?: ProcessTable | undefined;
  /** Whether there was none before it was opened. */
  readonly isNew?: boolean;
}

/** Whether `Recorded` shows a change; then it raises the serial. */
const shown = true;
const notShown = false;

/**
 * The ledger in a database whose schema is there, with everything that commands need of it.
 *
 * `serial` rises by one with every transaction that holds the beginning or the end of an operation, or an effect:
 * each of them changes what {@link Recorded} shows, a begun operation being in doubt until it ends. Calls that were
 * committed together share one rise. Runs do not raise it: no plan is built from them. Neither does the binding to a
 * service: a plan names its service itself. An import brings its own.
 */
export class StateStore implements Ledger, LockStore, RateStore, LedgerReader {
  readonly #database: LedgerDatabase;
  readonly #queue: WriteQueue;
  readonly #lock: WorkspaceLock;
  readonly #reservations: RateReservations;

  readonly location: string;
  readonly isMissing = false;
  /** Whether there was none before it was opened. */
  readonly isNew: boolean;

  /** The serial that this store has committed last; `undefined` before the first one. */
  get committedSerial(): number | undefined {
    return this.#queue.serial;
  }

  constructor(
    database: LedgerDatabase,
    { processes = systemProcesses, isNew = false }: StateStoreOptions = {},
  ) {
    this.location = database.location;
    this.isNew = isNew;
    this.#database = database;
    this.#reservations = new RateReservations(database, processes);
    this.#lock = new WorkspaceLock(database, {
      processes,
      commitNothing: () => this.#write(notShown, async () => {}),
    });
    this.#queue = new WriteQueue(database, (queries) => this.#lock.fence(queries));
  }

  load(): Promise<Recorded> {
    return this.#read((queries) => readRecorded(this.#database, queries));
  }

  owner(): Promise<RecordedOwner> {
    return this.#read(async (queries) => ownerOf(await readMeta(queries, this.location)));
  }

  names(): Promise<RecordedNames> {
    return this.#read((queries) => readNames(this.#database, queries));
  }

  /** Created once with the ledger; {@link Ledger.load} returns it too. */
  lineage(): Promise<string> {
    return this.#read(async (queries) => (await readMeta(queries, this.location)).lineage);
  }

  operations(filter: OperationFilter = {}): Promise<StoredOperation[]> {
    return this.#read((queries) => readOperations(queries, this.location, filter));
  }

  turns(): Promise<ReadonlyMap<string, number>> {
    return this.#read(readTurns);
  }

  lostWrites(since: number): Promise<StoredOperation[]> {
    return this.#read((queries) => readLostWrites(queries, this.location, since));
  }

  isMaybePublished(draftId: number): Promise<boolean> {
    return this.#read(async (queries) => {
      const marks = queries.selectFrom("maybe_published").select("draft_id").where("draft_id", "=", draftId);
      return (await marks.executeTakeFirst()) !== undefined;
    });
  }

  runs(filter: RunFilter = {}): Promise<StoredRun[]> {
    return this.#read((queries) => readRuns(queries, this.location, filter));
  }

  async assertOwner(owner: LedgerOwner): Promise<void> {
    assertSameOwner(await this.owner(), owner, this.location);
  }

  bind(owner: LedgerOwner, confirmedAt?: number): Promise<void> {
    return this.#write(notShown, async (queries) => {
      await bind(queries, owner, this.location);
      if (confirmedAt !== undefined) await confirm(queries, confirmedAt);
    });
  }

  /** Moves the ledger to a new address of the same service. Refuses with `ledger-owner-mismatch` for another workspace. */
  rebind(owner: LedgerOwner): Promise<void> {
    return this.#write(notShown, async (queries) => {
      const bound = queries.updateTable("meta").where("service_origin", "is not", null);
      await bound.set({ service_origin: owner.origin }).execute();
      await bind(queries, owner, this.location);
    });
  }

  now(): Promise<number> {
    return this.#read((queries) => this.#database.now(queries));
  }

  /** Operations that a wrong clock dated into the future count as lost now. */
  redate(operationIds: readonly string[]): Promise<void> {
    return this.#write(notShown, async (queries, now) => {
      const operations = queries.updateTable("operations").where("id", "in", operationIds);
      await operations.where("started_at", ">", now).set({ started_at: now }).execute();
      await operations.where("finished_at", ">", now).set({ finished_at: now }).execute();
    });
  }

  /** Records that a person confirmed the ledger, if it is bound (epoch milliseconds); a second confirmation changes nothing. */
  confirm(at: number): Promise<void> {
    return this.#write(notShown, (queries) => confirm(queries, at));
  }

  startRun(run: RunRecord): Promise<void> {
    return this.#write(notShown, (queries) => startRun(queries, run, this.#lock.holder));
  }

  finishRun(runId: string, result: RunResult): Promise<void> {
    return this.#write(notShown, (queries, at) => finishRun(queries, runId, { ...result, at }));
  }

  async begin(operation: NewOperation): Promise<void> {
    await this.#write(shown, (queries, at) => beginOperation(queries, operation, at));
    // After a kill, a copy of the ledger's file alone must not publish again.
    if (makesProduct(operation.kind)) await this.#database.checkpoint?.();
  }

  async resend(operationId: string): Promise<void> {
    await this.#write(shown, (queries, at) => resendOperation(queries, operationId, at));
    // The refusal may be in the file already.
    await this.#database.checkpoint?.();
  }

  finish(operationId: string, result: OperationResult, effects: readonly LedgerEffect[]): Promise<void> {
    return this.#write(shown, async (queries, at) => {
      const finished = await finishOperation(queries, operationId, { ...result, at });
      await applyEffects(queries, effects, { at, by: operationId, runId: finished.runId });
      if (result.outcome === "done") await supersede(queries, { operationId, ...finished }, { effects, at });
    });
  }

  async record(effects: readonly LedgerEffect[], runId = ""): Promise<void> {
    if (effects.length === 0) return this.#queue.refuseIfClosed();
    return this.#write(shown, (queries, at) => applyEffects(queries, effects, { at, runId }));
  }

  /**
   * Replays a record of the recovery log in one transaction, as `finish` would have recorded it; a second replay changes
   * nothing. The caller checks whose ledger it is. A record that contradicts the ledger changes nothing without `choice`.
   */
  replay(record: RecoveryRecord, choice?: ConflictChoice): Promise<ReplayResult> {
    const { location } = this;
    return this.#write(shown, (queries, at) => replay(queries, record, { location, at, choice }));
  }

  async acquireLock(request: LockRequest): Promise<Lease> {
    this.#queue.refuseIfClosed();
    return this.#lock.acquire(request);
  }

  heldLock(): Promise<HeldLock | undefined> {
    return this.#read((queries) => this.#lock.read(queries));
  }

  async releaseLock(id: string): Promise<boolean> {
    this.#queue.refuseIfClosed();
    return this.#lock.releaseByForce(id);
  }

  pausedMs(): Promise<number> {
    return this.#read((queries) => this.#reservations.pausedMs(queries));
  }

  /** `key` distinguishes API keys in a table that workspaces share; empty for calls of this workspace alone. */
  async reserve(request: ReservationRequest, key = ""): Promise<ReservationResult> {
    this.#queue.refuseIfClosed();
    return this.#reservations.reserve(request, key);
  }

  /**
   * Stores the status that notifications report; resolves with the previous one, `undefined` when there was none. Of
   * several concurrent processes only one receives the previous status, so only one notifies. No plan, export or serial
   * shows it, and it needs no lock.
   */
  async exchangeNotice(status: string | undefined): Promise<string | undefined> {
    this.#queue.refuseIfClosed();
    return this.#database.transaction("write", (queries) => exchangeNotice(queries, status));
  }

  /** Removes runs of a command that started before `before` (epoch milliseconds) and sent nothing; resolves with their number. */
  forgetQuietRuns(of: { readonly command: string; readonly before: number }): Promise<number> {
    return this.#write(notShown, (queries) => forgetQuietRuns(queries, of));
  }

  export(): Promise<LedgerExport> {
    return this.#read(async (queries) =>
      exportLedger(this.#database, queries, await readMeta(queries, this.location)),
    );
  }

  /**
   * Takes an export over, lineage and serial included, in one transaction. Rejects with `ledger-not-empty` when the
   * ledger holds anything, and with `ledger-conflict` when the export contradicts itself.
   */
  import(exported: LedgerExport): Promise<void> {
    const { location } = this;
    return this.#write(notShown, (queries, now) => importLedger(queries, exported, { location, now }));
  }

  async close(): Promise<void> {
    this.#lock.stop();
    await this.#queue.close();
    await this.#database.close();
  }

  async #read<T>(work: (queries: LedgerQueries) => Promise<T>): Promise<T> {
    this.#queue.refuseIfClosed();
    return this.#database.transaction("read", work);
  }

  /** Resolves once the change is committed and synced. */
  async #write<T>(isShown: boolean, work: (queries: LedgerQueries, at: number) => Promise<T>): Promise<T> {
    return this.#queue.add(isShown, work);
  }
}

async function bind(queries: LedgerQueries, owner: LedgerOwner, location: string): Promise<void> {
  await queries
    .updateTable("meta")
    .set({ service_origin: owner.origin, workspace: owner.workspace })
    .where("service_origin", "is", null)
    .execute();
  assertSameOwner(ownerOf(await readMeta(queries, location)), owner, location);
}

/** A confirmation is about one service: a ledger that is not bound has none. */
async function confirm(queries: LedgerQueries, at: number): Promise<void> {
  await queries
    .updateTable("meta")
    .set({ confirmed_at: at })
    .where("confirmed_at", "is", null)
    .where("service_origin", "is not", null)
    .execute();
}

function assertSameOwner(recorded: RecordedOwner, owner: LedgerOwner, location: string): void {
  if (belongsTo(recorded, owner)) return;
  const { serviceOrigin, workspace } = recorded;
  throw new LedgerError(
    "ledger-owner-mismatch",
    `The ledger ${location} belongs to workspace ${workspace} at ${serviceOrigin}, not to ${owner.workspace} at ${owner.origin}.`,
    {
      hint: "Correct the address or the workspace in the config, or set `state` to another ledger. Only if the service of this ledger has moved: `draftsync state rebind`.",
    },
  );
}
