import type { Arrival } from "../../../src/sandbox/arrivals.ts";
import type { SandboxState } from "../../../src/sandbox/state.ts";
import type { StoredOperation } from "../../../src/state/history.ts";
import { desired } from "./scenario.ts";

/** What is known of one kill and the runs after it. */
export interface Evidence {
  /** What the server saw of the run that was killed, in order. */
  readonly killed: readonly Arrival[];
  /** What it saw of the runs that followed. */
  readonly rerun: readonly Arrival[];
  /** The operations of the killed run, as the ledger held them between the two. */
  readonly operations: readonly StoredOperation[];
  /** What the server holds at the end. */
  readonly state: SandboxState;
}

/** Every promise that was broken, in words; none when all is well. */
export function judge({ killed, rerun, operations, state }: Evidence): readonly string[] {
  const writes = (arrivals: readonly Arrival[]) =>
    arrivals.filter(({ side, method, path }) => side === "service" && isWrite(method, path));
  const [first, later] = [writes(killed), writes(rerun)];
  return [
    ...first.flatMap((arrival) =>
      operations.some((operation) => isOf(operation, arrival))
        ? []
        : [`sent before its intent was stored: ${nameOf(arrival)}`],
    ),
    ...operations
      .filter(({ outcome }) => outcome === "done")
      .flatMap((operation) =>
        later
          .filter((arrival) => isOf(operation, arrival))
          .map((arrival) => `completed, and sent again: ${nameOf(arrival)}`),
      ),
    ...repeated([...first, ...later]),
    ...compare(state),
  ];
}

function isWrite(method: string, path: string): boolean {
  return method !== "GET" && path !== "/api/uploads/credentials";
}

/** The operation that a request belongs to: by method, path, and the file where the path names none. */
function isOf(operation: StoredOperation, arrival: Arrival): boolean {
  if (operation.method !== arrival.method || operation.path !== arrival.path) return false;
  const body = JSON.stringify(arrival.body ?? {});
  switch (operation.kind) {
    case "attach":
      return body.includes(`"file_id":${operation.intent.fileId}`) || arrival.status === null;
    case "publish":
      return body.includes(`"id":"${operation.intent.draftId}"`) || arrival.status === null;
    default:
      return true;
  }
}

/** What must never be done twice: publications and duplicates at all, attachments once they took effect. */
function repeated(writes: readonly Arrival[]): readonly string[] {
  const problems: string[] = [];
  const seen = new Map<string, Arrival[]>();
  for (const arrival of writes.filter(({ method, status }) => method === "POST" && status !== null)) {
    if (arrival.path === "/api/uploads") continue;
    const name = `${arrival.path} ${JSON.stringify(arrival.body)}`;
    const earlier = seen.get(name) ?? [];
    const irrevocable = arrival.path.startsWith("/api/products");
    const took = earlier.some(({ status }) => status !== null && status < 300);
    if (irrevocable && earlier.length > 0) problems.push(`sent a second time: ${nameOf(arrival)}`);
    else if (took) problems.push(`attached, and posted again: ${nameOf(arrival)}`);
    seen.set(name, [...earlier, arrival]);
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

function nameOf({ method, path, body, status }: Arrival): string {
  return `${method} ${path} ${JSON.stringify(body)} (${status})`;
}
