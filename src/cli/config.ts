import { stat } from "node:fs/promises";
import { basename, dirname, join, parse, relative, resolve } from "node:path";
import { isPostgresLocation, parsePostgresLocation } from "../ledger/postgres/postgres-location.ts";
import { parseRate, type RateBound } from "../model/rate.ts";
import { locationAt, type SourceLocation } from "../model/source-location.ts";
import type { PolicyAction } from "../plan/policy.ts";
import type { SafetyLimits } from "../plan/safety.ts";
import type { ServiceProfile } from "../service/profile.ts";
import type { WorkspaceFlags } from "./cli.ts";
import { readConfigLayers, withMaskedSecrets } from "./config-layers.ts";
import { type ConfigFile, configSchema, defaultRefresh, defaultRemote } from "./config-schema.ts";
import { CliError } from "./runtime/cli-error.ts";

/** The name that is looked for. */
export const configName = "draftsync.yaml";

/** The config after flags and environment override it. Paths are absolute; frozen. */
export interface Config {
  /** The folder of the config: what `source` addresses and patterns are relative to. */
  readonly root: string;
  readonly file: string;
  readonly workspace: string;
  readonly manifests: readonly string[];
  /** Where the file has each of `manifests`, relative to its folder; nothing for the default. */
  readonly manifestLocations: readonly (SourceLocation | undefined)[];
  readonly service: ServiceConfig;
  /** Of the ledger: an absolute path, or a postgres:// URL that may hold a password and is for `openLedger` alone. */
  readonly stateLocation: string;
  /** Folder of the recovery log, absolute; absent: next to the ledger, or `.draftsync` for one in PostgreSQL. */
  readonly recoveryFolder?: string;
  readonly refresh: RefreshConfig;
  readonly safety: SafetyLimits;
  readonly reconcile: { readonly allow: ReadonlySet<PolicyAction>; readonly lockWaitMs: number };
  readonly notify: NotifyConfig;
}

/** Where the address of the webhook is; at most one of the two. The address is a secret. */
export interface NotifyConfig {
  readonly url?: string;
  /** Absolute. */
  readonly urlFile?: string;
}

/** What a refresh checks; times in milliseconds. */
export interface RefreshConfig {
  /** Whether a plan checks the service without a flag: when the config has the section. */
  readonly byDefault: boolean;
  readonly attachments: "none" | "probe";
  readonly maxCalls: number;
  readonly maxAgeMs: number;
}

/** The service's settings; times in milliseconds. */
export interface ServiceConfig {
  /** Absent for the embedded sandbox. */
  readonly baseUrl?: string;
  /** What ledger and plans call the service: its normal address, or `sandbox`. */
  readonly origin: string;
  readonly apiKeyFile?: string;
  readonly caFile?: string;
  readonly allowHttp: boolean;
  readonly rate: { readonly limit: number; readonly windowMs: number };
  /** Where workspaces share the rate limit: as `stateLocation`; absent: in the ledger. */
  readonly sharedRates?: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly profile: ServiceProfile;
}

/** Where a command was called from. */
export interface ConfigEnvironment {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly flags: WorkspaceFlags;
}

/**
 * Finds, reads and compiles the config. Flags come before the environment (`DRAFTSYNC_BASE_URL`, `DRAFTSYNC_STATE`,
 * `DRAFTSYNC_RATE`, `DRAFTSYNC_RATE_SHARED`, `DRAFTSYNC_RECOVERY`), the environment before the file. Throws {@link CliError},
 * `DiagnosticsError`, and a `LedgerError` for a location that cannot be read.
 */
export async function loadConfig(environment: ConfigEnvironment): Promise<Config> {
  const { cwd, flags } = environment;
  const file = flags.config === undefined ? await findConfig(cwd) : resolve(cwd, flags.config);
  const { value, root } = await readConfigLayers(file, (path) => relative(cwd, path) || path).catch(
    (error: unknown) => {
      throw withMaskedSecrets(error);
    },
  );
  const patterns = root.get("manifests");
  const manifestLocations = value.manifests.map((_pattern, at) => {
    const located = patterns?.get(at);
    return located === undefined ? undefined : locationAt(basename(file), located.position);
  });
  return Object.freeze({ ...compileConfig(value, file, environment), manifestLocations });
}

