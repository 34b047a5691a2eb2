import { sql } from "kysely";
import { type FileTarget, fileResource } from "../model/resource.ts";
import type { LedgerQueries } from "./tables.ts";

/**
 * Keeps the values of a recorded file for its entry, before `taker`, another entry, takes the file over. What is kept already
 * stays: it is from before the entry lost its file. Part of a transaction.
 */
export async function keepValues(queries: LedgerQueries, target: FileTarget, taker: string): Promise<void> {
  // A record at the path of its file belongs to no entry that could get another one.
  await sql`insert into kept_values (address, attributes)
    select address, attributes from attachments
    where draft_id = ${target.draftId} and kind = ${target.kind} and file_id = ${target.fileId}
      and address <> ${taker} and address <> ${fileResource(target)}
    on conflict do nothing`.execute(queries);
}

/** The entry has a file with its values again. Part of a transaction. */
export async function releaseValues(queries: LedgerQueries, address: string): Promise<void> {
  await queries.deleteFrom("kept_values").where("address", "=", address).execute();
}

/** A draft is published once all of its entries have their files. Part of a transaction. */
export async function releaseValuesOfDraft(queries: LedgerQueries, draftId: number): Promise<void> {
  await queries.deleteFrom("kept_values").where("address", "like", `drafts/${draftId}/%`).execute();
}
