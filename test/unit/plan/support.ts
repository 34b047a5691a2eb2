import type { RecordedOperation } from "../../../src/model/recorded.ts";
import { planOf } from "../../support/planning.ts";

/** An operation in doubt: a publish by default. */
export function doubt(parts: Partial<RecordedOperation>): RecordedOperation {
  return {
    id: "op-1",
    runId: "run-1",
    address: "drafts/1/product",
    kind: "publish",
    method: "POST",
    path: "/api/products",
    intent: {},
    startedAt: 0,
    ...parts,
  };
}

/** `action reason address [attributes]` of every change. */
export function lines(...args: Parameters<typeof planOf>): string[] {
  return planOf(...args).changes.map(({ action, reason, address, attributes }) =>
    [action, reason, address, ...(attributes.length > 0 ? [`[${attributes}]`] : [])].join(" "),
  );
}
