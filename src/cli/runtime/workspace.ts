import { createHash } from "node:crypto";
import { join, relative, resolve, sep } from "node:path";
import type { DoctorClient } from "../../doctor/client.ts";
import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import { openLedger, openLedgerReader, type StateStore } from "../../ledger/open-ledger.ts";
import { messageOf } from "../../model/errors.ts";
import type { EventSink } from "../../model/event.ts";
import { type LedgerOwner, systemClock } from "../../model/ports.ts";
import type { RateStore } from "../../model/rate.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { formatCall } from "../../report/log-line.ts";
import type { Service } from "../../service/open-service.ts";
import type { ServiceOptions } from "../../service/options.ts";
import type { Cli, WorkspaceFlags } from "../cli.ts";
import { type Config, loadConfig } from "../config.ts";
import { CliError } from "./cli-error.ts";
import { loadApiKey, loadAuthorities, sandboxKey } from "./input-files.ts";

/** A config with its ledger and its service, each opened when first needed. */
export interface Workspace {
  readonly cli: Cli;
  readonly config: Config;
  /** The owner of a ledger with this config. */
  readonly owner: LedgerOwner;
  /** The ledger to write; creates it where it is missing, with a note. */
  ledger(): Promise<StateStore>;
  /** The ledger to read; needs no write access. A note says when it is missing. */
  reader(): Promise<LedgerReader>;
  /**
   * Opens the client, and starts the sandbox when that is the service. Sends nothing. Later calls return the same client,
   * whose events go to the new `emit`. Throws `ledger-owner-mismatch` where the ledger is bound to another service: a
   * change of the config alone never sends the key to a new address.
   */
  connect(emit: EventSink): Promise<Service>;
  /** Opens the client of `draftsync doctor`. `withoutLedger`: the rate limit applies to this process only. */
  connectDoctor(emit: EventSink, how: { readonly withoutLedger: boolean }): Promise<DoctorClient>;
  /** Closes a resource with the workspace, before those that were opened earlier. */
  keep<R extends Closable>(resource: R): R;
}

interface Closable {
  close(): Promise<void>;
}

/** Runs a command in its workspace and closes what was opened, last first, however the command ends. */
export async function inWorkspace<T>(
  cli: Cli,
  flags: WorkspaceFlags,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  return inWorkspaceOf(cli, await loadConfig({ cwd: cli.cwd, env: cli.env, flags }), work);
}

/** {@link inWorkspace} with a config that was loaded before. */
export async function inWorkspaceOf<T>(
  cli: Cli,
  config: Config,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  cli.terminal.adjust({ context: { workspace: config.workspace } });
  const opened: Closable[] = [];
  try {
    return await work(makeWorkspace(cli, config, opened));
  } finally {
    for (const resource of opened) await resource.close();
  }
}

