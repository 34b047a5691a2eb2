import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, inject } from "vitest";
import { type RequestLogEntry, type Sandbox, startSandbox } from "../../../src/sandbox/server.ts";
import { draftsync, type Ended, type Running, startDraftsync } from "../../support/cli.ts";
import { key, makeFleet, manifestOf } from "./make-fleet.mjs";

/** Options of {@link useFleet}. */
interface WorldOptions {
  readonly names: readonly string[];
  readonly accounts?: number;
  readonly accountOf?: (index: number) => number;
  readonly every?: string;
  readonly files?: number;
  readonly more?: string;
  readonly rate?: { readonly limit: number; readonly windowMs: number };
  /** Overrides the database of the test run. */
  readonly databaseUrl?: () => string;
}

interface WorkspaceStatus {
  readonly name: string;
  readonly status: string;
  readonly failures: number;
  readonly running_on?: string;
  readonly due_at?: string;
  readonly last_run?: {
    readonly status: string;
    readonly ended_at: string;
    readonly error?: { code: string };
  };
}

/** A fleet in a folder, a sandbox with an account for each workspace, and workers that end with their test. */
export function useFleet({ names, accounts = names.length, rate, databaseUrl, ...made }: WorldOptions) {
  let folder = "";
  let sandbox: Sandbox;
  const log: RequestLogEntry[] = [];
  const workers: Running[] = [];
  const url = () => databaseUrl?.() ?? inject("databaseUrl");
  const prefix = `fleet_${Math.random().toString(36).slice(2, 10)}`;
  const options = () => ({ cwd: folder, env: { PGPASSWORD: new URL(url()).password } });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "draftsync-fleet-"));
    sandbox = await startSandbox({
      key,
      accounts,
      rate: rate ?? { limit: 1000, windowMs: 1000 },
      log: (entry) => log.push(entry),
    });
    await makeFleet({ folder, url: sandbox.url, databaseUrl: url(), names, prefix, ...made });
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) {
      worker.kill("SIGTERM");
      await worker.ended;
    }
  });
  afterAll(async () => {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Running => {
    const { cwd, env: usual } = options();
    const started = startDraftsync(args, { cwd, env: { ...usual, ...env } });
    workers.push(started);
    return started;
  };
  const run = (...args: string[]): Promise<Ended> => draftsync(args, options());
  const statuses = async (): Promise<readonly WorkspaceStatus[]> => {
    const { stdout, stderr } = await run("fleet", "status", "--json");
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout).workspaces;
  };
  const statusOf = async (name: string): Promise<WorkspaceStatus> => {
    const found = (await statuses()).find((each) => each.name === name);
    if (found === undefined) throw new Error(`no workspace ${name}`);
    return found;
  };
  return {
    run,
    statuses,
    statusOf,
    log,
    /** Schema of its tables. */
    schema: `${prefix}_table`,
    sandbox: () => sandbox,
    folder: () => folder,
    startWorker: (...args: string[]) => start(["fleet", "worker", ...args]),
    /** Starts a worker with a clock this many milliseconds ahead of the database's. */
    startWorkerAhead: (ms: number, ...args: string[]) => {
      const shift = `const now = Date.now; Date.now = () => now() + ${ms};`;
      const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
      return start(["fleet", "worker", ...args], env);
    },
    start: (...args: string[]) => start(args),
    read: (path: string) => readFile(join(folder, path), "utf8"),
    write: (path: string, text: string) => writeFile(join(folder, path), text),
    writeManifest: (name: string, description: string, files = made.files ?? 3) =>
      writeFile(
        join(folder, "accounts", name, "manifests", "draft.yaml"),
        manifestOf(names.indexOf(name), files, description),
      ),
    /** Waits until the condition holds; fails after a minute. */
    until: async (holds: () => Promise<boolean>) => {
      for (const end = Date.now() + 60_000; Date.now() < end; await delay(100)) if (await holds()) return;
      throw new Error(
        `the condition did not hold within a minute: ${JSON.stringify(await statuses(), undefined, 1)}`,
      );
    },
  };
}
