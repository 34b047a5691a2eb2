import { createHash } from "node:crypto";
import { join } from "node:path";
import type { DoctorClient } from "../../doctor/client.ts";
import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import { openLedger, openLedgerReader, type StateStore } from "../../ledger/open-ledger.ts";
import { messageOf } from "../../model/errors.ts";
import type { EventSink } from "../../model/event.ts";
import { systemClock } from "../../model/ports.ts";
import type { RateStore } from "../../model/rate.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { formatCall } from "../../report/log-line.ts";
import type { Service } from "../../service/open-service.ts";
import type { ServiceOptions } from "../../service/options.ts";
import type { Cli, WorkspaceFlags } from "../cli.ts";
import type { Config } from "../config.ts";
import { loadConfig } from "../config.ts";
import { loadApiKey, sandboxKey } from "./api-key.ts";
import { loadAuthorities } from "./authorities.ts";
import { CliError } from "./cli-error.ts";

/** A config with its ledger and its service, each opened when it is first asked for. */
export interface Workspace {
  readonly config: Config;
  /** To write; makes one, and says so, where there is none. */
  ledger(): Promise<StateStore>;
  /** To read; makes none, and needs no right to write. Says so where there is none. */
  reader(): Promise<LedgerReader>;
  /**
   * Opens the client, and starts the sandbox when that is the service. Nothing is sent yet. It is opened once: a later
   * call gives the same one, whose events go to the new `emit`. Throws `ledger-owner-mismatch` where the ledger is bound to
   * another service: a change of the config alone never sends the key to a new address.
   */
  connect(emit: EventSink): Promise<Service>;
  /** Opens the client of `draftsync doctor`. `withoutLedger`: the rate limit applies to this process only. */
  connectDoctor(emit: EventSink, how: { readonly withoutLedger: boolean }): Promise<DoctorClient>;
  /** Has something closed with the rest, before what was opened earlier. */
  keep(resource: Closable): void;
}

interface Closable {
  close(): Promise<void>;
}

/** How a command uses its workspace. */
interface Use {
  /** It refuses the ledger of an older draftsync instead of upgrading it. */
  readonly onlyReads?: boolean;
}

/** Runs a command in its workspace and closes what was opened, last first, however the command ends. */
export async function inWorkspace<T>(
  cli: Cli,
  flags: WorkspaceFlags,
  work: (workspace: Workspace) => Promise<T>,
  use?: Use,
): Promise<T> {
  return inWorkspaceOf(cli, await loadConfig({ cwd: cli.cwd, env: cli.env, flags }), work, use);
}

/** {@link inWorkspace} with a config that was loaded before. */
export async function inWorkspaceOf<T>(
  cli: Cli,
  config: Config,
  work: (workspace: Workspace) => Promise<T>,
  { onlyReads = false }: Use = {},
): Promise<T> {
  cli.terminal.adjust({ context: { workspace: config.workspace } });
  const opened: (() => Promise<void>)[] = [];
  const keep = <R extends Closable>(resource: R): R => {
    opened.unshift(() => resource.close());
    return resource;
  };
  let sink: EventSink = () => {};
  const onWaiting = (ms: number) =>
    sink({ type: "waiting", at: systemClock.now(), reason: "ledger", ms: Math.ceil(ms) });
  const place = {
    location: config.stateLocation,
    clock: systemClock,
    older: onlyReads ? "refuse" : "migrate",
  } as const;
  let store: StateStore | undefined;
  const ledger = async () => {
    if (store === undefined) {
      store = keep(await openLedger({ ...place, onWaiting }));
      if (store.isNew) cli.terminal.err(`Created a new ledger at ${store.location}\n\n`);
    }
    return store;
  };
  let reading: LedgerReader | undefined;
  const reader = async () => {
    if (store !== undefined) return store;
    if (reading === undefined) {
      reading = keep(await openLedgerReader(place));
      if (reading.isMissing) cli.terminal.err(`note: there is no ledger at ${reading.location} yet\n\n`);
    }
    return reading;
  };
  const own = async <L extends LedgerReader>(opened: L): Promise<L> => {
    assertOwner(await opened.owner(), { origin: config.service.origin, workspace: config.workspace });
    return opened;
  };
  const rateTable = async ({
    withoutLedger,
  }: {
    readonly withoutLedger: boolean;
  }): Promise<RateTable | undefined> => {
    const { sharedRates } = config.service;
    if (sharedRates === undefined) return withoutLedger ? undefined : { ledger: await own(await ledger()) };
    if (!withoutLedger) await own(await reader());
    return { shared: keep(await openSharedRates(sharedRates, onWaiting)) };
  };
  let service: Service | undefined;
  const connectOnce = async (emit: EventSink) => {
    sink = emit;
    if (service !== undefined) return service;
    const { openService } = await import("../../service/open-service.ts");
    const logged = logCalls(cli, (event) => sink(event));
    const connection = { cli, emit: logged, keep, rates: await rateTable({ withoutLedger: false }) };
    service = keep(openService(await serviceOptions(config, connection)));
    return service;
  };
  try {
    return await work({
      config,
      ledger,
      reader,
      connect: connectOnce,
      connectDoctor: async (emit, { withoutLedger }) => {
        const { openDoctorClient } = await import("../../doctor/client.ts");
        const connection = {
          cli,
          emit: logCalls(cli, emit),
          keep,
          rates: await rateTable({ withoutLedger }),
        };
        return keep(openDoctorClient(await serviceOptions(config, connection)));
      },
      keep,
    });
  } finally {
    for (const close of opened) await close();
  }
}