function makeWorkspace(cli: Cli, config: Config, opened: Closable[]): Workspace {
  const { terminal } = cli;
  const { stateLocation, service: settings } = config;
  const owner = { origin: settings.origin, workspace: config.workspace };
  const keep = <R extends Closable>(resource: R): R => {
    opened.unshift(resource);
    return resource;
  };
  let sink: EventSink = () => {};
  const emit: EventSink = (event) => {
    const call = terminal.isVerbose ? formatCall(event) : undefined;
    if (call !== undefined) terminal.log(call);
    sink(event);
  };
  const onWaiting = (ms: number) =>
    sink({ type: "waiting", at: systemClock.now(), reason: "ledger", ms: Math.ceil(ms) });
  const open = (location: string) => openLedger({ location, clock: systemClock, onWaiting });

  let store: StateStore | undefined;
  const ledger = async () => {
    if (store === undefined) {
      store = keep(await open(stateLocation));
      if (store.isNew) terminal.err(`Created a new ledger at ${store.location}\n\n`);
    }
    return store;
  };
  let readOnly: LedgerReader | undefined;
  const reader = async () => {
    if (store !== undefined) return store;
    if (readOnly === undefined) {
      readOnly = keep(await openLedgerReader({ location: stateLocation, clock: systemClock }));
      if (readOnly.isMissing) terminal.err(`note: there is no ledger at ${readOnly.location} yet\n\n`);
    }
    return readOnly;
  };

  /** Where calls are reserved: in the ledger, or in a table that workspaces share. */
  const openRates = async (withoutLedger: boolean): Promise<(apiKey: string) => RateStore | undefined> => {
    const { sharedRates } = settings;
    const used = withoutLedger ? undefined : await (sharedRates === undefined ? ledger() : reader());
    if (used !== undefined) assertOwner(await used.owner(), owner);
    if (sharedRates === undefined) return () => (withoutLedger ? undefined : store);
    // The table is in a ledger of its own, whose other tables stay empty.
    const shared = keep(await open(sharedRates).catch(refuseRates));
    return (apiKey) => {
      // The address does not count: one service may have several.
      const key = createHash("sha256").update(apiKey).digest("hex");
      return { reserve: (request) => shared.reserve(request, key) };
    };
  };
  const serviceOptions = async (withoutLedger = false): Promise<ServiceOptions> => {
    const rates = await openRates(withoutLedger);
    const { getProxyForUrl } = await import("proxy-from-env");
    const { rate, concurrency, timeoutMs, profile, allowHttp, caFile } = settings;
    const apiKey = settings.baseUrl === undefined ? sandboxKey : await loadApiKey(settings, cli.env);
    const authorities = caFile === undefined ? [] : [await loadAuthorities(caFile)];
    const baseUrl = settings.baseUrl ?? keep(await startEmbeddedSandbox(config)).url;
    if (allowHttp && baseUrl.startsWith("http:")) {
      const text = `warning: ${new URL(baseUrl).origin} is not https: your API key is sent unencrypted\n`;
      terminal.log({ level: "warning", text, code: "base-url-not-https" });
    }
    const rateStore = rates(apiKey);
    return {
      baseUrl,
      apiKey,
      rate,
      ...(rateStore === undefined ? {} : { rateStore }),
      concurrency,
      timeoutMs,
      profile,
      clock: systemClock,
      emit,
      root: config.root,
      interrupts: cli.interrupts,
      allowHttp,
      proxyFor: (url) => getProxyForUrl(url),
      authorities,
    };
  };
  let service: Service | undefined;
  return {
    cli,
    config,
    owner,
    ledger,
    reader,
    connect: async (to) => {
      sink = to;
      const { openService } = await import("../../service/open-service.ts");
      service ??= keep(openService(await serviceOptions()));
      return service;
    },
    connectDoctor: async (to, { withoutLedger }) => {
      sink = to;
      const { openDoctorClient } = await import("../../doctor/client.ts");
      return keep(openDoctorClient(await serviceOptions(withoutLedger)));
    },
    keep,
  };
}

function refuseRates(error: unknown): never {
  throw new CliError(`the table of rate reservations cannot be opened: ${messageOf(error)}`, {
    code: "rate-limiter-unavailable",
    hint: "Check service.rate.shared (or DRAFTSYNC_RATE_SHARED), and that this user may write there.",
    cause: error,
  });
}

/** The sandbox enforces the same limit as the client keeps. */
async function startEmbeddedSandbox({ root, service: { rate } }: Config) {
  const { startSandbox } = await import("../../sandbox/server.ts");
  const folder = join(root, ".draftsync");
  return startSandbox({
    key: sandboxKey,
    db: join(folder, "sandbox.db"),
    log: join(folder, "sandbox.ndjson"),
    rate,
  });
}

/** A path that the user gave, relative to the workspace, as manifests are named; begins with `../` outside of it. */
export function pathInWorkspace(
  { cwd }: Pick<Cli, "cwd">,
  { root }: Pick<Config, "root">,
  path: string,
): string {
  return relative(root, resolve(cwd, path)).replaceAll(sep, "/");
}
