import type { StoredOperation } from "../../../src/model/history.ts";
import type { RequestLogEntry } from "../../../src/sandbox/request-log.ts";
import type { SandboxState } from "../../../src/sandbox/state.ts";
import { desired } from "./scenario.ts";

/** What is known of one kill and the runs after it. */
export interface Evidence {
  /** What the server saw of the run that was killed, in order. */
  readonly killed: readonly RequestLogEntry[];
  /** What it saw of the next run, before a person said anything. */
  readonly rerun: readonly RequestLogEntry[];
  /** What it saw after a person had resolved the calls in doubt. */
  readonly afterWord: readonly RequestLogEntry[];
  /** The operations of the killed run, as the ledger held them between the two. */
  readonly operations: readonly StoredOperation[];
  /** The addresses of which a person said that they were not done. */
  readonly notDone: readonly string[];
  /** What the server holds at the end. */
  readonly state: SandboxState;
}

/** Every promise that was broken, in words; none when all is well. */
export function judge({ operations, notDone, state, ...seen }: Evidence): readonly string[] {
  const [killed, rerun, afterWord] = [seen.killed, seen.rerun, seen.afterWord].map((arrivals) =>
    arrivals.filter(({ side, method, path }) => side === "service" && isWrite(method, path)),
  ) as [RequestLogEntry[], RequestLogEntry[], RequestLogEntry[]];
  const later = [...rerun, ...afterWord];
  return [
    ...killed
      .filter((arrival) => !operations.some((operation) => isIntentOf(operation, arrival)))
      .map((arrival) => `sent before its intent was stored: ${nameOf(arrival)}`),
    ...operations
      .filter(({ outcome }) => outcome === "done")
      .flatMap((operation) => later.filter((arrival) => isOf(operation, arrival)))
      .map((arrival) => `completed, and sent again: ${nameOf(arrival)}`),
    ...operations.filter(isLost).flatMap((operation) => {
      const allowed = notDone.includes(operation.address) ? 1 : 0;
      const [unasked, asked] = [rerun, afterWord].map((part) =>
        part.filter((each) => isOf(operation, each)),
      ) as [RequestLogEntry[], RequestLogEntry[]];
      return [...unasked, ...asked.slice(allowed)].map(
        (arrival) => `sent a second time, and nothing was proven: ${nameOf(arrival)}`,
      );
    }),
    ...attachedTwice([...killed, ...later]),
    ...compare(state),
  ];
}

function isWrite(method: string, path: string): boolean {
  return method !== "GET" && path !== "/api/uploads/credentials";
}

/** A publication or duplicate that was to be sent, and of which nobody knows what became. */
function isLost({ kind, outcome }: StoredOperation): boolean {
  return (kind === "publish" || kind === "duplicate") && (outcome ?? "unknown") === "unknown";
}

/** Whether a request was announced by an operation. Of a request that broke off, the body may be missing. */
function isIntentOf(operation: StoredOperation, arrival: RequestLogEntry): boolean {
  if (arrival.status !== null) return isOf(operation, arrival);
  const { method, path, outcome } = operation;
  return method === arrival.method && path === arrival.path && outcome === undefined;
}

/** The operation that a request belongs to: by method, path, and the file or draft where the path names none. */
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

/** Files that were posted once more after the server had attached them. */
function attachedTwice(writes: readonly RequestLogEntry[]): readonly string[] {
  const attached = new Set<string>();
  const problems: string[] = [];
  for (const arrival of writes) {
    const { method, path, body, status } = arrival;
    if (method !== "POST" || !path.startsWith("/api/drafts/")) continue;
    const name = `${path} ${JSON.stringify(body)}`;
    if (attached.has(name)) problems.push(`attached, and posted again: ${nameOf(arrival)}`);
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
    ...wanted.filter((each) => !found.includes(each)).map((each) => `not as desired: no ${each}`),
    ...found.filter((each) => !wanted.includes(each)).map((each) => `not as desired: ${each}`),
    ...products.flatMap((product) => {
      const files = wanted.filter((each) => each.startsWith(`{"draftId":${product.draftId},`)).length;
      if (product.draftId === null || product.files.length === files) return [];
      return [`published with ${product.files.length} files, not ${files}: draft ${product.draftId}`];
    }),
    ...(made.join() === "/5,1/,2/" ? [] : [`not as desired: products ${made.join()}`]),
  ];
}

function nameOf({ method, path, body, status }: RequestLogEntry): string {
  return `${method} ${path} ${JSON.stringify(body)} (${status})`;
}
