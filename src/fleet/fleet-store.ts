import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import { eventSchema } from "../model/event-schema.ts";
import { reconcileStatuses } from "../model/reconcile-result.ts";
import type { FleetDatabase } from "./fleet-database.ts";
import { isBad, isDone } from "./fleet-view.ts";

const time = z.date().transform((date) => date.getTime());
const count = z.coerce.number();
const status = z.enum([...reconcileStatuses, "crashed"]);

const workspaceSchema = z
  .object({
    name: z.string(),
    config: z.string(),
    every_ms: count,
    key: z.string().nullable(),
    paused: z.boolean(),
    retired_at: time.nullable(),
    since: time,
    due_at: time,
    wanted_at: time.nullable(),
    worker: z.string().nullable(),
    started_at: time.nullable(),
    ended_at: time.nullable(),
    last_status: status.nullable().catch(null),
    last_success_at: time.nullable(),
    failures: count,
    in_doubt: count,
    commit: z.string().nullable(),
    notified: z.string().nullable(),
  })
  .readonly();

/** A workspace in the table; times in epoch milliseconds, `null`: never. */
export type FleetWorkspace = z.output<typeof workspaceSchema>;

const workerSchema = z.object({ name: z.string(), slots: z.number() }).readonly();

/** A worker with `slots` runs at a time. */
export type FleetWorker = z.output<typeof workerSchema>;

/** The table. `now` is the time of the database server, epoch milliseconds. */
export interface FleetRows {
  readonly now: number;
  readonly workspaces: readonly FleetWorkspace[];
  readonly workers: readonly FleetWorker[];
}

const errorSchema = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() });

/** Why a run failed. */
export type RunError = z.output<typeof errorSchema>;

const runSchema = z
  .object({
    id: z.string(),
    workspace: z.string(),
    worker: z.string(),
    started_at: time,
    ended_at: time,
    status,
    exit_code: z.number().nullable(),
    result: eventSchema.nullable().catch(null),
    error: errorSchema.nullable().catch(null),
    commit: z.string().nullable(),
  })
  .readonly();

/** A run in the table. */
export type FleetRun = z.output<typeof runSchema>;

/** How a run ended. */
export type EndedRun = Pick<FleetRun, "status" | "exit_code" | "result" | "error" | "commit">;

/** A run that has started. */
export interface Claim {
  readonly runId: string;
  readonly workspace: FleetWorkspace;
  /** How long after it was due it started, milliseconds. */
  readonly lagMs: number;
}

/** A workspace as `fleet.yaml` declares it. */
export interface DeclaredWorkspace {
  readonly name: string;
  /** Its `draftsync.yaml`, relative to the folder of `fleet.yaml`. */
  readonly config: string;
  readonly everyMs: number;
  /** The name of a key in `fleet.yaml`; `undefined`: its own config has one. */
  readonly key: string | undefined;
  /** `undefined`: as `fleet pause` and `fleet resume` set it. */
  readonly paused: boolean | undefined;
}

/** When a workspace whose lock another process holds is tried again. */
const lockedRetryMs = 15_000;
/** A worker that was silent for this long has ended, and its runs are lost, seconds. */
const lostS = 10;
/** The number of runs of a workspace that the history keeps. */
const keptRuns = 100;

const isWanted = "(wanted_at is not null and (started_at is null or wanted_at > started_at))";

/**
 * When a workspace is due. While it runs, that is when its run would count as lost: the queue may give the entry of a run to a
 * second worker, for example when a clock is wrong.
 */
const dueAt = `case when started_at is not null and (ended_at is null or ended_at < started_at)
  then greatest(started_at, seen_at) + interval '${lostS} s'
  else least(due_at, case when ${isWanted} then wanted_at end) end`;

/** The tables of a fleet: its workspaces, runs and workers. All times are those of the database server. */
export class FleetStore {
  readonly #database: FleetDatabase;

  constructor(database: FleetDatabase) {
    this.#database = database;
  }

