import { parseAddress } from "./address.ts";
import type { AttachmentState, ResourceName } from "./change.ts";
import type { ConfirmedState, RecordedAttachment } from "./recorded.ts";
import type { FileTarget } from "./resource.ts";
import { pickAttributes } from "./resource.ts";

interface DriftOf<Type extends string, Before, After> extends ResourceName {
  readonly address: string;
  readonly type: Type;
  /** What was recorded. */
  readonly before: Before;
  /** What was observed. */
  readonly after: After;
  /** Names of the attributes that differ; all that are known of a file that was found, none of one that is gone. */
  readonly attributes: readonly string[];
  /** How the record was known; `null` where there was none. */
  readonly confirmed: ConfirmedState | null;
  /** ISO 8601, UTC. */
  readonly observed_at: string;
}

/** A managed attribute has another value at the service. */
export type ChangedDrift = DriftOf<"changed", AttachmentState, AttachmentState>;
/** A recorded file is not attached. */
export type GoneDrift = DriftOf<"gone", AttachmentState, null>;
/** A desired file is attached that is not recorded. */
export type FoundDrift = DriftOf<"found", null, AttachmentState>;
/** A recorded product is not there. Nothing follows: it is never published again by itself. */
export type ProductGoneDrift = DriftOf<"product_gone", { readonly product_id: number }, null>;

/** One difference between what is recorded and what was observed. Several may have one address. */
export type Drift = ChangedDrift | GoneDrift | FoundDrift | ProductGoneDrift;

/** The file a drift is about. */
export function targetOfDrift(drift: ChangedDrift | GoneDrift | FoundDrift): FileTarget {
  const parsed = parseAddress(drift.address);
  const { file_id: fileId } = drift.type === "found" ? drift.after : drift.before;
  if (parsed?.type !== "attachment" || fileId === undefined) {
    throw new TypeError(`${drift.address} is not an attached file`);
  }
  return { draftId: parsed.draftId, kind: parsed.kind, fileId };
}

/** The record of what was observed. */
export function recordOfDrift(drift: ChangedDrift | FoundDrift): RecordedAttachment {
  const target = targetOfDrift(drift);
  const { sha256 } = drift.type === "changed" ? drift.before : drift.after;
  return {
    ...target,
    address: drift.address,
    attributes: pickAttributes(target.kind, drift.after),
    ...(sha256 === undefined ? {} : { sha256 }),
    provenance: { by: "probe", at: Date.parse(drift.observed_at) },
  };
}
