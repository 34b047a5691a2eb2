import type { LedgerQueries } from "./schema.ts";

/** Part of a transaction: `StateStore.exchangeNotice`. */
export async function exchangeNotice(
  queries: LedgerQueries,
  status: string | undefined,
): Promise<string | undefined> {
  const known = await queries.selectFrom("notices").select("status").executeTakeFirst();
  await queries.deleteFrom("notices").execute();
  if (status !== undefined) await queries.insertInto("notices").values({ id: 1, status }).execute();
  return known?.status;
}

/** Part of a transaction: `StateStore.forgetQuietRuns`. */
export async function forgetQuietRuns(
  queries: LedgerQueries,
  { command, before }: { readonly command: string; readonly before: number },
): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom("runs")
    .where("command", "=", command)
    .where("started_at", "<", before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom("operations").select("operations.id").whereRef("operations.run_id", "=", "runs.id"),
        ),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}
