import { createHash } from "node:crypto";
import {
  createPostgresBackend,
  DelayedError,
  isPgPool,
  type Job,
  type PgPool,
  runMigrations,
  withBackend,
} from "bullmq";
import { messageOf } from "../model/errors.ts";
import { type FleetDatabase, FleetError } from "./fleet-database.ts";

/** The queue of a fleet: at most one entry for each workspace, which waits until it is due or is being processed. */
export interface FleetQueue {
  /** Makes a workspace come up in `inMs` milliseconds. An entry that waits stays, but comes up now if `inMs` is 0. */
  add(name: string, inMs: number): Promise<void>;
  remove(name: string): Promise<void>;
  /** The workspaces that have an entry. */
  names(): Promise<ReadonlySet<string>>;
  /**
   * Processes what comes up, `slots` at a time. If the process dies, another one takes its entries within 15 s. Returns a
   * function that takes nothing more, and resolves once nothing is processed.
   */
  work(work: QueueWork): () => Promise<void>;
  close(): Promise<void>;
}

/** Arguments of {@link FleetQueue.work}. */
interface QueueWork {
  readonly slots: number;
  /** Returns the milliseconds until the workspace comes up again; `undefined`: never. */
  run(name: string): Promise<number | undefined>;
  /** Whether a workspace that was just put back is due, because of a request during its run. */
  isDue(name: string): Promise<boolean>;
  /** Receives errors of the queue itself, which continues. */
  onError(error: Error): void;
}

/** An entry. */
interface Entry {
  readonly name: string;
}

const { Queue, Worker } = withBackend(createPostgresBackend);

/** An entry whose worker does not renew its lock for this long is free; a check runs every `stalledMs`. */
const lockMs = 10_000;
const stalledMs = 5_000;

const options = {
  attempts: 3,
  backoff: { type: "exponential", delay: 5_000 },
  removeOnComplete: true,
  // The sweep of the workers adds it again.
  removeOnFail: true,
} as const;

/** BullMQ's default: with a pool of the caller, it uses no other. Fleets differ by the name of the queue. */
const schema = "bullmq";

/**
 * Opens the queue on BullMQ, in the database of the fleet; with `migrates`, creates missing tables. It and its methods throw
 * {@link FleetError}.
 */
export async function openQueue(
  database: FleetDatabase,
  { migrates }: { readonly migrates: boolean },
): Promise<FleetQueue> {
  const pool = openPool(database);
  // Before the queue, which looks for its tables once.
  if (migrates) await attempt(database, () => migrate(pool));
  const queue = new Queue<Entry>(database.schema, { connection: pool });
  // The calls that fail report it, too.
  queue.on("error", () => {});
  const add = (name: string, inMs: number) =>
    attempt(database, async () => {
      const job = await queue.add("run", { name }, { ...options, jobId: idOf(name), delay: Math.ceil(inMs) });
      // A worker may take it meanwhile.
      if (inMs === 0 && (await job.isDelayed())) await job.promote().catch(() => {});
    });
  return {
    add,
    remove: (name) => attempt(database, async () => void (await queue.remove(idOf(name)))),
    names: () =>
      attempt(database, async () => {
        const jobs = await queue.getJobs(["active", "delayed", "waiting", "prioritized"]);
        return new Set(jobs.map(({ data }) => data.name));
      }),
    work: (work) => startWorker(database, { ...work, add }),
    close: async () => {
      await queue.close();
      await pool.end();
    },
  };
}

async function migrate(pool: PgPool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client, schema);
  } finally {
    client.release();
  }
}

async function attempt<T>({ shown }: FleetDatabase, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new FleetError(`the fleet's queue in ${shown} failed: ${messageOf(error)}`, {
      code: "fleet-queue-failed",
      hint: "Check that the database server is running, and that the user may create a schema and use its tables.",
      cause: error,
    });
  }
}

function startWorker(
  database: FleetDatabase,
  { slots, run, isDue, onError, add }: QueueWork & Pick<FleetQueue, "add">,
): () => Promise<void> {
  const pool = openPool(database);
  const process = async (job: Job<Entry>, token?: string): Promise<void> => {
    const inMs = await run(job.data.name);
    if (inMs === undefined) return;
    await job.moveToDelayed(Date.now() + Math.ceil(inMs), token);
    if (await isDue(job.data.name)) await add(job.data.name, 0);
    throw new DelayedError();
  };
  const worker = new Worker<Entry>(database.schema, process, {
    connection: pool,
    concurrency: slots,
    lockDuration: lockMs,
    stalledInterval: stalledMs,
    // The death of a worker is not a failure of the workspace.
    maxStalledCount: 1_000_000,
  });
  worker.on("error", onError);
  return async () => {
    await worker.close();
    await pool.end();
  };
}

/** One of the connections listens, the others serve short queries. */
function openPool(database: FleetDatabase): PgPool {
  const pool: unknown = database.pool(schema, 6);
  if (!isPgPool(pool)) throw new TypeError("BullMQ does not take the connections of pg");
  return pool;
}

/** An id cannot contain every character of a folder's name. */
function idOf(name: string): string {
  return `w-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}
