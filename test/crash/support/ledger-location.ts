import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { askServer } from "../../unit/ledger/samples.ts";

/** The location of the ledger of one life. */
export interface LedgerLocation {
  readonly location: string;
  /** The environment variable with the location. */
  readonly env: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

/** A ledger in the workspace's folder. */
export function inFolder(folder: string): LedgerLocation {
  return { location: join(folder, ".draftsync", "state.db"), env: {}, drop: async () => {} };
}

/** A ledger in a new schema of a PostgreSQL database, with the records of the ledger in the folder. */
export async function inPostgres(folder: string, databaseUrl: string): Promise<LedgerLocation> {
  const schema = `crash_${randomBytes(8).toString("hex")}`;
  const url = new URL(databaseUrl);
  url.searchParams.set("schema", schema);
  const location = url.href;
  const exported = await withLedger(inFolder(folder), (ledger) => ledger.export());
  await withLedger({ location }, (ledger) => ledger.import(exported));
  return {
    location,
    env: { DRAFTSYNC_STATE: location },
    drop: async () => void (await askServer(`drop schema ${schema} cascade`, databaseUrl)),
  };
}

/** Opens a ledger, and closes it after the work. */
export async function withLedger<T>(
  { location }: Pick<LedgerLocation, "location">,
  work: (ledger: StateStore) => Promise<T>,
): Promise<T> {
  const ledger = await openLedger({ location, clock: systemClock });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}
