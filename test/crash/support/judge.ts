import type { StoredOperation } from "../../../src/model/history.ts";
import type { RequestLogEntry } from "../../../src/sandbox/request-log.ts";
import type { SandboxState } from "../../../src/sandbox/state.ts";
import { desired } from "./scenario.ts";

/** The evidence of one kill and the runs after it. */
export interface Evidence {
  /** Requests of the killed run at the server, in order. */
  readonly killed: readonly RequestLogEntry[];
  /** Requests of the next run, before calls in doubt were resolved. */
  readonly rerun: readonly RequestLogEntry[];
  /** Requests after calls in doubt were resolved. */
  readonly afterResolve: readonly RequestLogEntry[];
  /** The operations of the killed run in the ledger, before the next run. */
  readonly operations: readonly StoredOperation[];
  /** The addresses that were resolved as not done. */
  readonly notDone: readonly string[];
  /** The final state of the server. */
  readonly state: SandboxState;
}

/** A message for each broken promise. */
export function judge({ operations, notDone, state, ...logs }: Evidence): readonly string[] {
  const [killed, rerun, afterResolve] = [logs.killed, logs.rerun, logs.afterResolve].map((arrivals) =>
    arrivals.filter(({ side, method, path }) => side === "service" && isWrite(method, path)),
  ) as [RequestLogEntry[], RequestLogEntry[], RequestLogEntry[]];
  const later = [...rerun, ...afterResolve];
  return [
    ...killed
      .filter((arrival) => !operations.some((operation) => isIntentOf(operation, arrival)))
      .map((arrival) => `sent before its intent was recorded: ${nameOf(arrival)}`),
    ...operations
      .filter(({ outcome }) => outcome === "done")
      .flatMap((operation) => later.filter((arrival) => isOf(operation, arrival)))
      .map((arrival) => `completed and sent again: ${nameOf(arrival)}`),
    ...operations.filter(isLost).flatMap((operation) => {
      const allowed = notDone.includes(operation.address) ? 1 : 0;
      const [unresolved, resolved] = [rerun, afterResolve].map((part) =>
        part.filter((each) => isOf(operation, each)),
      ) as [RequestLogEntry[], RequestLogEntry[]];
      return [...unresolved, ...resolved.slice(allowed)].map(
        (arrival) => `sent a second time without proof: ${nameOf(arrival)}`,
      );
    }),
    ...attachedTwice([...killed, ...later]),
    ...compare(state),
  ];
}

function isWrite(method: string, path: string): boolean {
  return method !== "GET" && path !== "/api/uploads/credentials";
}

/** A publish or duplicate whose outcome is unknown. */
function isLost({ kind, outcome }: StoredOperation): boolean {
  return (kind === "publish" || kind === "duplicate") && (outcome ?? "unknown") === "unknown";
}

/** Whether an operation is the intent of a request. A truncated request may lack its body. */
function isIntentOf(operation: StoredOperation, arrival: RequestLogEntry): boolean {
  if (arrival.status !== null) return isOf(operation, arrival);
  const { method, path, outcome } = operation;
  return method === arrival.method && path === arrival.path && outcome === undefined;
}

/** Whether a request belongs to an operation, by method, path and, if needed, the file or draft in the body. */
function isOf(operation: StoredOperation, arrival: RequestLogEntry): boolean {
  if (operation.method !== arrival.method || operation.path !== arrival.path) return false;
  const body = JSON.stringify(arrival.body ?? {});
  switch (operation.kind) {
    case "attach":
      return body.includes(`"file_id":${operation.intent.fileId}`);
    case "publish":
      return arrival.status === null || body.includes(`"id":"${operation.intent.draftId}"`);
    default:
      return true;
  }
}

/** Files that were posted again after the server attached them. */
function attachedTwice(writes: readonly RequestLogEntry[]): readonly string[] {
  const attached = new Set<string>();
  const problems: string[] = [];
  for (const arrival of writes) {
    const { method, path, body, status } = arrival;
    if (method !== "POST" || !path.startsWith("/api/drafts/")) continue;
    const name = `${path} ${JSON.stringify(body)}`;
    if (attached.has(name)) problems.push(`attached and posted again: ${nameOf(arrival)}`);
    if (status !== null && status < 300) attached.add(name);
  }
  return problems;
}

function compare({ attachments, products }: SandboxState): readonly string[] {
  const found = attachments.map(({ draftId, kind, fileId, attributes }) => {
    const uploaded = fileId >= 9_000_000_000;
    return JSON.stringify({ draftId, kind, fileId: uploaded ? "uploaded" : fileId, attributes });
  });
  const wanted = desired.map((each) => JSON.stringify(each));
  const made = products.map(({ draftId, duplicateOf }) => `${draftId ?? ""}/${duplicateOf ?? ""}`).sort();
  return [
    ...wanted.filter((each) => !found.includes(each)).map((each) => `differs from the manifests: no ${each}`),
    ...found.filter((each) => !wanted.includes(each)).map((each) => `differs from the manifests: ${each}`),
    ...products.flatMap((product) => {
      const files = wanted.filter((each) => each.startsWith(`{"draftId":${product.draftId},`)).length;
      if (product.draftId === null || product.files.length === files) return [];
      return [`published with ${product.files.length} files, not ${files}: draft ${product.draftId}`];
    }),
    ...(made.join() === "/5,1/,2/" ? [] : [`differs from the manifests: products ${made.join()}`]),
  ];
}

function nameOf({ method, path, body, status }: RequestLogEntry): string {
  return `${method} ${path} ${JSON.stringify(body)} (${status})`;
}
