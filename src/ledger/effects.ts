import type { LedgerEffect } from "../model/ports.ts";
import type { FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";
import { type Addressed, checkAddress, nameOf } from "./attachment-address.ts";
import {
  compileAttachments,
  compileProducts,
  compileRefreshes,
  compileUploads,
} from "./effect-statements.ts";
import type { Journal } from "./journal.ts";
import type { LedgerQueries } from "./schema.ts";
import type { Step } from "./step.ts";
import { attachmentValues, duplicateValues, objectValues, publicationValues } from "./stored-values.ts";

type Readdressed = Extract<LedgerEffect, { type: "readdressed" }>;

/**
 * The steps that apply one effect, for one transaction. `by` is the operation it follows from. Throws
 * `ledger-invalid-value`.
 */
export type EffectSteps = (effect: LedgerEffect, by?: string) => readonly Step[];

interface GiveWay {
  /** The file was just attached: whatever had its address is replaced by it, and still to be detached. */
  readonly isAttached?: boolean;
  readonly replaces?: number | undefined;
}

/**
 * Makes the function that turns effects into steps.
 *
 * | effect | on what is there | when it is not there |
 * |---|---|---|
 * | attached | the whole record is replaced | is recorded |
 * | rerecorded | the whole record is replaced | ledger-conflict |
 * | readdressed | its address, and its digest when one is given, are replaced | ledger-conflict |
 * | detached | is dropped, and what is known of refreshes at it | nothing |
 * | duplicate_forgotten | is dropped | nothing |
 * | published, duplicated | ledger-conflict: it cannot have been made twice | is recorded |
 * | product_confirmed | the provenance of its publications and duplicates is replaced | nothing |
 * | refreshed | the time is replaced | is recorded |
 * | protection | is set or lifted | is set, or nothing |
 * | object_stored | the whole record is replaced | is recorded |
 * | object_forgotten | is dropped | nothing |
 * | upload_registered | the whole record is replaced; the stored object of its key is dropped | is recorded |
 * | upload_found | status and file id are replaced | is recorded |
 * | upload_ended | status and file id are replaced | nothing |
 * | settled | is in doubt no more | ledger-conflict |
 *
 * An address belongs to one record: whoever holds the address that an effect gives to another file moves to its own numeric address, as `replaces` does. So two records may swap addresses, one after the other.
 */
export function makeEffectSteps(db: LedgerQueries, journal: Journal): EffectSteps {
  const statements = {
    ...compileAttachments(db),
    ...compileProducts(db),
    ...compileUploads(db),
    ...compileRefreshes(db),
  };

  function giveWay(attachment: Addressed, { isAttached = false, replaces }: GiveWay = {}): readonly Step[] {
    const { draftId, kind, fileId, address } = attachment;
    checkAddress(attachment);
    // The address that names a file by its id can be nobody else's.
    const vacate =
      address === fileResource(attachment)
        ? []
        : [statements.vacate({ address, file_id: fileId, replaced: isAttached ? 1 : 0 })];
    if (replaces === undefined || replaces === fileId) return vacate;
    return [...vacate, statements.moveAway({ draft_id: draftId, kind, file_id: replaces })];
  }

  function readdress(effect: Readdressed): readonly Step[] {
    const { target, address, sha256 = null } = effect;
    const { draftId: draft_id, kind, fileId: file_id } = target;
    const step = statements.readdress({ draft_id, kind, file_id, address, sha256 });
    return [...giveWay({ ...target, address }), mustBeThere(step, target)];
  }

  return (effect, by) => {
    switch (effect.type) {
      case "attached":
        return [
          ...giveWay(effect.attachment, { isAttached: true, replaces: effect.replaces }),
          statements.attach(attachmentValues(effect.attachment)),
        ];
      case "rerecorded": {
        const { attachment } = effect;
        const step = statements.rerecord(attachmentValues(attachment));
        return [...giveWay(attachment), mustBeThere(step, attachment)];
      }
      case "readdressed":
        return readdress(effect);
      case "detached": {
        const { draftId, kind, fileId } = effect.target;
        return [
          statements.detach({ draft_id: draftId, kind, file_id: fileId }),
          statements.forgetLook({ resource: fileResource(effect.target) }),
        ];
      }
      case "published":
        return [statements.publish(publicationValues(effect))];
      case "duplicated":
        return [statements.duplicate(duplicateValues(effect))];
      case "duplicate_forgotten":
        return [statements.forget({ name: effect.name })];
      case "product_confirmed": {
        const { productId: product_id, provenance } = effect;
        const row = { product_id, confirmed_by: provenance.by, confirmed_at: provenance.at };
        return [statements.confirmPublication(row), statements.confirmDuplicate(row)];
      }
      case "refreshed":
        return [statements.refresh({ resource: effect.resource, refreshed_at: effect.at })];
      case "protection":
        return [(effect.protect ? statements.protect : statements.unprotect)({ draft_id: effect.draftId })];
      case "object_stored":
        return [
          statements.forgetObject({ upload_key: effect.uploadKey }),
          statements.storeObject(objectValues(effect)),
        ];
      case "object_forgotten":
        return [statements.forgetObject({ upload_key: effect.uploadKey })];
      case "upload_registered":
        return [
          statements.forgetObject({ upload_key: effect.uploadKey }),
          statements.registerUpload({
            upload_id: effect.uploadId,
            upload_key: effect.uploadKey,
            source: effect.source ?? null,
            sha256: effect.sha256 ?? null,
            size: effect.size ?? null,
            registered_at: effect.at,
          }),
        ];
      case "upload_found":
        return [
          statements.findUpload({
            upload_id: effect.uploadId,
            status: effect.status,
            file_id: effect.fileId ?? null,
            registered_at: effect.at,
          }),
        ];
      case "upload_ended":
        return [
          statements.endUpload({
            upload_id: effect.uploadId,
            status: effect.status,
            file_id: effect.fileId ?? null,
          }),
        ];
      case "settled": {
        const { operationId, outcome } = effect;
        return [journal.settle({ operationId, outcome, ...(by === undefined ? {} : { by }) })];
      }
    }
  };
}

function mustBeThere(step: Step, target: FileTarget): Step {
  return { ...step, refusal: `There is no record to change for ${nameOf(target)}.` };
}
