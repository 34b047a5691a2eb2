import { FleetDatabase, FleetError, type RetrySettings } from "../../fleet/fleet-database.ts";
import type { FleetQueue } from "../../fleet/fleet-queue.ts";
import { FleetStore, type FleetWorkspace } from "../../fleet/fleet-store.ts";
import { nearest } from "../../manifest/nearest.ts";
import type { Cli } from "../cli.ts";
import { type FleetConfig, loadFleet } from "./fleet-config.ts";

/** An open fleet. */
export interface OpenFleet {
  readonly config: FleetConfig;
  readonly store: FleetStore;
  /** Opened by the first call. */
  queue(): Promise<FleetQueue>;
}

/** How a fleet is opened. */
interface FleetOpening {
  readonly file: string | undefined;
  /** Whether to create missing tables; otherwise they are an error. */
  readonly migrates?: boolean;
  readonly retry?: RetrySettings;
}

/** Opens the fleet of `fleet.yaml`, and closes it after the work. */
export async function inFleet<T>(
  { cwd, env }: Pick<Cli, "cwd" | "env">,
  { file, migrates = false, retry = { ms: 0 } }: FleetOpening,
  work: (fleet: OpenFleet) => Promise<T>,
): Promise<T> {
  const config = await loadFleet({ cwd, env, file });
  const database = new FleetDatabase(config.database, retry);
  let queue: FleetQueue | undefined;
  try {
    await (migrates ? database.migrate() : database.assertThere());
    return await work({
      config,
      store: new FleetStore(database),
      queue: async () => {
        if (queue === undefined) {
          const { openQueue } = await import("../../fleet/fleet-queue.ts");
          queue = await openQueue(database, { migrates });
        }
        return queue;
      },
    });
  } finally {
    await queue?.close();
    await database.close();
  }
}

/** The workspaces of these names. Throws {@link FleetError} `unknown-workspace` for one that is not there. */
export function pick(
  names: readonly string[],
  workspaces: readonly FleetWorkspace[],
): readonly FleetWorkspace[] {
  const known = new Map(workspaces.map((each) => [each.name, each]));
  return names.map((name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const similar = nearest(name, [...known.keys()]);
    throw new FleetError(`the fleet has no workspace ${name}`, {
      code: "unknown-workspace",
      hint:
        similar === undefined
          ? "`draftsync fleet status` lists them; `draftsync fleet apply` takes over new ones."
          : `Did you mean ${similar}? \`draftsync fleet apply\` takes over new ones.`,
    });
  });
}