/** Logs every call at the level `debug`. */
function logCalls({ terminal }: Cli, emit: EventSink): EventSink {
  return (event) => {
    const call = terminal.isVerbose ? formatCall(event) : undefined;
    if (call !== undefined) terminal.log(call);
    emit(event);
  };
}

/** The table lies in a ledger of its own, whose other tables stay empty. */
async function openSharedRates(location: string, onWaiting: (ms: number) => void): Promise<StateStore> {
  try {
    return await openLedger({ location, clock: systemClock, onWaiting });
  } catch (error) {
    throw new CliError(`the table of rate reservations cannot be opened: ${messageOf(error)}`, {
      code: "rate-limiter-unavailable",
      hint: "Check service.rate.shared (or DRAFTSYNC_RATE_SHARED), and that this user may write there.",
      cause: error,
    });
  }
}

/** Where calls are reserved: in the ledger, or in a table that workspaces share. */
type RateTable = { readonly ledger: RateStore } | { readonly shared: StateStore };

/** A digest names the API key in a shared table. The address does not count: one service may have several. */
function rateStoreOf(table: RateTable, apiKey: string): RateStore {
  if ("ledger" in table) return table.ledger;
  const key = createHash("sha256").update(apiKey).digest("hex");
  return { reserve: (request) => table.shared.reserve(request, key) };
}

interface Connection {
  readonly cli: Cli;
  readonly emit: EventSink;
  readonly rates: RateTable | undefined;
  readonly keep: <R extends Closable>(resource: R) => R;
}

async function serviceOptions(
  { service, root }: Config,
  { cli, emit, rates, keep }: Connection,
): Promise<ServiceOptions> {
  const { getProxyForUrl } = await import("proxy-from-env");
  const apiKey = service.baseUrl === undefined ? sandboxKey : await loadApiKey(service, cli.env);
  const authorities = service.caFile === undefined ? [] : [await loadAuthorities(service.caFile)];
  const baseUrl = service.baseUrl ?? keep(await startEmbeddedSandbox(root, service.rate)).url;
  const { rate, concurrency, timeoutMs, profile, allowHttp } = service;
  if (allowHttp && baseUrl.startsWith("http:")) {
    const text = `warning: ${new URL(baseUrl).origin} is not https: your API key is sent unencrypted\n`;
    cli.terminal.log({ level: "warning", text, code: "base-url-not-https" });
  }
  return {
    baseUrl,
    apiKey,
    rate,
    ...(rates === undefined ? {} : { rateStore: rateStoreOf(rates, apiKey) }),
    concurrency,
    timeoutMs,
    profile,
    clock: systemClock,
    emit,
    root,
    interrupts: cli.interrupts,
    allowHttp,
    proxyFor: (url) => getProxyForUrl(url),
    authorities,
  };
}

/** The sandbox enforces the same limit as the client keeps. */
async function startEmbeddedSandbox(root: string, rate: { limit: number; windowMs: number }) {
  const { startSandbox } = await import("../../sandbox/server.ts");
  const folder = join(root, ".draftsync");
  return startSandbox({
    key: sandboxKey,
    db: join(folder, "sandbox.db"),
    log: join(folder, "sandbox.ndjson"),
    rate,
  });
}