/**
 * The config of a service of which only the address is known, from a flag or the environment; `undefined` when it is in
 * neither. Its file is not there.
 */
export function assumeConfig(environment: ConfigEnvironment): Config | undefined {
  const { cwd, env, flags } = environment;
  const base_url = flags.baseUrl ?? (env.DRAFTSYNC_BASE_URL || undefined);
  if (base_url === undefined) return undefined;
  const content = configSchema.parse({ version: 1, workspace: "none", service: { base_url } });
  return compileConfig(content, join(cwd, configName), environment);
}

function compileConfig(content: ConfigFile, file: string, { cwd, env, flags }: ConfigEnvironment): Config {
  const root = dirname(file);
  const baseUrl = flags.baseUrl ?? (env.DRAFTSYNC_BASE_URL || undefined);
  const state = flags.state ?? (env.DRAFTSYNC_STATE || undefined);
  const { max_deletes: maxDeletes, removed_drafts: removedDrafts } = content.safety;
  const { attachments, max_calls: maxCalls, max_age: maxAgeMs } = content.refresh ?? defaultRefresh();
  return Object.freeze({
    root,
    file,
    workspace: content.workspace,
    manifests: content.manifests,
    manifestLocations: [],
    service: compileService(content.service, baseUrl, { root, cwd, env, flags }),
    stateLocation:
      state === undefined
        ? recordedLocation(content.state, root, stateSetting)
        : locate(state, cwd, stateSetting),
    ...(env.DRAFTSYNC_RECOVERY ? { recoveryFolder: resolve(cwd, env.DRAFTSYNC_RECOVERY) } : {}),
    refresh: Object.freeze({ byDefault: content.refresh !== undefined, attachments, maxCalls, maxAgeMs }),
    safety: { maxDeletes, removedDrafts },
    reconcile: { allow: new Set(content.reconcile.allow), lockWaitMs: content.reconcile.lock_wait },
    notify: compileNotify(content.notify, root),
  });
}

/** The folder of the config that is at or above `cwd`, both absolute; `undefined` when there is none. */
export async function findRoot(cwd: string): Promise<string | undefined> {
  const top = parse(cwd).root;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const found = await stat(join(folder, configName)).catch(() => undefined);
    if (found?.isFile()) return folder;
    if (folder === top) return undefined;
  }
}

async function findConfig(cwd: string): Promise<string> {
  const root = await findRoot(cwd);
  if (root !== undefined) return join(root, configName);
  throw new CliError(`no ${configName} in ${cwd} or its parent folders`, {
    code: "config-missing",
    hint: "Run `draftsync init` to write one, or name one with --config FILE.",
  });
}

function compileService(
  service: ConfigFile["service"],
  override: string | undefined,
  { root, cwd, env, flags }: { readonly root: string } & ConfigEnvironment,
): ServiceConfig {
  const remote = service === "sandbox" ? defaultRemote(override ?? "http://sandbox") : service;
  const url = override ?? (service === "sandbox" ? undefined : service.base_url);
  const shared = env.DRAFTSYNC_RATE_SHARED
    ? locate(env.DRAFTSYNC_RATE_SHARED, cwd, rateSetting)
    : remote.rate.shared && recordedLocation(remote.rate.shared, root, rateSetting);
  return Object.freeze({
    ...(url === undefined || !shared ? {} : { sharedRates: shared }),
    ...(url === undefined ? { origin: "sandbox" } : address(url)),
    ...(remote.api_key_file === undefined ? {} : { apiKeyFile: resolve(root, remote.api_key_file) }),
    ...(remote.ca_file === undefined ? {} : { caFile: resolve(root, remote.ca_file) }),
    allowHttp: remote.allow_http,
    rate: env.DRAFTSYNC_RATE
      ? rateOf(env.DRAFTSYNC_RATE)
      : { limit: remote.rate.limit, windowMs: remote.rate.window },
    concurrency: flags.concurrency ?? remote.concurrency,
    timeoutMs: remote.timeout,
    profile: remote.profile,
  });
}

