import { sql } from "kysely";
import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { HeldLock, Lease, LockRequest, LockStore } from "../model/lock.ts";
import type {
  Clock,
  Ledger,
  LedgerEffect,
  LedgerOwner,
  NewOperation,
  OperationResult,
  RunRecord,
} from "../model/ports.ts";
import { type ProcessTable, systemProcesses } from "../model/process.ts";
import type { RateStore, ReservationRequest, ReservationResult } from "../model/rate.ts";
import {
  belongsTo,
  type Recorded,
  type RecordedNames,
  type RecordedOperation,
  type RecordedOwner,
} from "../model/recorded.ts";
import type { ConflictChoice, RecoveryRecord, ReplayResult } from "../model/recovery.ts";
import { applyEffects } from "./effects.ts";
import {
  exchangeNotice,
  forgetQuietRuns,
  type OperationFilter,
  type RunFilter,
  readInDoubt,
  readLostWrites,
  readOperations,
  readRuns,
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
import type { LedgerQueries } from "./schema.ts";
import { exportLedger, importLedger, type LedgerExport } from "./transfer.ts";
import { WorkspaceLock } from "./workspace-lock.ts";
import { WriteQueue } from "./write-queue.ts";

/** What a {@link SqlLedger} works with. */
export interface SqlLedgerParts {
  readonly clock: Clock;
  /** By which a lock's holder on this machine is judged; the machine's when absent. */
  readonly processes?: ProcessTable | undefined;
  /** Whether there was none before it was opened. */
  readonly isNew?: boolean;
}

/**
 * The ledger in a database whose schema is there.
 *
 * `serial` rises by one with every transaction that holds the beginning or the end of an operation, or an effect:
 * each of them changes what {@link Recorded} shows, a begun operation being in doubt until it ends. Calls that were
 * committed together share one rise. Runs do not raise it: no plan is built from them. Neither does the binding to a
 * service: a plan names its service itself. An import brings its own.
 */
export class SqlLedger implements Ledger, LockStore, RateStore, LedgerReader {
  readonly #database: LedgerDatabase;
  readonly #queue: WriteQueue;
  readonly #clock: Clock;
  readonly #lock: WorkspaceLock;
  readonly #reservations: RateReservations;

  readonly isMissing = false;
  /** Whether there was none before it was opened. */
  readonly isNew: boolean;

  constructor(
    database: LedgerDatabase,
    { clock, processes = systemProcesses, isNew = false }: SqlLedgerParts,
  ) {
    this.isNew = isNew;
    this.#database = database;
    this.#clock = clock;
    this.#reservations = new RateReservations(database, processes);
    this.#lock = new WorkspaceLock(database, {
      processes,
      commitNothing: () => this.#queue.add({ shown: false, apply: async () => {} }),
    });
    this.#queue = new WriteQueue(database, {
      fence: (queries) => this.#lock.fence(queries),
      raiseSerial,
    });
  }

  get location(): string {
    return this.#database.location;
  }

  async load(): Promise<Recorded> {
    return this.#read((queries) => readRecorded(this.#database, queries, this.location));
  }

  async owner(): Promise<RecordedOwner> {
    return this.#read(async (queries) => ownerOf(await readMeta(queries, this.location)));
  }

  async lineage(): Promise<string> {
    return this.#read(async (queries) => (await readMeta(queries, this.location)).lineage);
  }

  async assertOwner(owner: LedgerOwner): Promise<void> {
    assertSameOwner(await this.owner(), owner, this.location);
  }

  async rebind(owner: LedgerOwner): Promise<void> {
    await this.#queue.add({
      shown: false,
      apply: async (queries) => {
        const bound = queries.updateTable("meta").where("service_origin", "is not", null);
        await bound.set({ service_origin: owner.origin }).execute();
        await bind(queries, owner, this.location);
      },
    });
  }

  async bind(owner: LedgerOwner): Promise<void> {
    await this.#queue.add({ shown: false, apply: (queries) => bind(queries, owner, this.location) });
  }

  async redate(operationIds: readonly string[]): Promise<void> {
    const now = this.#clock.now();
    const ofThem = (queries: LedgerQueries) =>
      queries.updateTable("operations").where("id", "in", operationIds);
    await this.#queue.add({
      shown: false,
      apply: async (queries) => {
        await ofThem(queries).where("started_at", ">", now).set({ started_at: now }).execute();
        await ofThem(queries).where("finished_at", ">", now).set({ finished_at: now }).execute();
      },
    });
  }

  async confirm(at: number): Promise<void> {
    await this.#queue.add({
      shown: false,
      apply: async (queries) => {
        await queries
          .updateTable("meta")
          .set({ confirmed_at: at })
          .where("confirmed_at", "is", null)
          .execute();
      },
    });
  }

  async startRun(run: RunRecord): Promise<void> {
    await this.#queue.add({ shown: false, apply: (queries) => startRun(queries, run, this.#lock.holder) });
  }

  async finishRun(
    runId: string,
    result: { readonly totals: unknown; readonly status: string },
  ): Promise<void> {
    const ended = { ...result, at: this.#clock.now() };
    await this.#queue.add({ shown: false, apply: (queries) => finishRun(queries, runId, ended) });
  }

  async begin(operation: NewOperation): Promise<void> {
    const at = this.#clock.now();
    await this.#queue.add({ shown: true, apply: (queries) => beginOperation(queries, operation, at) });
  }

  async resend(operationId: string): Promise<void> {
    const at = this.#clock.now();
    await this.#queue.add({ shown: true, apply: (queries) => resendOperation(queries, operationId, at) });
  }

  async finish(
    operationId: string,
    result: OperationResult,
    effects: readonly LedgerEffect[],
  ): Promise<void> {
    const at = this.#clock.now();
    await this.#queue.add({
      shown: true,
      apply: async (queries) => {
        const finished = await finishOperation(queries, operationId, { ...result, at });
        await applyEffects(queries, effects, { at, by: operationId });
        if (result.outcome === "done")
          await supersede(queries, { operationId, ...finished }, { effects, at });
      },
    });
  }

  async record(effects: readonly LedgerEffect[]): Promise<void> {
    if (effects.length === 0) return this.#queue.refuseIfClosed();
    const at = this.#clock.now();
    await this.#queue.add({
      shown: true,
      apply: async (queries) => {
        await applyEffects(queries, effects, { at });
      },
    });
  }

  async replay(record: RecoveryRecord, choice?: ConflictChoice): Promise<ReplayResult> {
    const context = { location: this.location, at: this.#clock.now(), choice };
    let result: ReplayResult = { type: "known" };
    await this.#queue.add({
      shown: true,
      apply: async (queries) => {
        result = await replay(queries, record, context);
      },
    });
    return result;
  }

  async acquireLock(request: LockRequest): Promise<Lease> {
    this.#queue.refuseIfClosed();
    return this.#lock.acquire(request);
  }

  async heldLock(): Promise<HeldLock | undefined> {
    return this.#read((queries) => this.#lock.read(queries));
  }

  async names(): Promise<RecordedNames> {
    return this.#read((queries) => readNames(this.#database, queries));
  }

  async pausedMs(): Promise<number> {
    return this.#read((queries) => this.#reservations.pausedMs(queries));
  }

  async releaseLock(id: string): Promise<boolean> {
    this.#queue.refuseIfClosed();
    return this.#lock.releaseByForce(id);
  }

  async reserve(request: ReservationRequest, key = ""): Promise<ReservationResult> {
    this.#queue.refuseIfClosed();
    return this.#reservations.reserve(request, key);
  }

  async exchangeNotice(status: string | undefined): Promise<string | undefined> {
    this.#queue.refuseIfClosed();
    return this.#database.transaction("write", (queries) => exchangeNotice(queries, status));
  }

  async forgetQuietRuns(of: { readonly command: string; readonly before: number }): Promise<number> {
    let forgotten = 0;
    await this.#queue.add({
      shown: false,
      apply: async (queries) => {
        forgotten = await forgetQuietRuns(queries, of);
      },
    });
    return forgotten;
  }

  async export(): Promise<LedgerExport> {
    return this.#read(async (queries) =>
      exportLedger(this.#database, queries, await readMeta(queries, this.location)),
    );
  }

  async import(exported: LedgerExport): Promise<void> {
    await this.#queue.add({
      shown: false,
      apply: (queries) => importLedger(queries, exported, this.location),
    });
  }

  async operations(filter: OperationFilter = {}): Promise<StoredOperation[]> {
    return this.#read((queries) => readOperations(queries, this.location, filter));
  }

  async inDoubt(): Promise<readonly RecordedOperation[]> {
    return this.#read((queries) => readInDoubt(queries, this.location));
  }

  async lostWrites(since: number): Promise<StoredOperation[]> {
    return this.#read((queries) => readLostWrites(queries, this.location, since));
  }

  async runs(filter: RunFilter = {}): Promise<StoredRun[]> {
    return this.#read((queries) => readRuns(queries, this.location, filter));
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
}

async function raiseSerial(queries: LedgerQueries): Promise<void> {
  await queries.updateTable("meta").set({ serial: sql<number>`serial + 1` }).execute();
}

async function bind(queries: LedgerQueries, owner: LedgerOwner, location: string): Promise<void> {
  await queries
    .updateTable("meta")
    .set({ service_origin: owner.origin, workspace: owner.workspace })
    .where("service_origin", "is", null)
    .execute();
  assertSameOwner(ownerOf(await readMeta(queries, location)), owner, location);
}

function assertSameOwner(recorded: RecordedOwner, owner: LedgerOwner, location: string): void {
  if (belongsTo(recorded, owner)) return;
  const { serviceOrigin, workspace } = recorded;
  throw new LedgerError(
    "ledger-owner-mismatch",
    `The ledger ${location} belongs to workspace ${workspace} at ${serviceOrigin}, not to ${owner.workspace} at ${owner.origin}.`,
    {
      hint: "Correct the address or the workspace in the config. If the service has moved to a new address: `draftsync state rebind`.",
    },
  );
}
