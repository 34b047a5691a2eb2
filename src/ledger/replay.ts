import type { StoredOperation } from "../model/history.ts";
import type { LedgerEffect } from "../model/ports.ts";
import { fileResourceOf, targetOf } from "../model/recorded.ts";
import type { ConflictChoice, RecoveryRecord, ReplayResult } from "../model/recovery.ts";
import { type FileTarget, fileResource } from "../model/resource.ts";
import { isoTime } from "../model/time.ts";
import { applyEffect } from "./effects.ts";
import { readLaterCalls, readOperations, readRuns } from "./history.ts";
import { beginOperation, finishOperation, resendOperation, startRun, supersede } from "./journal.ts";
import { addRecord, selectAttachment } from "./records.ts";
import { type LedgerQueries, tables } from "./tables.ts";
import { raiseVersions } from "./versions.ts";

/** Where and when (epoch milliseconds) a record is replayed, and which one to keep in a conflict. */
interface ReplayContext {
  readonly location: string;
  readonly at: number;
  readonly choice: ConflictChoice | undefined;
}

/**
 * Replays a recovery record inside a transaction. A second replay changes nothing.
 *
 * | the operation in the ledger | result |
 * |---|---|
 * | missing (the ledger is older than the call) | intent, outcome and effects are recorded; the draft of a file may be published |
 * | without an outcome, or lost when its lock was taken over | outcome and effects are recorded |
 * | asked to wait, and sent again since (the ledger is older than that) | outcome and effects are recorded |
 * | settled since, consistently | the outcome is recorded; the settlement recorded the effects |
 * | settled or ended differently, or another product is recorded | conflict: unchanged without a choice |
 * | with this outcome | nothing |
 *
 * What the ledger knows from after the call stays: no effect replaces it, and what was sent later stays in doubt.
 *
 * `keep-ledger` records the outcome without its effects; `use-recovered` reverts the settlement, or replaces the record of
 * the other product.
 */
export async function replay(
  queries: LedgerQueries,
  record: RecoveryRecord,
  context: ReplayContext,
): Promise<ReplayResult> {
  const { operation, result } = record;
  const { location, at, choice } = context;
  const [found] = await readOperations(queries, location, { id: operation.id });
  const products = await compareProducts(queries, record.effects);
  const course = decide({ found, record, products, choice });
  const other = products.other === undefined ? {} : { otherProduct: products.other };
  if (course.type === "conflict") return { ...course, ...other };
  if (course.type === "known") return course;

  if (found === undefined) await beginAgain(queries, record, location);
  else if (wasSentAgain(found, record)) await resendOperation(queries, operation.id, found.startedAt);
  const finished = await finishOperation(queries, operation.id, { ...result, at });
  if (course.type === "note") return course.overruled ? { type: "noted", ...other } : { type: "known" };
  await raiseVersions(queries, record.effects, operation.runId);
  if (course.overrules) await revertLedger(queries, record);
  const until = found?.startedAt ?? record.savedAt;
  const later = new LaterKnowledge(queries, await readLaterCalls(queries, location, until), record.savedAt);
  let isOutdated = false;
  for (const effect of record.effects) {
    if (!course.overrules && products.known.has(effect)) continue;
    const left = await later.leftOf(effect);
    if (left !== effect) isOutdated = true;
    if (left !== undefined) await apply(queries, left, { ...context, by: operation.id, until });
  }
  if (found === undefined) await markMaybePublished(queries, record, at);
  if (result.outcome === "done")
    await supersede(
      queries,
      { operationId: operation.id, ...finished },
      { effects: record.effects, at, until },
    );
  return { type: isOutdated ? "outdated" : "recorded", ...other };
}

/** What the ledger knows of files from after a call: it is newer than the call's outcome, and stays. */
class LaterKnowledge {
  readonly #queries: LedgerQueries;
  readonly #calls: readonly StoredOperation[];
  readonly #savedAt: number;

  /** `calls` are about files, and were sent later; `savedAt` is when the outcome was saved, epoch milliseconds. */
  constructor(queries: LedgerQueries, calls: readonly StoredOperation[], savedAt: number) {
    this.#queries = queries;
    this.#calls = calls.filter(({ settled, outcome }) => (settled?.as ?? outcome) === "done");
    this.#savedAt = savedAt;
  }

