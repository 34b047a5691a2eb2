import type { Observation } from "../model/observed.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { RecordedOperation } from "../model/recorded.ts";
import { type Attributes, isSameValue } from "../model/resource.ts";

type Read = Extract<Observation, { type: "attachment" }>["read"];

/** Whether a response has every attribute that an operation set. */
export function returnsAll(returned: Attributes, { kind, intent }: RecordedOperation): boolean {
  const names = new Set(Object.keys(returned));
  return kind === "detach" || Object.keys(intent.attributes ?? {}).every((name) => names.has(name));
}

/** Whether an operation in doubt about a file took effect, by what was read of that file later. */
export function hasTakenEffect({ kind, intent }: RecordedOperation, read: Read): boolean {
  if (kind === "detach") return read.type !== "present";
  if (read.type !== "present") return false;
  return kind === "attach" || returnsAsSent(intent, read.value);
}

/** Whether a file was seen with values that an operation sent: its entry has them then, and no others are kept for it. */
export function hasValuesOf({ intent }: RecordedOperation, read: Read): boolean {
  const isEmpty = Object.keys(intent.attributes ?? {}).length === 0;
  return read.type === "present" && !isEmpty && returnsAsSent(intent, read.value);
}

function returnsAsSent({ attributes = {} }: RecordedOperation["intent"], returned: Attributes): boolean {
  const seen = new Map(Object.entries(returned));
  return Object.entries(attributes).every(([name, value]) => isSameValue(value, seen.get(name)));
}

/** {@link hasTakenEffect} as what the ledger takes. */
export function settlement(operation: RecordedOperation, read: Read): LedgerEffect {
  const outcome = hasTakenEffect(operation, read) ? "done" : "not_sent";
  return { type: "settled", operationId: operation.id, outcome };
}
