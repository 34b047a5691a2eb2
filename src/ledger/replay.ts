import type { StoredOperation } from "../model/history.ts";
import type { LedgerEffect } from "../model/ports.ts";
import { fileResourceOf, targetOf } from "../model/recorded.ts";
import type { ConflictChoice, RecoveryRecord, ReplayResult } from "../model/recovery.ts";
import { isoTime } from "../model/time.ts";
import { isAttachRefusal } from "../model/unsettled.ts";
import { applyEffect } from "./effects.ts";
import { readOperations, readRuns } from "./history.ts";
import {
  beginOperation,
  finishOperation,
  parseIntent,
  resendOperation,
  startRun,
  supersede,
} from "./journal.ts";
import { addRecord } from "./records.ts";
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
 * | missing (the ledger is older than the call) | intent, outcome and effects are recorded |
 * | without an outcome, or lost when its lock was taken over | outcome and effects are recorded |
 * | asked to wait, and sent again since (the ledger is older than that) | outcome and effects are recorded |
 * | settled since, consistently | the outcome is recorded; the settlement recorded the effects |
 * | settled or ended differently, or another product is recorded | conflict: unchanged without a choice |
 * | with this outcome | nothing |
 *
 * A ledger that is older than the call, or by its serial than the run that sent it, was restored from a backup: the draft of the
 * call may be published, and the ledger counts as new.
 *
 * A call about a file is recorded in doubt, without its effects, and apply settles it: the ledger may know something newer, such
 * as what another call has set, or a person has imported, since. Clocks do not show which came last. A call that was refused is
 * no doubt, unless its refusal says something of the file. So it conflicts with nothing: what was settled differently is settled
 * once more, and a file that the ledger has although its attachment was refused shows that its draft may be published.
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

  await noteRestored(queries, found, { record, at });
  if (found === undefined) await beginAgain(queries, record, context);
  else if (wasSentAgain(found, record)) await resendOperation(queries, operation.id, found.startedAt);
  if (course.type === "note") {
    await finishOperation(queries, operation.id, { ...result, at });
    if (found?.settled?.as === "done") await markRefused(queries, record, at);
    return course.overruled ? { type: "noted", ...other } : { type: "known" };
  }
  await raiseVersions(queries, record.effects, operation.runId);
  if (course.overrules) await reopenOperation(queries, operation.id);
  if (isLeftInDoubt(record) || (course.overrules && fileResourceOf(operation) !== undefined)) {
    await finishOperation(queries, operation.id, { ...stillInDoubt(record), at });
    if (result.outcome === "rejected") await dropSent(queries, operation);
    return { type: "in_doubt", ...other };
  }
  const finished = await finishOperation(queries, operation.id, { ...result, at });
  if (course.overrules) await revertLedger(queries, record);
  for (const effect of record.effects) {
    if (course.overrules || !products.known.has(effect))
      await applyEffect(queries, effect, { at, by: operation.id });
  }
  if (result.outcome === "done")
    await supersede(queries, { operationId: operation.id, ...finished }, { effects: record.effects, at });
  return { type: "recorded", ...other };
}

/** A refusal, too, when it may say that the file is attached already, or gone. */
function isLeftInDoubt({ operation, result, effects }: RecoveryRecord): boolean {
  if (fileResourceOf(operation) === undefined) return false;
  if (result.outcome !== "rejected") return result.outcome === "done";
  return effects.length > 0 || (operation.kind === "attach" && isAttachRefusal(result.status));
}

/** The status says of an attachment that it was refused. */
function stillInDoubt({ result: { outcome, attempts, status } }: RecoveryRecord) {
  const end = outcome === "done" ? "took effect" : "did not take effect";
  const message = `by the recovery log it ${end}, but the ledger may know something newer`;
  const failure = { code: "still-in-doubt", message, errors: [], stops: "operation" } as const;
  const refused = outcome === "rejected" && status !== undefined ? { status } : {};
  return { outcome: "unknown", attempts, failure, ...refused } as const;
}

/** A refused call has set nothing, and given its file to no entry: only whether that is attached is in doubt. */
async function dropSent(queries: LedgerQueries, { id, intent }: RecoveryRecord["operation"]): Promise<void> {
  const { attributes: _values, formerAddress: _entry, takesOver: _taken, ...file } = intent;
  const operation = queries.updateTable("operations").where("id", "=", id);
  await operation.set({ intent: JSON.stringify(file) }).execute();
}

/** The ledger has a file as attached whose attachment was refused (409: in doubt), or not sent: a call that it does not have did that. */
async function markRefused(
  queries: LedgerQueries,
  { operation: { kind, intent }, result }: RecoveryRecord,
  at: number,
): Promise<void> {
  const isEvidence = didNothing(result) || isAttachRefusal(result.status);
  if (kind !== "attach" || !isEvidence || intent.draftId === undefined) return;
  await addRecord(queries, tables.maybe_published, { draftId: intent.draftId, at });
}

