import { type Attributes, clearedAttributes, type FileTarget, fileResource } from "../model/resource.ts";
import { inDoubt } from "./history.ts";
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
 * Keeps the values of a recorded file for its entry, before another one takes the file over. What is kept already stays: it is
 * from before the entry lost its file. What the call sets and the entry does not have is kept as none, for when the entry gets
 * the file back. Part of a transaction.
 */
export async function keepValues(queries: LedgerQueries, { target, taker, sent }: Takeover): Promise<void> {
  const known = selectAttachment(queries, target).select(["address", "attributes"]);
  const record = await known.executeTakeFirst();
  // A record at the path of its file belongs to no entry that could get another one.
  if (record === undefined || record.address === taker || record.address === fileResource(target)) return;
  const { address } = record;
  const kept = await queries
    .selectFrom("kept_values")
    .select("attributes")
    .where("address", "=", address)
    .executeTakeFirst();
  const values = JSON.parse((kept ?? record).attributes);
  const attributes = { ...clearedAttributes(sent ?? {}), ...values };
  await putRecord(queries, tables.kept_values, { address, attributes });
}

/**
 * A takeover was refused, or not sent: the entry still has its file, with the values that it has by now. A record that was only
 * observed may lack what was kept before, and another call in doubt about its `path` may have taken it. Part of a transaction.
 */
export async function releaseUntaken(
  queries: LedgerQueries,
  target: FileTarget,
  path: string,
): Promise<void> {
  const record = await selectAttachment(queries, target)
    .where("provenance_by", "in", ["post", "patch"])
    .select("address")
    .executeTakeFirst();
  if (record === undefined) return;
  const inDoubtToo = await queries
    .selectFrom("operations")
    .select("id")
    .where("path", "=", path)
    .where(inDoubt)
    .executeTakeFirst();
  if (inDoubtToo === undefined) await releaseValues(queries, record.address);
}

/** The entry has a file with its values again. Part of a transaction. */
export async function releaseValues(queries: LedgerQueries, address: string): Promise<void> {
  await queries.deleteFrom("kept_values").where("address", "=", address).execute();
}
