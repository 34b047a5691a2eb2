import { DraftsyncError } from "../model/errors.ts";

/** A fleet command that cannot go on: its database, its queue, or a name that it does not have. */
export class FleetError extends DraftsyncError {
  override readonly name = "FleetError";
}
