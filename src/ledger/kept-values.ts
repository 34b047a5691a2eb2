import { type Attributes, clearedAttributes, type FileTarget, fileResource } from "../model/resource.ts";
import { putRecord, selectAttachment } from "./records.ts";
import { type LedgerQueries, tables } from "./tables.ts";

/** A call, or a new address, that gives a recorded file to another entry. */
interface Takeover {
  readonly target: FileTarget;
  /** The address of the entry that takes the file. */
  readonly taker: string;
  /** What the call sets. */
  readonly sent?: Attributes | undefined;
}

/**
 * Keeps the values of a recorded file for its entry, before another one takes the file over. Part of a transaction.
 */
export async function keepValues(queries: LedgerQueries, { target, taker, sent }: Takeover): Promise<void> {
  const known = selectAttachment(queries, target).select(["address", "attributes"]);
  const record = await known.executeTakeFirst();
  // A record at the path of its file belongs to no entry that could get another one.
  if (record === undefined || record.address === taker || record.address === fileResource(target)) return;
  await keep(queries, record.address, { values: record.attributes, sent });
}

/**
 * Keeps the values of an entry that is found to have the file of another one: no call of ours has set them yet. Part of a
 * transaction.
 */
export async function keepOwnValues(queries: LedgerQueries, { taker, sent }: Takeover): Promise<void> {
  const own = queries.selectFrom("attachments").select("attributes").where("address", "=", taker);
  const record = await own.executeTakeFirst();
  await keep(queries, taker, { values: record?.attributes ?? "{}", sent });
}

/**
 * What is kept already stays: it is from before the entry lost its file. What its file may have by now and the entry does not
 * have is kept as none. `values` is JSON.
 */
async function keep(
  queries: LedgerQueries,
  address: string,
  { values, sent = {} }: { readonly values: string; readonly sent: Attributes | undefined },
): Promise<void> {
  const kept = await queries
    .selectFrom("kept_values")
    .select("attributes")
    .where("address", "=", address)
    .executeTakeFirst();
  const attributes = { ...clearedAttributes(sent), ...JSON.parse(kept?.attributes ?? values) };
  await putRecord(queries, tables.kept_values, { address, attributes });
}

/** The entry has a file with its values again. Part of a transaction. */
export async function releaseValues(queries: LedgerQueries, address: string): Promise<void> {
  await queries.deleteFrom("kept_values").where("address", "=", address).execute();
}
