import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/model/ports.ts";
import type { Arrival } from "../../../src/sandbox/arrivals.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server.ts";
import type { StoredOperation } from "../../../src/state/history.ts";
import { openLedger } from "../../../src/state/open-ledger.ts";
import { type Folder, makeFolder } from "../../support/cli.ts";
import { judge } from "./judge.ts";
import { type BytePoint, type KillProxy, startKillProxy } from "./kill-proxy.ts";
import { after, before } from "./scenario.ts";

export const key = "canary-key-c4a5";
/** Small, so that a kill that refilled it would show; larger than what the scenario needs in one window. */
const rate = { limit: 12, windowMs: 60 };

const config = (url: string) => `version: 1
workspace: crash
service:
  base_url: ${url}
  rate: { limit: ${rate.limit}, window: ${rate.windowMs}ms }
  concurrency: 1
  profile:
    settle_delay: 10ms
    upload_poll_min: 5ms
    upload_poll_max: 5ms
    storage: { endpoint: "${url}" }
`;

/** One life after the same beginning: a service and a workspace of its own. */
export interface Life {
  readonly folder: string;
  readonly url: string;
  readonly arrivals: Arrival[];
  readonly sandbox: Sandbox;
  close(): Promise<void>;
}

/** Everything that a scenario is killed in, again and again from the same beginning. */
export interface CrashWorld {
  readonly proxy: KillProxy;
  /** Starts a life; `onKill` is called when the byte is reached. */
  begin(point: BytePoint | undefined, onKill: () => void): Promise<Life>;
  /** The operations that the ledger has beyond those of the beginning. The lock of who was killed is released. */
  readLedger(life: Life): Promise<readonly StoredOperation[]>;
  close(): Promise<void>;
}

/** `apply` brings the first manifests to the service. */
export async function startCrashWorld(apply: (life: Life) => Promise<unknown>): Promise<CrashWorld> {
  const proxy = await startKillProxy();
  const origin: Folder = await makeFolder({ "draftsync.yaml": config(proxy.url), ...before });
  const start = async (folder: string): Promise<Life> => {
    const arrivals: Arrival[] = [];
    const sandbox = await startSandbox({
      key,
      db: join(folder, "server", "sandbox.db"),
      log: (arrival) => void arrivals.push(arrival),
      uploadProcessingMs: 0,
    });
    return { folder, url: proxy.url, arrivals, sandbox, close: () => sandbox.close() };
  };
  const first = await start(origin.path);
  proxy.arm(first.sandbox.port, undefined, () => {});
  await apply(first);
  await first.close();
  const known = new Set((await operationsOf(origin.path)).map(({ id }) => id));
  await origin.write(after);

  return {
    proxy,
    async begin(point, onKill) {
      const folder = mkdtempSync(join(tmpdir(), "draftsync-crash-"));
      cpSync(origin.path, folder, { recursive: true });
      const life = await start(folder);
      proxy.arm(life.sandbox.port, point, onKill);
      return {
        ...life,
        close: async () => {
          await life.close();
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
    readLedger: async (life) => (await operationsOf(life.folder)).filter(({ id }) => !known.has(id)),
    async close() {
      await proxy.close();
      await origin.dispose();
    },
  };
}

async function operationsOf(folder: string): Promise<readonly StoredOperation[]> {
  const ledger = await openLedger({ location: join(folder, ".draftsync", "state.db"), clock: systemClock });
  try {
    const lock = await ledger.heldLock();
    if (lock !== undefined) await ledger.releaseLock(lock.id);
    return await ledger.operations();
  } finally {
    await ledger.close();
  }
}

async function inDoubtOf(life: Life): Promise<readonly string[]> {
  const location = join(life.folder, ".draftsync", "state.db");
  const ledger = await openLedger({ location, clock: systemClock });
  try {
    return [...new Set((await ledger.load()).inDoubt.map(({ address }) => address))];
  } finally {
    await ledger.close();
  }
}

/** How a kill was survived. */
export interface Verdict {
  readonly problems: readonly string[];
  /** How many publications and duplicates were left to a person. */
  readonly inDoubt: number;
}

/** What the runs after a kill are made with. */
export interface Survivor {
  /** Whether the rate bound outlives the kill: it does in the ledger that both runs share. */
  readonly sharesBound: boolean;
  apply(life: Life): Promise<void>;
  /** A person says what became of it. */
  resolve(life: Life, address: string, productId: number | undefined): Promise<void>;
  /** The changes that a plan still has: action and address. */
  pending(life: Life): Promise<readonly string[]>;
}

/** Applies until all is well, as a person would, and judges by the server's own log. */
export async function survive(world: CrashWorld, life: Life, by: Survivor): Promise<Verdict> {
  await world.proxy.cut();
  const operations = await world.readLedger(life);
  const killed = life.arrivals.splice(0);
  world.proxy.arm(life.sandbox.port, undefined, () => {});
  await by.apply(life);
  const inDoubt = await inDoubtOf(life);
  for (const address of inDoubt) await by.resolve(life, address, productOf(life, address));
  if (inDoubt.length > 0) await by.apply(life);
  const left = inDoubt.length > 0 ? await inDoubtOf(life) : [];
  const pending = await by.pending(life);
  const irrevocable = inDoubt.every((address) => /^drafts\/\d+\/product$|^duplicates\//.test(address));
  const problems = [
    ...judge({ killed, rerun: life.arrivals, operations, state: life.sandbox.state() }),
    ...(irrevocable ? [] : [`left in doubt: ${inDoubt.join()}`]),
    ...left.map((address) => `in doubt after it was settled: ${address}`),
    ...pending.map((change) => `planned after all was done: ${change}`),
    ...(by.sharesBound ? tooMany([...killed, ...life.arrivals]) : []),
  ];
  return { problems, inDoubt: inDoubt.length };
}

/** What the server made, if it did: `undefined` tells that the call never took effect. */
function productOf(life: Life, address: string): number | undefined {
  const draft = /^drafts\/(\d+)\/product$/.exec(address)?.[1];
  return life.sandbox
    .state()
    .products.find(({ draftId, duplicateOf }) =>
      draft === undefined ? duplicateOf !== null : draftId === Number(draft),
    )?.id;
}

function tooMany(arrivals: readonly Arrival[]): readonly string[] {
  const times = arrivals
    .filter(({ side }) => side === "service")
    .map(({ monotonic }) => monotonic)
    .sort((a, b) => a - b);
  const over = times.find(
    (time, at) => (times[at + rate.limit] ?? Number.POSITIVE_INFINITY) - time <= rate.windowMs,
  );
  return over === undefined ? [] : [`more than ${rate.limit} calls in ${rate.windowMs} ms`];
}
