import type { AttachmentState } from "./change.ts";

const members = [
  "file_id",
  "source",
  "sha256",
  "size",
  "upload_id",
  "upload_key",
  "address",
  "file_format",
  "format_version",
  "renderer",
  "renderer_version",
  "is_native",
  "description",
] as const satisfies readonly (keyof AttachmentState)[];

/** A state with its members in one order, absent ones left out: a plan that is read back has the same bytes again. */
export function orderState(state: AttachmentState): AttachmentState {
  return Object.fromEntries(
    members.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]),
  );
}
