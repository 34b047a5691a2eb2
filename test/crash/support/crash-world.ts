import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoredOperation } from "../../../src/model/history.ts";
import type { RequestLogEntry } from "../../../src/sandbox/request-log.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server.ts";
import { type Folder, makeFolder } from "../../support/cli.ts";
import { type BytePoint, type KillProxy, startKillProxy } from "./kill-proxy.ts";
import { inFolder, inPostgres, type LedgerLocation, withLedger } from "./ledger-location.ts";
import { after, before } from "./scenario.ts";

export const key = "canary-key-c4a5";
/** Small enough to detect a bound that a kill resets. */
export const rate = { limit: 12, windowMs: 60 };

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

/** One run from the initial state, with a separate service and workspace. */
export interface Life {
  readonly folder: string;
  readonly ledger: LedgerLocation;
  readonly url: string;
  readonly arrivals: RequestLogEntry[];
  readonly sandbox: Sandbox;
  close(): Promise<void>;
}

/** The environment of repeated kills from the same initial state. */
export interface CrashWorld {
  readonly proxy: KillProxy;
  /** Starts a life; `onKill` runs when the byte is reached. */
  begin(point?: BytePoint, onKill?: () => void): Promise<Life>;
  /** The operations in the ledger since the initial state. */
  readLedger(life: Life): Promise<readonly StoredOperation[]>;
  close(): Promise<void>;
}

/** Options of a {@link CrashWorld}. */
export interface CrashWorldOptions {
  /** Applies the first manifests. */
  readonly apply: (life: Life) => Promise<unknown>;
  /** The PostgreSQL server with the ledgers; by default they are in the workspace. */
  readonly databaseUrl?: string;
}

/** Starts a {@link CrashWorld}. */
export async function startCrashWorld({ apply, databaseUrl }: CrashWorldOptions): Promise<CrashWorld> {
  const proxy = await startKillProxy();
  const origin: Folder = await makeFolder({ "draftsync.yaml": config(proxy.url), ...before });
  const start = async (folder: string, ledger: LedgerLocation): Promise<Life> => {
    const arrivals: RequestLogEntry[] = [];
    const sandbox = await startSandbox({
      key,
      db: join(folder, "server", "sandbox.db"),
      log: (arrival) => void arrivals.push(arrival),
      uploadProcessingMs: 0,
    });
    return { folder, ledger, url: proxy.url, arrivals, sandbox, close: () => sandbox.close() };
  };
  const first = await start(origin.path, inFolder(origin.path));
  proxy.arm(first.sandbox.port);
  await apply(first);
  await first.close();
  const known = new Set((await operationsOf(first)).map(({ id }) => id));
  await origin.write(after);

  return {
    proxy,
    async begin(point, onKill) {
      const folder = mkdtempSync(join(tmpdir(), "draftsync-crash-"));
      cpSync(origin.path, folder, { recursive: true });
      const ledger = databaseUrl === undefined ? inFolder(folder) : await inPostgres(folder, databaseUrl);
      const life = await start(folder, ledger);
      proxy.arm(life.sandbox.port, point, onKill);
      return {
        ...life,
        close: async () => {
          await life.close();
          await ledger.drop();
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
    readLedger: async (life) => (await operationsOf(life)).filter(({ id }) => !known.has(id)),
    async close() {
      await proxy.close();
      await origin.dispose();
    },
  };
}

function operationsOf(life: Pick<Life, "ledger">): Promise<readonly StoredOperation[]> {
  return withLedger(life.ledger, (ledger) => ledger.operations());
}
