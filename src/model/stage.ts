import type { Change } from "./change.ts";
import { isProtectChange } from "./change.ts";

/**
 * The order in which the changes of one draft are carried out. A stage starts when every operation of the one
 * before it is confirmed; a failure or a doubt stops the later stages of its own draft and nothing else.
 * Drafts do not wait for each other, but for one case: a duplicate of "the product of draft D" waits for D.
 *
 * ```
 *   ledger ──► upload ──► attach ──► detach ──► publish ──► duplicate
 *   protect    bytes,     create     delete     product     copy of the
 *   adopt      register,  update     replace:              draft's product
 *   forget     poll       replace:   the recorded file
 *                         the new file
 *                         in doubt: is it attached?
 * ```
 *
 * Attaching before detaching means that a draft never lacks a file that both sides of a replacement hold.
 */
export const stages = ["ledger", "upload", "attach", "detach", "publish", "duplicate"] as const;

/** One of {@link stages}. */
export type Stage = (typeof stages)[number];

/** The stages in which a change has work to do, in order. A doubt that a person has to settle has none: it is blocked. */
export function stagesOf(change: Change): readonly Stage[] {
  switch (change.action) {
    case "create":
      return needsUpload(change.after) ? ["upload", "attach"] : ["attach"];
    case "replace":
      return needsUpload(change.after) ? ["upload", "attach", "detach"] : ["attach", "detach"];
    case "update":
      return isProtectChange(change) ? ["ledger"] : ["attach"];
    case "adopt":
    case "forget":
      return ["ledger"];
    case "delete":
      return ["detach"];
    case "publish":
      return ["publish"];
    case "duplicate":
      return ["duplicate"];
    case "in_doubt":
      return change.after === null ? [] : ["attach"];
  }
}

function needsUpload(after: { readonly file_id?: number }): boolean {
  return after.file_id === undefined;
}
