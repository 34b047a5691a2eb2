import { sql } from "kysely";
import { wholeAddress } from "../model/address.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { RecordedAttachment } from "../model/recorded.ts";
import { pickAttributes } from "../model/resource.ts";
import { selectAttachment } from "./records.ts";
import type { LedgerQueries } from "./tables.ts";

/**
 * Gives a new version to every draft and duplicate that the effects will change. Part of a transaction, before its effects are
 * applied. Changes by one plan, one after the other, keep the version before the first of them: so the plan can continue.
 */
export async function raiseVersions(
  queries: LedgerQueries,
  effects: readonly LedgerEffect[],
  runId: string,
): Promise<void> {
  const changed = new Set<string>();
  for (const effect of effects) {
    const address = await changedAddress(queries, effect);
    if (address !== undefined) changed.add(address);
  }
  for (const address of changed) {
    await sql`insert into versions (address, serial, changed_by)
      select cast(${address} as text), serial,
        coalesce((select nullif(plan_id, '') from runs where id = ${runId}), cast(${runId} as text))
      from meta where true
      on conflict (address) do update set
        before = case versions.changed_by when excluded.changed_by then versions.before
          else versions.serial || ':' || versions.changed_by end,
        serial = excluded.serial,
        changed_by = excluded.changed_by`.execute(queries);
  }
}

/** The draft or duplicate of which an effect changes what plans are made from. */
async function changedAddress(queries: LedgerQueries, effect: LedgerEffect): Promise<string | undefined> {
  switch (effect.type) {
    case "attached":
    case "rerecorded": {
      const { attachment } = effect;
      const isAlone = effect.type === "rerecorded" || effect.replaces === undefined;
      const isConfirmed = isAlone && (await isAsRecorded(queries, attachment));
      return isConfirmed ? undefined : `drafts/${attachment.draftId}`;
    }
    case "readdressed":
    case "detached":
      return `drafts/${effect.target.draftId}`;
    case "published":
    case "protection":
      return `drafts/${effect.draftId}`;
    case "values_forgotten":
      return wholeAddress(effect.address);
    case "duplicated":
    case "duplicate_forgotten":
      return `duplicates/${effect.name}`;
    case "settled": {
      const operation = queries
        .selectFrom("operations")
        .select("address")
        .where("id", "=", effect.operationId);
      const { address } = (await operation.executeTakeFirst()) ?? {};
      return address === undefined ? undefined : wholeAddress(address);
    }
    default:
      return undefined;
  }
}

/** Whether an attachment differs from its record in its provenance alone: it was confirmed. */
async function isAsRecorded(queries: LedgerQueries, attachment: RecordedAttachment): Promise<boolean> {
  const { kind, address, attributes, sha256, replacedBy, formerAddress } = attachment;
  const record = await selectAttachment(queries, attachment)
    .select(["address", "attributes", "sha256", "replaced_by", "former_address"])
    .executeTakeFirst();
  return (
    record?.address === address &&
    record.replaced_by === (replacedBy ?? null) &&
    record.former_address === (formerAddress ?? null) &&
    record.sha256 === (sha256 ?? null) &&
    record.attributes === JSON.stringify(pickAttributes(kind, attributes))
  );
}
