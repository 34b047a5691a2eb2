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
import type { FleetDatabase } from "./fleet-database.ts";
import { FleetError } from "./fleet-error.ts";
import type { FleetQueue, QueueWork, QueueWorker } from "./fleet-queue.ts";

/** What an entry holds. */
interface Entry {
  readonly name: string;
}

const { Queue, Worker } = withBackend(createPostgresBackend);

/** An entry whose worker did not renew its lock for so long belongs to nobody; it is looked for every `stalledMs`. */
const lockMs = 10_000;
const stalledMs = 5_000;

const options = {
  attempts: 3,
  backoff: { type: "exponential", delay: 5_000 },
  removeOnComplete: true,
  // The sweep of the workers adds it again.
  removeOnFail: true,
} as const;

/** BullMQ's default: with a pool of the caller, it uses no other. Several fleets differ by the name of the queue. */
const schema = "bullmq";

/**
 * The queue on BullMQ, in the database of the fleet; with `migrates`, its tables are made where they are missing. It and its
 * methods throw {@link FleetError}.
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
  const hurry = (name: string) =>
    attempt(database, async () => {
      const job = await queue.getJob(idOf(name));
      // Meanwhile a worker may have taken it.
      if (await job?.isDelayed()) await job?.promote().catch(() => {});
    });
  return {
    add: (name, inMs) =>
      attempt(database, async () => {
        await queue.add("run", { name }, { ...options, jobId: idOf(name), delay: Math.ceil(inMs) });
      }),
    hurry,
    remove: (name) => attempt(database, async () => void (await queue.remove(idOf(name)))),
    names: () =>
      attempt(database, async () => {
        const jobs = await queue.getJobs(["active", "delayed", "waiting", "prioritized"]);
        return new Set(jobs.map(({ data }) => data.name));
      }),
    work: (work) => startWorker(database, { ...work, hurry }),
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
  { slots, run, isDue, onError, hurry }: QueueWork & Pick<FleetQueue, "hurry">,
): QueueWorker {
  const pool = openPool(database);
  const takeUp = async (job: Job<Entry>, token?: string): Promise<void> => {
    const inMs = await run(job.data.name);
    if (inMs === undefined) return;
    await job.moveToDelayed(Date.now() + Math.ceil(inMs), token);
    if (await isDue(job.data.name)) await hurry(job.data.name);
    throw new DelayedError();
  };
  const worker = new Worker<Entry>(database.schema, takeUp, {
    connection: pool,
    concurrency: slots,
    lockDuration: lockMs,
    stalledInterval: stalledMs,
    // A workspace is not to blame for the deaths of its workers.
    maxStalledCount: 1_000_000,
  });
  worker.on("error", onError);
  return {
    stop: async () => {
      await worker.close();
      await pool.end();
    },
  };
}

/** One of its connections listens, the others serve short queries. */
function openPool(database: FleetDatabase): PgPool {
  const pool: unknown = database.pool(schema, 6);
  if (!isPgPool(pool)) throw new TypeError("BullMQ does not take the connections of pg");
  return pool;
}

/** Ids may not have every character that a folder's name may have. */
function idOf(name: string): string {
  return `w-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}