function rateOf(text: string): RateBound {
  const rate = parseRate(text);
  if (rate !== undefined) return rate;
  throw new CliError(`DRAFTSYNC_RATE must be a rate limit, not "${text}"`, {
    code: "rate-invalid",
    hint: "Use DRAFTSYNC_RATE=10/1s: calls and window.",
  });
}

/** Checked here and not by the schema, whose errors show the line: it may hold the address. */
function compileNotify({ url, url_file }: ConfigFile["notify"], root: string): NotifyConfig {
  if (url !== undefined && url_file !== undefined) {
    throw new CliError("`notify` in the config has both `url` and `url_file`", {
      code: "notify-url-twice",
      hint: "Keep url_file, and store the URL in that file only.",
    });
  }
  return {
    ...(url === undefined ? {} : { url }),
    ...(url_file === undefined ? {} : { urlFile: resolve(root, url_file) }),
  };
}

/** The address in its normal form, without a slash at the end. */
function address(text: string): { baseUrl: string; origin: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Not shown: it may be a key that was pasted here, or hold a password.
    throw new CliError("the service address is not an http or https URL", {
      code: "base-url-invalid",
      hint: "Use a URL such as https://api.example.com in service.base_url, DRAFTSYNC_BASE_URL or --base-url.",
    });
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new CliError("the service address must not contain a user, a password, a query or a fragment", {
      code: "base-url-invalid",
      hint: "Set the API key in DRAFTSYNC_API_KEY.",
    });
  }
  const normal = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  return { baseUrl: normal, origin: normal };
}

/** How messages name a location. */
interface LocationSetting {
  readonly subject: string;
  readonly config: string;
  readonly variable: string;
  readonly places: string;
}

const stateSetting: LocationSetting = {
  subject: "the ledger",
  config: "state",
  variable: "DRAFTSYNC_STATE",
  places: "`state`, DRAFTSYNC_STATE or --state",
};

const rateSetting: LocationSetting = {
  subject: "shared rate reservations",
  config: "service.rate.shared",
  variable: "DRAFTSYNC_RATE_SHARED",
  places: "service.rate.shared or DRAFTSYNC_RATE_SHARED",
};

/** Also a URL in quotes, after a blank, or with another mistake: no path of a ledger looks like that. */
const looksLikeUrl = /:\/\/|^["'\s\ufeff]|postgres(ql)?:/i;

/** Checked before anything else is done; a path is relative to `folder`. */
function locate(location: string, folder: string, { subject, places }: LocationSetting): string {
  if (isPostgresLocation(location)) {
    parsePostgresLocation(location);
    return location;
  }
  // Not shown: it may hold a password.
  if (!looksLikeUrl.test(location)) return resolve(folder, location);
  const [, scheme = "this kind of location"] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(location) ?? [];
  throw new CliError(
    `${scheme} is not supported for ${subject}: use a SQLite file or a PostgreSQL database`,
    {
      code: "state-unsupported",
      hint: `Use a path such as .draftsync/state.db, or postgres://user@host/database without quotes, in ${places}.`,
    },
  );
}

/** The config is in version control: a password has no place in it. */
function recordedLocation(location: string, root: string, setting: LocationSetting): string {
  const { config, variable } = setting;
  if (isPostgresLocation(location) && parsePostgresLocation(location).password !== undefined) {
    throw new CliError(`\`${config}\` in the config must not contain a password`, {
      code: "state-password",
      hint: `Write postgres://user@host/database there. Set the password in PGPASSWORD or the password file (~/.pgpass), or the whole location in ${variable}. A password that was committed should be changed.`,
    });
  }
  return locate(location, root, setting);
}
