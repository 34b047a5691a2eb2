import type { StoredOperation } from "../model/history.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { KeptOutcome, Preference, TakenIn } from "../model/recovery.ts";
import { isoTime } from "../model/time.ts";
import { applyEffect } from "./effects.ts";
import { readOperations, readRuns } from "./history.ts";
import { beginOperation, finishOperation, startRun, supersede } from "./journal.ts";
import type { LedgerQueries } from "./schema.ts";

/** Where and when (epoch milliseconds) a kept outcome is taken in, and what wins over a contradiction. */
interface TakeInContext {
  readonly location: string;
  readonly at: number;
  readonly preference: Preference | undefined;
}

/**
 * Takes a kept outcome in, inside a transaction. Any number of times: what the ledger holds already is not done again.
 *
 * | the operation in the ledger | then |
 * |---|---|
 * | is not there (the ledger is older than the call) | is begun and ended, with what follows |
 * | has no end | is ended, with what follows |
 * | was settled meanwhile, in agreement | its end is noted; what followed was recorded then, and may have been changed since |
 * | was settled or has ended otherwise, or another product is recorded | conflict, and nothing is changed without a preference |
 * | has this end | nothing |
 *
 * With the preference `ledger` the end is noted and nothing follows from it; with `outcome` the settlement is taken
 * back, or the other product's record is replaced.
 */
export async function takeIn(
  queries: LedgerQueries,
  kept: KeptOutcome,
  context: TakeInContext,
): Promise<TakenIn> {
  const { operation, result } = kept;
  const { location, at, preference } = context;
  const [found] = await readOperations(queries, location, { id: operation.id });
  const products = await compareProducts(queries, kept.effects);
  const course = decide({ found, kept, products, preference });
  if (course.type === "conflict" || course.type === "known") return course;

  if (found === undefined) await beginAgain(queries, kept, context);
  await finishOperation(queries, operation.id, { ...result, at });
  if (course.type === "note") return { type: course.overruled ? "noted" : "known" };
  if (course.overrules) await giveWay(queries, kept);
  for (const effect of kept.effects) {
    if (course.overrules || !products.known.has(effect))
      await apply(queries, effect, { ...context, by: operation.id });
  }
  if (result.outcome === "done")
    await supersede(queries, { operationId: operation.id, effects: kept.effects, at });
  return { type: "recorded" };
}

async function beginAgain(
  queries: LedgerQueries,
  { operation, command, keptAt }: KeptOutcome,
  { location, at }: TakeInContext,
): Promise<void> {
  const [run] = await readRuns(queries, location, { id: operation.runId });
  if (run === undefined)
    await startRun(queries, { id: operation.runId, command, planId: "", startedAt: keptAt });
  await beginOperation(queries, operation, at);
}

async function apply(
  queries: LedgerQueries,
  effect: LedgerEffect,
  context: TakeInContext & { readonly by: string },
): Promise<void> {
  switch (effect.type) {
    case "rerecorded":
      // A ledger that is older than the call may not have the record; the answer proves it all the same.
      return applyEffect(queries, { type: "attached", attachment: effect.attachment }, context);
    case "settled": {
      const [other] = await readOperations(queries, context.location, { id: effect.operationId });
      return isInDoubt(other) ? applyEffect(queries, effect, context) : undefined;
    }
    default:
      return applyEffect(queries, effect, context);
  }
}

/** What is to be done with a kept outcome. */
type Course =
  | { readonly type: "known" }
  | { readonly type: "conflict"; readonly ledger: string }
  /** The operation's end alone; `overruled` when more would follow from it. */
  | { readonly type: "note"; readonly overruled: boolean }
  /** The end and its effects; `overrules` when the ledger has to give way. */
  | { readonly type: "record"; readonly overrules: boolean };

function decide(circumstances: {
  readonly found: StoredOperation | undefined;
  readonly kept: KeptOutcome;
  readonly products: ComparedProducts;
  readonly preference: Preference | undefined;
}): Course {
  const { found, kept, products, preference } = circumstances;
  if (found?.outcome !== undefined) {
    if (found.outcome === kept.result.outcome || preference === "ledger") return { type: "known" };
    return { type: "conflict", ledger: `it ended as ${found.outcome}` };
  }
  const contradiction = settledOtherwise(found, kept) ?? products.contradiction;
  if (contradiction === undefined) {
    return found?.settled === undefined
      ? { type: "record", overrules: false }
      : { type: "note", overruled: false };
  }
  if (preference === undefined) return { type: "conflict", ledger: contradiction };
  return preference === "ledger" ? { type: "note", overruled: true } : { type: "record", overrules: true };
}

function isInDoubt(operation: StoredOperation | undefined): boolean {
  if (operation === undefined || operation.settled !== undefined) return false;
  return operation.outcome === undefined || operation.outcome === "unknown";
}

/** What was done over by a later call agrees with every end, and so does an end that is unknown with every settlement. */
function settledOtherwise(found: StoredOperation | undefined, { result }: KeptOutcome): string | undefined {
  const settled = found?.settled;
  if (settled === undefined || settled.as === "superseded" || result.outcome === "unknown") return undefined;
  if ((settled.as === "done") === (result.outcome === "done")) return undefined;
  return `it was settled as ${settled.as} at ${isoTime(settled.at)}`;
}

interface ComparedProducts {
  readonly contradiction: string | undefined;
  /** Effects whose product the ledger holds already. */
  readonly known: ReadonlySet<LedgerEffect>;
}

async function compareProducts(
  queries: LedgerQueries,
  effects: readonly LedgerEffect[],
): Promise<ComparedProducts> {
  const known = new Set<LedgerEffect>();
  let contradiction: string | undefined;
  for (const effect of effects) {
    if (effect.type !== "published" && effect.type !== "duplicated") continue;
    const recorded = await recordedProduct(queries, effect);
    if (recorded === effect.productId) known.add(effect);
    else if (recorded !== undefined) contradiction ??= `product ${recorded} is recorded for it`;
  }
  return { contradiction, known };
}

type ProductEffect = Extract<LedgerEffect, { type: "published" | "duplicated" }>;

async function recordedProduct(queries: LedgerQueries, effect: ProductEffect): Promise<number | undefined> {
  const row =
    effect.type === "published"
      ? await queries
          .selectFrom("publications")
          .select("product_id")
          .where("draft_id", "=", effect.draftId)
          .where("revision", "=", effect.revision)
          .executeTakeFirst()
      : await queries
          .selectFrom("duplicates")
          .select("product_id")
          .where("name", "=", effect.name)
          .executeTakeFirst();
  return row?.product_id;
}

/** Takes back what contradicts the outcome: the settlement, and the records of other products. */
async function giveWay(queries: LedgerQueries, { operation, effects }: KeptOutcome): Promise<void> {
  await queries
    .updateTable("operations")
    .set({ settled_at: null, settled_as: null, settled_by: null })
    .where("id", "=", operation.id)
    .execute();
  for (const effect of effects) {
    if (effect.type === "published") {
      await queries
        .deleteFrom("publications")
        .where("draft_id", "=", effect.draftId)
        .where("revision", "=", effect.revision)
        .execute();
    } else if (effect.type === "duplicated") {
      await queries.deleteFrom("duplicates").where("name", "=", effect.name).execute();
    }
  }
}
