import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { askServer } from "../../unit/ledger/samples.ts";

/** Where the ledger of one life is. */
export interface LedgerPlace {
  readonly location: string;
  /** The variable that names it to the command. */
  readonly env: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

/** In the workspace's folder, of which the ledger is a part. */
export function inFolder(folder: string): LedgerPlace {
  return { location: join(folder, ".draftsync", "state.db"), env: {}, drop: async () => {} };
}

/** In a schema of its own of a PostgreSQL database, with what the ledger in the folder holds. */
export async function inPostgres(folder: string, databaseUrl: string): Promise<LedgerPlace> {
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

/** Opens a ledger for as long as some work takes. */
export async function withLedger<T>(
  { location }: Pick<LedgerPlace, "location">,
  work: (ledger: StateStore) => Promise<T>,
): Promise<T> {
  const ledger = await openLedger({ location, clock: systemClock });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}
