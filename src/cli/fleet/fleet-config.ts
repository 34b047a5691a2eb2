import { basename, dirname, relative, resolve } from "node:path";
import { glob } from "tinyglobby";
import { z } from "zod";
import type { DeclaredWorkspace } from "../../fleet/fleet-store.ts";
import type { WorkerSettings } from "../../fleet/fleet-worker.ts";
import { isPostgresLocation, parsePostgresLocation } from "../../ledger/postgres/postgres-location.ts";
import { nearest } from "../../manifest/nearest.ts";
import { compareText } from "../../model/address.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import { positiveDurationSchema } from "../../model/time.ts";
import { readConfig, withMaskedSecrets } from "../config-layers.ts";
import { CliError, DiagnosticsError } from "../runtime/cli-error.ts";
import { parseSettings } from "../runtime/input-files.ts";

const keyName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, "must be lower-case letters, digits, dots, dashes and underscores");

const keySchema = z.strictObject({
  api_key_file: z
    .string()
    .min(1)
    .describe("File that contains the API key and nothing else, relative to this file"),
  rate: z
    .strictObject({
      limit: z.int().min(1).max(100_000).describe("Calls allowed in any window"),
      window: positiveDurationSchema.prefault("1s").describe("Length of the window"),
    })
    .optional()
    .describe("Rate limit of the key. By default the configs of the workspaces say it, and the lowest holds"),
});

const overrideSchema = z.strictObject({
  every: positiveDurationSchema.optional().describe("How often this workspace runs"),
  key: keyName.optional().describe("One of `keys`. By default the workspace's own config has its API key"),
  paused: z
    .boolean()
    .optional()
    .describe("Whether it does not run. By default `fleet pause` and `fleet resume` decide"),
});

/** `fleet.yaml`. Durations are strings on the outside and milliseconds once parsed. */
export const fleetSchema = z
  .strictObject({
    version: z.literal(1).describe("Format version of this file"),
    database: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The database of the fleet: `postgres://user@host/database?schema=name` without a password; the schema is `draftsync_fleet` unless it is given. DRAFTSYNC_FLEET_DATABASE overrides it",
      ),
    queue: z.literal("postgres").default("postgres").describe("Where the queue lies: in the same database"),
    every: positiveDurationSchema.prefault("15m").describe("How often each workspace runs"),
    slots: z.int().min(1).max(64).default(8).describe("How many runs a worker makes at a time"),
    deadline: positiveDurationSchema.prefault("1h").describe("After which a run is ended"),
    memory: z.int().min(64).max(65_536).default(1024).describe("Limit of the heap of a run, megabytes"),
    keys: z
      .record(keyName, keySchema)
      .default({})
      .describe("API keys that several workspaces share, by name"),
    workspaces: z
      .array(z.string().min(1))
      .min(1)
      .describe("Patterns of the `draftsync.yaml` files, relative to this file"),
    overrides: z
      .record(z.string(), overrideSchema)
      .default({})
      .describe("Settings of single workspaces, by name"),
    notify: z
      .strictObject({
        url_file: z.string().min(1).describe("File that contains the webhook URL and nothing else"),
      })
      .optional()
      .describe("Notifications of changed status. DRAFTSYNC_NOTIFY_URL overrides it"),
  })
  .describe("The config of a fleet of draftsync workspaces");

/** The JSON Schema of `fleet.yaml`, for editors. */
export function fleetJsonSchema(): object {
  return { ...z.toJSONSchema(fleetSchema, { io: "input", target: "draft-7" }), title: "draftsync fleet" };
}

/** `fleet.yaml` after the environment overrides it; times in milliseconds, paths absolute. */
export interface FleetConfig extends WorkerSettings {
  readonly file: string;
  /** `postgres://…`; may hold a password. */
  readonly database: string;
  readonly everyMs: number;
  /** Runs at a time of one worker. */
  readonly slots: number;
  /** The file with the URL of the webhook. */
  readonly notifyUrlFile: string | undefined;
  /** Finds the workspaces. Throws {@link DiagnosticsError} for patterns and overrides that match nothing. */
  declared(): Promise<readonly DeclaredWorkspace[]>;
}

/** Where a fleet command was called. */
interface FleetPlace {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly file: string | undefined;
}

const fileAdvice = "Name the file of the fleet with --fleet FILE, or change to its folder.";

/** Reads `fleet.yaml`. Throws {@link CliError}, and {@link DiagnosticsError} with every mistake at its line. */
export async function loadFleet({ cwd, env, file: given }: FleetPlace): Promise<FleetConfig> {
  const file = resolve(cwd, given ?? "fleet.yaml");
  const shown = relative(cwd, file) || file;
  const bytes = await readConfig(file, shown, fileAdvice);
  try {
    return compile(parseSettings({ file: shown, bytes, schema: fleetSchema }), { file, env });
  } catch (error) {
    throw withMaskedSecrets(error);
  }
}

type Parsed = ReturnType<typeof parseSettings<z.output<typeof fleetSchema>>>;