/** Whether the ledger is older than the call, or than what its run has committed since. */
async function isRestored(
  queries: LedgerQueries,
  found: StoredOperation | undefined,
  record: RecoveryRecord,
): Promise<boolean> {
  if (found === undefined || wasSentAgain(found, record)) return true;
  const { serial } = await queries.selectFrom("meta").select("serial").executeTakeFirstOrThrow();
  // This replay has raised it by one.
  return Number(serial) - 1 < (record.serial ?? 0);
}

/**
 * The draft may have been published since the backup: no publication that is replayed settles that, for it may be an older one.
 * Whatever else was published or copied since, only a person knows.
 */
async function noteRestored(
  queries: LedgerQueries,
  found: StoredOperation | undefined,
  { record, at }: { readonly record: RecoveryRecord; readonly at: number },
): Promise<void> {
  if (!(await isRestored(queries, found, record))) return;
  const { draftId } = record.operation.intent;
  if (draftId !== undefined) await addRecord(queries, tables.maybe_published, { draftId, at });
  await queries.updateTable("meta").set({ confirmed_at: null }).execute();
}

async function beginAgain(
  queries: LedgerQueries,
  { operation, command, savedAt }: RecoveryRecord,
  { location, at }: ReplayContext,
): Promise<void> {
  const [run] = await readRuns(queries, location, { id: operation.runId });
  if (run === undefined)
    await startRun(queries, { id: operation.runId, command, planId: "", startedAt: savedAt });
  // A person looks for a product of that time. A call about a file counts as the latest, since clocks may differ.
  await beginOperation(queries, operation, targetOf(operation) === undefined ? Math.min(savedAt, at) : at);
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
  const isFile = fileResourceOf(record.operation) !== undefined;
  // Without attempts, it only ended because its lock was taken over.
  if (found?.attempts !== undefined && !wasSentAgain(found, record)) {
    const wasLeft = isFile && found.outcome === "unknown";
    if (wasLeft || found.outcome === record.result.outcome || choice === "keep-ledger")
      return { type: "known" };
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
  // A file that was attached all the same stays; one that was not detached may still be attached.
  if (isFile)
    return record.result.outcome === "done" || record.operation.kind === "detach"
      ? { type: "record", overrules: true }
      : { type: "note", overruled: false };
  if (choice === undefined) return { type: "conflict", ledger: contradictions.join(", and ") };
  return choice === "keep-ledger" ? { type: "note", overruled: true } : { type: "record", overrules: true };
}

function didNothing({ outcome }: RecoveryRecord["result"]): boolean {
  return outcome === "rejected" || outcome === "not_sent";
}

/** Only a call that was asked to wait is sent again. */
function wasSentAgain({ outcome, failure }: StoredOperation, { result }: RecoveryRecord): boolean {
  return outcome === "rejected" && failure?.code === "rate-limited" && result.outcome !== "rejected";
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

/** Reverts what contradicts the outcome: what a settlement recorded of a call that did nothing, and the records of other products. */
async function revertLedger(queries: LedgerQueries, record: RecoveryRecord): Promise<void> {
  const { id, kind, address, intent } = record.operation;
  for (const effect of record.effects) {
    if (effect.type === "published") await publicationOf(queries, effect).execute();
    else if (effect.type === "duplicated") await duplicateOf(queries, effect.name).execute();
  }
  if (!didNothing(record.result)) return;
  const { draftId, revision, name } = intent;
  // A later call may have made a product; a refresh has confirmed what a person said of one. Ids rise.
  const later = queries.selectFrom("operations").select("intent").where("id", ">", id);
  const done = later.where("outcome", "=", "done");
  const calls = await done.where("kind", "=", kind).where("address", "=", address).execute();
  const isMade = calls.some((call) => parseIntent(call.intent).revision === revision);
  const by = isMade ? (["operator"] as const) : (["operator", "get", "import"] as const);
  if (kind === "publish" && draftId !== undefined && revision !== undefined)
    await publicationOf(queries, { draftId, revision }).where("provenance_by", "in", by).execute();
  if (kind === "duplicate" && name !== undefined)
    await duplicateOf(queries, name).where("provenance_by", "in", by).execute();
}

async function reopenOperation(queries: LedgerQueries, id: string): Promise<void> {
  const operation = queries.updateTable("operations").where("id", "=", id);
  await operation.set({ settled_at: null, settled_as: null, settled_by: null }).execute();
}

function publicationOf(
  queries: LedgerQueries,
  { draftId, revision }: { readonly draftId: number; readonly revision: number },
) {
  return queries.deleteFrom("publications").where("draft_id", "=", draftId).where("revision", "=", revision);
}

function duplicateOf(queries: LedgerQueries, name: string) {
  return queries.deleteFrom("duplicates").where("name", "=", name);
}
