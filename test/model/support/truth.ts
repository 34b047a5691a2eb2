import type { Resolution } from "../../../src/apply/resolution.ts";
import type { RecordedOperation } from "../../../src/model/recorded.ts";
import type { SandboxState } from "../../../src/sandbox/state.ts";
import { nameOf } from "./call-details.ts";

/** What a person finds at the service. */
interface Found {
  readonly products: SandboxState["products"];
  /** Products that the ledger has, or had. */
  readonly known: ReadonlySet<number>;
  /** The attached files, by `drafts/1/product_files/11`. */
  readonly held: ReadonlyMap<string, unknown>;
}

/** The right resolution of an operation in doubt. */
export function truthOf({ kind, intent }: RecordedOperation, { products, known, held }: Found): Resolution {
  if (kind !== "publish" && kind !== "duplicate")
    return { type: held.has(nameOf(intent)) === (kind !== "detach") ? "done" : "not_done" };
  const made = products.find(
    ({ id, draftId, duplicateOf }) =>
      !known.has(id) &&
      (kind === "publish"
        ? duplicateOf === null && draftId === intent.draftId
        : duplicateOf === intent.productId),
  );
  return made === undefined ? { type: "not_done" } : { type: "product", productId: made.id };
}