  /**
   * What is left to record of an effect. A file whose entry has another one since is recorded by its path, as what its entry left
   * behind: it is attached, and nothing else would tell.
   */
  async leftOf(effect: LedgerEffect): Promise<LedgerEffect | undefined> {
    if (effect.type === "detached" || effect.type === "readdressed")
      return (await this.#isKnown(effect.target)) ? undefined : effect;
    if (effect.type !== "attached" && effect.type !== "rerecorded") return effect;
    const { attachment } = effect;
    if (await this.#isKnown(attachment)) return undefined;
    const { address } = attachment;
    if (!(await this.#isTaken(address, attachment))) return effect;
    const left = { ...attachment, address: fileResource(attachment), formerAddress: address };
    return { type: "attached", attachment: left };
  }

  async #isKnown(file: FileTarget): Promise<boolean> {
    const record = await selectAttachment(this.#queries, file).select("provenance_at").executeTakeFirst();
    return this.#isNewer(fileResource(file), record?.provenance_at);
  }

  /** Whether the address has a different file, of which something newer is known. */
  async #isTaken(address: string, file: FileTarget): Promise<boolean> {
    const held = this.#queries.selectFrom("attachments").where("address", "=", address);
    const holder = await held.select(["draft_id", "kind", "file_id", "provenance_at"]).executeTakeFirst();
    if (holder === undefined) return false;
    const resource = `drafts/${holder.draft_id}/${holder.kind}/${holder.file_id}`;
    return resource !== fileResource(file) && this.#isNewer(resource, holder.provenance_at);
  }

  #isNewer(resource: string, knownAt: number | undefined): boolean {
    return (
      this.#calls.some((call) => fileResourceOf(call) === resource) ||
      (knownAt !== undefined && Number(knownAt) > this.#savedAt)
    );
  }
}

/**
 * The ledger was restored from before the call, so the draft may have been published since. A publication that is replayed
 * afterwards settles that.
 */
async function markMaybePublished(
  queries: LedgerQueries,
  { operation }: RecoveryRecord,
  at: number,
): Promise<void> {
  const file = targetOf(operation);
  if (file !== undefined) await addRecord(queries, tables.maybe_published, { draftId: file.draftId, at });
}

async function beginAgain(
  queries: LedgerQueries,
  { operation, command, savedAt }: RecoveryRecord,
  location: string,
): Promise<void> {
  const [run] = await readRuns(queries, location, { id: operation.runId });
  if (run === undefined)
    await startRun(queries, { id: operation.runId, command, planId: "", startedAt: savedAt });
  await beginOperation(queries, operation, savedAt);
}

async function apply(
  queries: LedgerQueries,
  effect: LedgerEffect,
  context: ReplayContext & { readonly by: string; readonly until: number },
): Promise<void> {
  switch (effect.type) {
    case "rerecorded":
      // A ledger that is older than the call may not have the record; the response proves it anyway.
      return applyEffect(queries, { type: "attached", attachment: effect.attachment }, context);
    case "settled": {
      const [other] = await readOperations(queries, context.location, { id: effect.operationId });
      return isInDoubt(other) ? applyEffect(queries, effect, context) : undefined;
    }
    default:
      return applyEffect(queries, effect, context);
  }
}

/** How to replay a record. */
type Course =
  | { readonly type: "known" }
  | { readonly type: "conflict"; readonly ledger: string }
  /** The outcome alone; `overruled` when its effects are left out. */
  | { readonly type: "note"; readonly overruled: boolean }
  /** The outcome and its effects; `overrules` when the ledger is reverted first. */
  | { readonly type: "record"; readonly overrules: boolean };

function decide(circumstances: {
  readonly found: StoredOperation | undefined;
  readonly record: RecoveryRecord;
  readonly products: ComparedProducts;
  readonly choice: ConflictChoice | undefined;
}): Course {
  const { found, record, products, choice } = circumstances;
  // Without attempts, it only ended because its lock was taken over.
  if (found?.attempts !== undefined && !wasSentAgain(found, record)) {
    if (found.outcome === record.result.outcome || choice === "keep-ledger") return { type: "known" };
    return { type: "conflict", ledger: `it ended as ${found.outcome}` };
  }
  const contradictions = [
    ...findContradiction(found, record),
    ...(products.other === undefined ? [] : [`product ${products.other} is recorded for it`]),
  ];
  if (contradictions.length === 0) {
    return found?.settled === undefined
      ? { type: "record", overrules: false }
      : { type: "note", overruled: false };
  }
  if (choice === undefined) return { type: "conflict", ledger: contradictions.join(", and ") };
  return choice === "keep-ledger" ? { type: "note", overruled: true } : { type: "record", overrules: true };
}

/** Only a call that was asked to wait is sent again. */
function wasSentAgain({ outcome, failure }: StoredOperation, { result }: RecoveryRecord): boolean {
  return outcome === "rejected" && failure?.code === "rate-limited" && result.outcome !== "rejected";
}

function isInDoubt(operation: StoredOperation | undefined): boolean {
  if (operation === undefined || operation.settled !== undefined) return false;
  return operation.outcome === undefined || operation.outcome === "unknown";
}

/** A superseded operation agrees with every outcome, and an unknown outcome with every settlement. */
function findContradiction(found: StoredOperation | undefined, { result }: RecoveryRecord): string[] {
  const settled = found?.settled;
  if (settled === undefined || settled.as === "superseded" || result.outcome === "unknown") return [];
  if ((settled.as === "done") === (result.outcome === "done")) return [];
  return [`it was settled as ${settled.as} at ${isoTime(settled.at)}`];
}

interface ComparedProducts {
  /** A product that the ledger holds in the place of one. */
  readonly other: number | undefined;
  /** Effects whose product the ledger holds already. */
  readonly known: ReadonlySet<LedgerEffect>;
}

async function compareProducts(
  queries: LedgerQueries,
  effects: readonly LedgerEffect[],
): Promise<ComparedProducts> {
  const known = new Set<LedgerEffect>();
  let other: number | undefined;
  for (const effect of effects) {
    if (effect.type !== "published" && effect.type !== "duplicated") continue;
    const recorded = await recordedProduct(queries, effect);
    if (recorded === effect.productId) known.add(effect);
    else if (recorded !== undefined) other ??= recorded;
  }
  return { other, known };
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

/** Reverts what contradicts the outcome: the settlement, and the records of other products. */
async function revertLedger(queries: LedgerQueries, { operation, effects }: RecoveryRecord): Promise<void> {
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