function compile(parsed: Parsed, { file, env }: { file: string; env: NodeJS.ProcessEnv }): FleetConfig {
  const { value, root: places, source } = parsed;
  const root = dirname(file);
  const keys = new Map(
    Object.entries(value.keys).map(([name, { api_key_file, rate }]) => [
      name,
      { file: resolve(root, api_key_file), rate: rate && { limit: rate.limit, windowMs: rate.window } },
    ]),
  );
  const faults = Object.entries(value.overrides).flatMap(([name, { key }]): Diagnostic[] => {
    if (key === undefined || keys.has(key)) return [];
    const similar = nearest(key, [...keys.keys()]);
    const hint = similar === undefined ? `Add ${key} to \`keys\`.` : `Did you mean ${similar}?`;
    const span = places.closest(["overrides", name, "key"]).span;
    const message = `${key} is not one of the keys`;
    return [source.diagnose({ code: "unknown-key-name", message, hint, span })];
  });
  if (faults.length > 0) throw new DiagnosticsError(faults);
  return {
    file,
    root,
    ...locationsOf(value.database, env),
    everyMs: value.every,
    slots: value.slots,
    deadlineMs: value.deadline,
    memoryMb: value.memory,
    keys,
    notifyUrlFile: value.notify === undefined ? undefined : resolve(root, value.notify.url_file),
    declared: () => findWorkspaces(parsed, root),
  };
}

/** The schema of the fleet is its own: a ledger may lie in the same database. */
function locationsOf(
  written: string | undefined,
  env: NodeJS.ProcessEnv,
): Pick<FleetConfig, "database" | "rates"> {
  const location = env.DRAFTSYNC_FLEET_DATABASE || written;
  if (location === undefined || !isPostgresLocation(location)) {
    const message =
      location === undefined
        ? "fleet.yaml names no database"
        : "the database of a fleet must be a PostgreSQL database";
    throw new CliError(message, {
      code: "fleet-database-missing",
      hint: "Write database: postgres://user@host/database there, or set DRAFTSYNC_FLEET_DATABASE.",
    });
  }
  const parsed = parsePostgresLocation(location);
  if (location === written && parsed.password !== undefined) {
    throw new CliError("`database` in fleet.yaml must not contain a password", {
      code: "state-password",
      hint: "Set the password in PGPASSWORD or the password file (~/.pgpass), or the whole location in DRAFTSYNC_FLEET_DATABASE. A password that was committed should be changed.",
    });
  }
  const schema = new URL(location).searchParams.get("schema") ?? "draftsync_fleet";
  return { database: withSchema(location, schema), rates: withSchema(location, `${schema}_rates`) };
}

/** The location with another schema. */
function withSchema(location: string, schema: string): string {
  const url = new URL(location);
  url.searchParams.set("schema", schema);
  return url.href;
}

async function findWorkspaces({ value, root: places, source }: Parsed, root: string) {
  const found = new Map<string, string>();
  const faults: Diagnostic[] = [];
  for (const [at, pattern] of value.workspaces.entries()) {
    const span = places.closest(["workspaces", at]).span;
    const files = await glob([pattern], { cwd: root, onlyFiles: true, expandDirectories: false });
    if (files.length === 0) {
      const message = `no file matches ${pattern}`;
      const hint =
        "Patterns name draftsync.yaml files, relative to this file. Remove a pattern that is no longer used.";
      faults.push(source.diagnose({ code: "no-workspace-found", message, hint, span }));
    }
    for (const config of files) {
      const name = nameOf(config, pattern, root);
      const known = found.get(name);
      if (known !== undefined && known !== config) {
        const message = `${known} and ${config} are both called ${name}`;
        const hint =
          "The name is the path from the first wildcard of the pattern on: use one pattern for both, or rename a folder.";
        faults.push(source.diagnose({ code: "workspace-name-twice", message, hint, span }));
      }
      found.set(name, config);
    }
  }
  const overrides = new Map(Object.entries(value.overrides));
  for (const name of overrides.keys()) {
    if (found.has(name)) continue;
    const similar = nearest(name, [...found.keys()]);
    const message = `there is no workspace ${name}`;
    const hint = similar === undefined ? "Names are those of the folders." : `Did you mean ${similar}?`;
    const span = places.closest(["overrides", name]).keySpan;
    faults.push(source.diagnose({ code: "unknown-workspace", message, hint, span }));
  }
  if (faults.length > 0) throw new DiagnosticsError(faults);
  return [...found]
    .sort(([a], [b]) => compareText(a, b))
    .map(([name, config]): DeclaredWorkspace => {
      const { every = value.every, key, paused } = overrides.get(name) ?? {};
      return { name, config, everyMs: every, key, paused };
    });
}

// The folders from the first wildcard of the pattern on: with `accounts/*/draftsync.yaml`, `lantern`.
function nameOf(config: string, pattern: string, root: string): string {
  const fixed = pattern.replace(/^\.\//, "").split("/");
  const wild = fixed.findIndex((part) => /[*?[{(!]/.test(part));
  const folders = config.split("/").slice(0, -1);
  const own = wild < 0 ? folders.slice(-1) : folders.slice(wild);
  return own.length === 0 ? (folders.at(-1) ?? basename(root)) : own.join("/");
}