  /** Workspaces by name, without retired ones, and the running workers. */
  async list(): Promise<FleetRows> {
    const rows = await this.#database.query(
      `select *, (select clock_timestamp()) as now from fleet_workspaces where retired_at is null order by name collate "C"`,
    );
    const now = rows.length === 0 ? Date.now() : time.parse(rows[0]?.now);
    const workers = await this.#database.query(
      `select name, slots from fleet_workers where seen_at > clock_timestamp() - interval '${lostS} s' order by name`,
    );
    return {
      now,
      workspaces: rows.map((row) => workspaceSchema.parse(row)),
      workers: workers.map((row) => workerSchema.parse(row)),
    };
  }

  /** Records that a worker and its runs are alive. Called every few seconds. */
  async see(worker: FleetWorker, runIds: readonly string[]): Promise<void> {
    await this.#database.query(
      `with gone as (delete from fleet_workers where seen_at < clock_timestamp() - interval '1 day'),
         runs as (update fleet_workspaces set seen_at = clock_timestamp() where run_id = any($3))
       insert into fleet_workers (name, slots, seen_at) values ($1, $2, clock_timestamp())
       on conflict (name) do update set slots = $2, seen_at = clock_timestamp()`,
      [worker.name, worker.slots, runIds],
    );
  }

  /** Records that a worker has ended. */
  async leave(worker: string): Promise<void> {
    await this.#database.query("delete from fleet_workers where name = $1", [worker]);
  }

  /** The last runs of a workspace, the newest first. */
  async runs(name: string, limit: number): Promise<readonly FleetRun[]> {
    const rows = await this.#database.query(
      "select * from fleet_runs where workspace = $1 order by started_at desc limit $2",
      [name, limit],
    );
    return rows.map((row) => runSchema.parse(row));
  }

  /** The last run of each workspace that has one, by name. */
  async lastRuns(): Promise<ReadonlyMap<string, FleetRun>> {
    const rows = await this.#database.query(
      `select run.* from fleet_workspaces as w cross join lateral
         (select * from fleet_runs where workspace = w.name order by started_at desc limit 1) as run`,
    );
    return new Map(rows.map((row) => [String(row.workspace), runSchema.parse(row)]));
  }

  /** Adds and changes workspaces, and retires those of these names, which keep their history. */
  async declare(declared: readonly DeclaredWorkspace[], retired: readonly string[]): Promise<void> {
    const now = await this.#now();
    for (const { name, config, everyMs, key, paused } of declared) {
      const due = new Date(nextSlot(name, { after: now, everyMs }));
      await this.#database.query(
        `insert into fleet_workspaces (name, config, every_ms, key, paused, due_at)
         values ($1, $2, $3, $4, coalesce($5, false), $6)
         on conflict (name) do update set config = $2, every_ms = $3, key = $4, paused = coalesce($5, fleet_workspaces.paused),
           due_at = $6, retired_at = null,
           since = case when fleet_workspaces.retired_at is null then fleet_workspaces.since else clock_timestamp() end`,
        [name, config, everyMs, key ?? null, paused ?? null, due],
      );
    }
    await this.#database.query(
      "update fleet_workspaces set retired_at = clock_timestamp() where name = any($1)",
      [retired],
    );
  }

  /** Makes workspaces due now; one that is running runs once more. */
  async want(names: readonly string[]): Promise<void> {
    await this.#database.query(
      "update fleet_workspaces set wanted_at = clock_timestamp() where name = any($1) and retired_at is null",
      [names],
    );
  }

  async setPaused(names: readonly string[], paused: boolean): Promise<void> {
    await this.#database.query(
      `update fleet_workspaces set paused = $2,
         since = case when paused and not $2 then clock_timestamp() else since end,
         due_at = case when paused and not $2 then greatest(due_at, clock_timestamp()) else due_at end
       where name = any($1)`,
      [names, paused],
    );
  }

  /**
   * Starts a run of a workspace that is due. Otherwise returns the milliseconds until it is due, or `undefined` for a paused or
   * retired workspace.
   */
  async claim(name: string, worker: string): Promise<Claim | number | undefined> {
    const runId = randomUUID();
    const [row] = await this.#database.query(
      `with before as (select name, ${dueAt} as due from fleet_workspaces where name = $1 for update)
       update fleet_workspaces as w set run_id = $2, worker = $3, started_at = clock_timestamp()
       from before where w.name = before.name and retired_at is null and not paused and before.due <= clock_timestamp()
       returning w.*, extract(epoch from clock_timestamp() - before.due) * 1000 as lag`,
      [name, runId, worker],
    );
    if (row !== undefined) {
      return { runId, workspace: workspaceSchema.parse(row), lagMs: Math.max(0, Number(row.lag)) };
    }
    return (await this.due(name)).get(name);
  }

  /** Records the end of a run. Returns the milliseconds until the workspace is due again, `undefined` if it was paused or retired. */
  async finish({ runId, workspace }: Claim, ended: EndedRun): Promise<number | undefined> {
    const { name, every_ms: everyMs } = workspace;
    const now = await this.#now();
    let due = nextSlot(name, { after: now, everyMs });
    if (ended.status === "locked") due = now + lockedRetryMs;
    if (ended.status === "interrupted") due = now;
    await this.#recordRun(runId, workspace, ended);
    const [row] = await this.#database.query(
      `update fleet_workspaces set ended_at = clock_timestamp(), due_at = $3,
         last_status = case when $4 in ('locked', 'interrupted') then last_status else $4 end,
         last_success_at = case when $5 then clock_timestamp() else last_success_at end,
         failures = case when $5 then 0 when $6 then failures + 1 else failures end,
         in_doubt = coalesce($7, in_doubt), commit = coalesce($8, commit)
       where name = $1 and run_id = $2
       returning ${isWanted} as wanted, paused or retired_at is not null as ended`,
      [
        name,
        runId,
        new Date(due),
        ended.status,
        isDone(ended.status),
        isBad(ended.status),
        ended.result?.type === "reconcile_finished" ? (ended.result.in_doubt ?? null) : null,
        ended.commit,
      ],
    );
    if (row?.ended === true) return undefined;
    return row?.wanted === true ? 0 : Math.max(0, due - now);
  }

  /** Milliseconds until workspaces are due, by name, without paused ones: all of them, or the one with this name. */
  async due(name?: string): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.query(
      `select name, extract(epoch from ${dueAt} - clock_timestamp()) * 1000 as ms
       from fleet_workspaces where retired_at is null and not paused and ($1::text is null or name = $1)`,
      [name ?? null],
    );
    return new Map(rows.map(({ name, ms }) => [String(name), Math.max(0, Number(ms))]));
  }

  /** Stores the status of the last notification; returns the previous one if it differs. Only one process receives it. */
  async exchangeNotice(
    name: string,
    notice: string,
  ): Promise<{ readonly former: string | null } | undefined> {
    const [row] = await this.#database.query(
      `with before as (select name, notified from fleet_workspaces where name = $1 for update)
       update fleet_workspaces as w set notified = $2 from before
       where w.name = before.name and before.notified is distinct from $2
       returning before.notified as former`,
      [name, notice],
    );
    return row === undefined ? undefined : { former: z.string().nullable().parse(row.former) };
  }

  async #recordRun(runId: string, workspace: FleetWorkspace, ended: EndedRun): Promise<void> {
    const { name, worker, started_at } = workspace;
    const { status: how, exit_code, result, error, commit } = ended;
    await this.#database.query(
      `insert into fleet_runs (id, workspace, worker, started_at, ended_at, status, exit_code, result, error, commit)
       values ($1, $2, $3, $4, clock_timestamp(), $5, $6, $7, $8, $9) on conflict (id) do nothing`,
      [
        runId,
        name,
        worker,
        new Date(started_at ?? 0),
        how,
        exit_code,
        result === null ? null : JSON.stringify(result),
        error === null ? null : JSON.stringify(error),
        commit,
      ],
    );
    await this.#database.query(
      `delete from fleet_runs where workspace = $1 and started_at <
         (select started_at from fleet_runs where workspace = $1 order by started_at desc offset ${keptRuns - 1} limit 1)`,
      [name],
    );
  }

  async #now(): Promise<number> {
    const [row] = await this.#database.query("select clock_timestamp() as now");
    return time.parse(row?.now);
  }
}

/**
 * The first time after `after` at which the workspace is due; epoch milliseconds. Each workspace has its own offset in the
 * interval, so that not all runs start at the same time.
 */
function nextSlot(name: string, { after, everyMs }: { after: number; everyMs: number }): number {
  const share = createHash("sha256").update(name).digest().readUInt32BE() / 2 ** 32;
  const offsetMs = Math.floor(share * everyMs);
  return (Math.floor((after - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}
