import type { AttachmentState } from "./change.ts";
import { attributeNames } from "./resource.ts";

const members = [
  "file_id",
  "source",
  "sha256",
  "size",
  "upload_id",
  "upload_key",
  "address",
  ...attributeNames.product_files,
  ...attributeNames.promotional_files,
] as const satisfies readonly (keyof AttachmentState)[];

/** The same state with its members in the order of plans, so that a plan that is read back has the same bytes again. */
export function orderState(state: AttachmentState): AttachmentState {
  return Object.fromEntries(
    members.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]),
  );
}
