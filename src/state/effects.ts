import type { LedgerEffect } from "../model/ports.ts";
import type { FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";
import { type Addressed, checkAddress, nameOf } from "./attachment-address.ts";
import { compileAttachments, compileLooks, compileProducts, compileUploads } from "./effect-statements.ts";
import type { Journal } from "./journal.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";
import { attachmentValues, duplicateValues, objectValues, publicationValues } from "./stored-values.ts";

type Readdressed = Extract<LedgerEffect, { type: "readdressed" }>;

/** Applies one effect inside a transaction. `by` is the operation it follows from. */
export type ApplyEffect = (queries: LedgerQueries, effect: LedgerEffect, by?: string) => Promise<void>;

/**
 * Makes the function that applies effects.
 *
 * | effect | on what is there | when it is not there |
 * |---|---|---|
 * | attached | the whole record is replaced | is recorded |
 * | rerecorded | the whole record is replaced | ledger-conflict |
 * | readdressed | its address, and its digest when one is given, are replaced | ledger-conflict |
 * | detached | is dropped, and what is known of looks at it | nothing |
 * | duplicate_forgotten | is dropped | nothing |
 * | published, duplicated | ledger-conflict: it cannot have been made twice | is recorded |
 * | product_confirmed | the provenance of its publications and duplicates is replaced | nothing |
 * | looked_at | the time is replaced | is recorded |
 * | protection | is set or lifted | is set, or nothing |
 * | object_stored | the whole record is replaced | is recorded |
 * | object_forgotten | is dropped | nothing |
 * | upload_registered | the whole record is replaced; the stored object of its key is dropped | is recorded |
 * | upload_ended | status and file id are replaced | nothing |
 * | settled | is in doubt no more | ledger-conflict |
 *
 * An address belongs to one record: whoever holds the address that an effect gives to another file moves to its own numeric address, as `replaces` does. So two records may swap addresses, one after the other.
 */
export function makeApplyEffect(db: LedgerQueries, journal: Journal): ApplyEffect {
  const statements = {
    ...compileAttachments(db),
    ...compileProducts(db),
    ...compileUploads(db),
    ...compileLooks(db),
  };

  async function giveWay(queries: LedgerQueries, attachment: Addressed, replaces?: number): Promise<void> {
    const { draftId, kind, fileId, address } = attachment;
    checkAddress(attachment);
    await statements.vacate(queries, { address, file_id: fileId });
    if (replaces === undefined || replaces === fileId) return;
    await statements.moveAway(queries, { draft_id: draftId, kind, file_id: replaces });
  }

  async function readdress(queries: LedgerQueries, effect: Readdressed): Promise<void> {
    const { target, address, sha256 = null } = effect;
    const { draftId: draft_id, kind, fileId: file_id } = target;
    await giveWay(queries, { ...target, address });
    const row = { draft_id, kind, file_id, address, sha256 };
    refuseMissing(await statements.readdress(queries, row), target);
  }

  return async (queries, effect, by) => {
    switch (effect.type) {
      case "attached":
        await giveWay(queries, effect.attachment, effect.replaces);
        await statements.attach(queries, attachmentValues(effect.attachment));
        return;
      case "rerecorded":
        await giveWay(queries, effect.attachment);
        refuseMissing(
          await statements.rerecord(queries, attachmentValues(effect.attachment)),
          effect.attachment,
        );
        return;
      case "readdressed":
        await readdress(queries, effect);
        return;
      case "detached": {
        const { draftId, kind, fileId } = effect.target;
        await statements.detach(queries, { draft_id: draftId, kind, file_id: fileId });
        await statements.forgetLook(queries, { resource: fileResource(effect.target) });
        return;
      }
      case "published":
        await statements.publish(queries, publicationValues(effect));
        return;
      case "duplicated":
        await statements.duplicate(queries, duplicateValues(effect));
        return;
      case "duplicate_forgotten":
        await statements.forget(queries, { name: effect.name });
        return;
      case "product_confirmed": {
        const { productId: product_id, provenance } = effect;
        const row = { product_id, confirmed_by: provenance.by, confirmed_at: provenance.at };
        await statements.confirmPublication(queries, row);
        await statements.confirmDuplicate(queries, row);
        return;
      }
      case "looked_at":
        await statements.look(queries, { resource: effect.resource, looked_at: effect.at });
        return;
      case "protection":
        await (effect.protect ? statements.protect : statements.unprotect)(queries, {
          draft_id: effect.draftId,
        });
        return;
      case "object_stored":
        await statements.forgetObject(queries, { upload_key: effect.uploadKey });
        await statements.storeObject(queries, objectValues(effect));
        return;
      case "object_forgotten":
        await statements.forgetObject(queries, { upload_key: effect.uploadKey });
        return;
      case "upload_registered":
        await statements.forgetObject(queries, { upload_key: effect.uploadKey });
        await statements.registerUpload(queries, {
          upload_id: effect.uploadId,
          upload_key: effect.uploadKey,
          source: effect.source ?? null,
          sha256: effect.sha256 ?? null,
          size: effect.size ?? null,
          registered_at: effect.at,
        });
        return;
      case "upload_ended":
        await statements.endUpload(queries, {
          upload_id: effect.uploadId,
          status: effect.status,
          file_id: effect.fileId ?? null,
        });
        return;
      case "settled": {
        const { operationId, outcome } = effect;
        await journal.settle(queries, { operationId, outcome, ...(by === undefined ? {} : { by }) });
        return;
      }
    }
  };
}

function refuseMissing(found: number, target: FileTarget): void {
  if (found > 0) return;
  throw new LedgerError("ledger-conflict", `There is no record to change for ${nameOf(target)}.`);
}
