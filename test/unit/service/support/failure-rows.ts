import { describe, expect, it } from "vitest";
import type { CallResult, Outcome } from "../../../../src/model/outcome.ts";
import type { Service } from "../../../../src/service/open-service.ts";
import type { CallClass } from "../../../../src/service/retry-policy.ts";
import {
  fileDocument,
  noSignal,
  productDocument,
  startHarness,
  target,
  uploadResource,
  write,
} from "./harness.ts";
import type { Reply } from "./raw-server.ts";
import { answer } from "./raw-server.ts";

/** The columns of the table, in its order. */
export const classes = ["read", "update", "detach", "attach", "register", "non_idempotent"] as const;

/** A call of each class. */
export const sends: Record<CallClass, (service: Service) => Promise<CallResult<unknown>>> = {
  read: (service) => service.getProduct(771200, undefined, noSignal()),
  update: (service) => service.update(target, { file_format: "fbx" }, write()),
  detach: (service) => service.detach(target, write()),
  attach: (service) => service.attach(target, { file_format: "fbx" }, write()),
  register: (service) => service.createUpload("in/up1", write()),
  non_idempotent: (service) => service.publish(48213, write()),
};

/** A valid response to a call of each class. */
export const valid: Record<CallClass, object> = {
  read: productDocument(),
  update: fileDocument(),
  detach: { meta: {} },
  attach: fileDocument(),
  register: { data: uploadResource("up1", "queued") },
  non_idempotent: productDocument(),
};

/** A refusal by the service: JSON:API's media type comes from `answer`. */
export const refusal = { errors: [{ title: "no" }] };

/** The read before the first publish of a run. */
const checkPath = "/api/uploads/0";

/** `outcome code requests`; `again` when the call is sent again and then succeeds. */
export type Cell = string;

/** A failure, the reply of a raw server that causes it, and its meaning for each class of call. */
export interface Row {
  readonly name: string;
  readonly reply: (callClass: CallClass) => Reply;
  readonly cells: Readonly<Record<CallClass, Cell>>;
}

/** A {@link Row}, its cells in the order of {@link classes}. */
export function row(name: string, reply: Row["reply"], ...cells: [Cell, Cell, Cell, Cell, Cell, Cell]): Row {
  const [read, update, detach, attach, register, non_idempotent] = cells;
  return { name, reply, cells: { read, update, detach, attach, register, non_idempotent } };
}

/** A {@link Row} with the same meaning for every call. */
export function same(name: string, reply: Row["reply"], cell: Cell): Row {
  return row(name, reply, cell, cell, cell, cell, cell, cell);
}

/** A {@link Row} that leaves a call in doubt unless it may be repeated. */
export function doubt(name: string, reply: Row["reply"], cell: Cell): Row {
  return row(name, reply, "again", "again", "again", cell, "again", cell);
}

/** The {@link Cell} of a call that has ended. */
export function summarize(result: CallResult<unknown>, requests: number): Cell {
  if (result.outcome === "done") return `done ${requests}`;
  const { code, stops } = result.failure;
  return `${result.outcome satisfies Outcome} ${code} ${requests}${stops === "operation" ? "" : ` ${stops}`}`;
}

/** Executes every cell against a raw TCP server that responds correctly from the second request on. */
export function executeTable(name: string, rows: readonly Row[]): void {
  const cells = rows.flatMap((entry) =>
    classes.map((callClass) => ({ ...entry, callClass, expected: entry.cells[callClass] })),
  );
  describe(name, () => {
    it.each(cells)("$name on $callClass: $expected", async ({ reply, callClass, expected }) => {
      // After a pause, calls are slow for one window, so the window is short.
      let replied = false;
      const { service, server, events } = await startHarness(
        ({ path }) => {
          if (path === checkPath) return answer(404, refusal);
          if (replied) return answer(200, valid[callClass]);
          replied = true;
          return reply(callClass);
        },
        { rate: { limit: 1000, windowMs: 20 }, isUnknown: true },
      );
      const result = await sends[callClass](service);
      const requests = server.requests.filter(({ path }) => path !== checkPath).length;
      expect(summarize(result, requests)).toBe(expected === "again" ? "done 2" : expected);
      expect(result.attempts).toBe(requests);
      expect(service.callCount()).toBe(server.requests.length);
      expect(server.requests.length - requests).toBe(callClass === "non_idempotent" ? 1 : 0);
      expect(events.filter((event) => event.type === "call_finished")).toHaveLength(server.requests.length);
    });
  });
}
