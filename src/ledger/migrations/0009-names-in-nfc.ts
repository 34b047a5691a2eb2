import { sql } from "kysely";
import type { Migration } from "../migrate.ts";
import type { LedgerQueries } from "../schema.ts";

/** Names of duplicates are kept in NFC, as they are read: in another form the copy would be made a second time. */
export const namesInNfcMigration: Migration = {
  version: 9,
  name: "names-in-nfc",
  async up(db) {
    for (const name of await textsOf(db, sql`select name as text from duplicates`)) {
      const normal = name.normalize("NFC");
      // Both forms were copied: each keeps its record.
      await sql`update duplicates set name = ${normal} where name = ${name}
        and not exists (select 1 from duplicates where name = ${normal})`.execute(db);
    }
    const addresses = sql`select distinct address as text from operations where address like 'duplicates/%'`;
    for (const address of await textsOf(db, addresses)) {
      await sql`update operations set address = ${address.normalize("NFC")} where address = ${address}`.execute(
        db,
      );
    }
  },
};

async function textsOf(db: LedgerQueries, query: ReturnType<typeof sql>): Promise<readonly string[]> {
  const { rows } = await sql<{ text: string }>`${query}`.execute(db);
  return rows.map(({ text }) => text).filter((text) => text !== text.normalize("NFC"));
}
