import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { systemClock } from "../../src/model/ports.ts";
import type { RequestLogEntry, Sandbox, SandboxOptions } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Ended, Folder, Running, RunOptions } from "./cli.ts";
import { draftsync, makeFolder, startDraftsync } from "./cli.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import { holdAnswers, startFaultyProxy } from "./faulty-proxy.ts";

type Env = Readonly<Record<string, string>>;

/** The initial workspace of each test. */
interface Settings {
  /** The files next to `draftsync.yaml`. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** YAML of settings of the service, by name, which extend or replace {@link usualService}. */
  readonly service?: Readonly<Record<string, string>>;
  /** YAML of further sections of `draftsync.yaml`. */
  readonly sections?: string;
  readonly sandbox?: Partial<SandboxOptions>;
}

/** An apply whose calls take effect and get no response before `answer` is called. */
export interface HeldApply extends Running {
  answer(): void;
}

/** Each part refers to that of the current test, so a file can destructure it once. */
export interface Workspace {
  readonly sandbox: Pick<Sandbox, "state" | "detach">;
  /** The proxy of every call. */
  readonly proxy: Pick<FaultyProxy, "seen" | "choose">;
  readonly folder: Omit<Folder, "dispose">;
  /** The requests at the sandbox; a test may empty the list. */
  readonly arrivals: RequestLogEntry[];
  /** The file `draftsync.yaml` with these sections instead of those of the settings. */
  config(sections?: string): { readonly "draftsync.yaml": string };
  /** The folder of commands, and their environment: the key and `env`. */
  options(env?: Env): RunOptions;
  run(...args: string[]): Promise<Ended>;
  /** Applies without a question. */
  apply(...args: string[]): Promise<Ended>;
  /** Binds and confirms the new ledger, like `apply --new-ledger`. */
  confirmLedger(): Promise<void>;
  /** Starts a command, which is killed after the test if it still runs. */
  start(args: readonly string[], env?: Env): Running;
  /** Starts an apply without a question, and waits until this number of its writes are held. Later calls pass. */
  holdApply(calls: number, env?: Env, ...args: readonly string[]): Promise<HeldApply>;
}

/** Settings without waits for the rate or the settle delay. */
const usualService = { rate: "{ limit: 1000, window: 1s }", profile: "{ settle_delay: 1ms }" };

/** A workspace on disk, new for each test, whose service is a sandbox behind a proxy that injects faults. */
export function useWorkspace(settings: Settings): Workspace {
  const { key = "canary-key-5ba1" } = settings.sandbox ?? {};
  const arrivals: RequestLogEntry[] = [];
  const running: Running[] = [];
  let parts: { sandbox: Sandbox; proxy: FaultyProxy; folder: Folder } | undefined;

  const now = () => {
    if (parts === undefined) throw new Error("The workspace exists only during a test.");
    return parts;
  };
  const configFor = (url: string, sections = settings.sections ?? "") => {
    const service = Object.entries({ base_url: url, ...usualService, ...settings.service });
    const lines = service.map(([name, value]) => `  ${name}: ${value}\n`);
    return { "draftsync.yaml": `version: 1\nworkspace: w\nservice:\n${lines.join("")}${sections}` };
  };
  const options = (env: Env = {}) => ({ cwd: now().folder.path, env: { DRAFTSYNC_API_KEY: key, ...env } });
  const run = (...args: string[]) => draftsync(args, options());
  const start = (args: readonly string[], env?: Env) => {
    const started = startDraftsync(args, options(env));
    running.push(started);
    return started;
  };

  beforeEach(async () => {
    arrivals.length = 0;
    const log = (arrival: RequestLogEntry) => void arrivals.push(arrival);
    const sandbox = await startSandbox({ ...settings.sandbox, key, log });
    const proxy = await startFaultyProxy(sandbox.url);
    parts = { sandbox, proxy, folder: await makeFolder({ ...configFor(proxy.url), ...settings.files }) };
  });

  afterEach(async () => {
    for (const each of running.splice(0)) {
      each.kill("SIGKILL");
      await each.ended;
    }
    const { sandbox, proxy, folder } = now();
    parts = undefined;
    await proxy.close();
    await sandbox.close();
    await folder.dispose();
  });

  return {
    sandbox: { state: () => now().sandbox.state(), detach: (file) => now().sandbox.detach(file) },
    proxy: {
      get seen() {
        return now().proxy.seen;
      },
      get choose() {
        return now().proxy.choose;
      },
      set choose(choose) {
        now().proxy.choose = choose;
      },
    },
    folder: {
      get path() {
        return now().folder.path;
      },
      write: (files) => now().folder.write(files),
      read: (name) => now().folder.read(name),
      remove: (name) => now().folder.remove(name),
    },
    arrivals,
    config: (sections) => configFor(now().proxy.url, sections),
    options,
    run,
    confirmLedger: async () => {
      const location = join(now().folder.path, ".draftsync/state.db");
      const ledger = await openLedger({ location, clock: systemClock });
      await ledger.bind({ origin: now().proxy.url, workspace: "w" }, systemClock.now());
      await ledger.close();
    },
    apply: (...args) => run("apply", "--auto-approve", ...args),
    start,
    holdApply: async (calls, env, ...args) => {
      const { proxy } = now();
      const { held, answer } = holdAnswers();
      const writes = () => proxy.seen.filter((request) => !request.startsWith("GET")).length;
      const before = writes();
      proxy.choose = ({ method }) => (method === "GET" ? undefined : held);
      const holder = start(["apply", "--auto-approve", ...args], env);
      await expect.poll(() => writes() - before, { timeout: 60_000 }).toBe(calls);
      proxy.choose = () => undefined;
      return { ...holder, answer };
    },
  };
}
