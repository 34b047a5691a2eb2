import { DraftsyncError } from "../model/errors.ts";

/** A saved plan that cannot be used: unreadable, altered, of another version, or stale. */
export class PlanError extends DraftsyncError {
  override readonly name = "PlanError";
}
