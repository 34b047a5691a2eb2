import { describe, expect, it } from "vitest";
import type { CallResult, Outcome } from "../../../src/model/outcome.ts";
import type { Service } from "../../../src/service/open-service.ts";
import type { CallClass } from "../../../src/service/retry-policy.ts";
import {
  fileDocument,
  noSignal,
  productDocument,
  startHarness,
  target,
  uploadResource,
  write,
} from "./support/harness.ts";
import type { Reply } from "./support/raw-server.ts";
import { answer } from "./support/raw-server.ts";

const classes = ["read", "update", "detach", "attach", "register", "irrevocable"] as const;

const sends: Record<CallClass, (service: Service) => Promise<CallResult<unknown>>> = {
  read: (service) => service.getProduct(771200, undefined, noSignal()),
  update: (service) => service.update(target, { file_format: "fbx" }, write()),
  detach: (service) => service.detach(target, write()),
  attach: (service) => service.attach(target, { file_format: "fbx" }, write()),
  register: (service) => service.createUpload("in/a", write()),
  irrevocable: (service) => service.publish(48213, write()),
};

/** A valid answer to a call of each class. */
const valid: Record<CallClass, object> = {
  read: productDocument(),
  update: fileDocument(),
  detach: { meta: {} },
  attach: fileDocument(),
  register: { data: uploadResource("up1", "queued") },
  irrevocable: productDocument(),
};

/** `outcome code requests`; `again` when the call is sent again and then succeeds. */
type Cell = string;

interface Row {
  readonly name: string;
  readonly reply: (callClass: CallClass) => Reply;
  readonly cells: Readonly<Record<CallClass, Cell>>;
}

function row(name: string, reply: Row["reply"], ...cells: [Cell, Cell, Cell, Cell, Cell, Cell]): Row {
  const [read, update, detach, attach, register, irrevocable] = cells;
  return { name, reply, cells: { read, update, detach, attach, register, irrevocable } };
}

function same(name: string, reply: Row["reply"], cell: Cell): Row {
  return row(name, reply, cell, cell, cell, cell, cell, cell);
}

const lost = "unknown connection-reset 1";
const failed = "unknown server-error 1";
const garbled = "unknown malformed-answer 1";
const head = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.api+json\r\n";
const withoutId = { data: { type: "product_file", attributes: { file_format: "fbx" } } };

const rows: readonly Row[] = [
  row(
    "reset after the request",
    () => (socket) => void socket.resetAndDestroy(),
    "again",
    "again",
    "again",
    lost,
    "again",
    lost,
  ),
  row(
    "closed without an answer",
    () => (socket) => void socket.end(),
    "again",
    "again",
    "again",
    lost,
    "again",
    lost,
  ),
  row(
    "closed inside a body with a length",
    () => (socket) => void socket.end(`${head}Content-Length: 500\r\n\r\n{"data":`),
    "again",
    "again",
    "again",
    lost,
    "again",
    lost,
  ),
  row(
    "closed inside a chunked body",
    () => (socket) => void socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n8\r\n{"data":\r\n`),
    "again",
    "again",
    "again",
    lost,
    "again",
    lost,
  ),
  row(
    "closed inside a refusal",
    () => (socket) => void socket.end("HTTP/1.1 422 Unprocessable\r\nContent-Length: 500\r\n\r\n{}"),
    "again",
    "again",
    "again",
    lost,
    "again",
    lost,
  ),
  row(
    "a status line that is not HTTP",
    () => "SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "again",
    "again",
    "again",
    "unknown not-http 1",
    "again",
    "unknown not-http 1",
  ),
  row(
    "a body that claims 2 GB",
    () => `${head}Content-Length: 2147483648\r\n\r\n{`,
    "again",
    "again",
    "again",
    "unknown answer-too-large 1",
    "again",
    "unknown answer-too-large 1",
  ),
  ...[408, 500, 502, 503, 504].map((status) =>
    row(`status ${status}`, () => answer(status), "again", "again", "again", failed, "again", failed),
  ),
  ...(
    [
      [400, "bad-request"],
      [403, "forbidden"],
      [405, "method-not-allowed"],
      [406, "version-not-accepted"],
      [413, "body-too-large"],
      [415, "content-type-not-accepted"],
      [422, "invalid"],
      [451, "refused"],
    ] as const
  ).map(([status, code]) => same(`status ${status}`, () => answer(status), `rejected ${code} 1`)),
  same("status 401", () => answer(401), "rejected unauthorized 1 run"),
  same(
    "a redirect",
    () => answer(307, undefined, { Location: "http://127.0.0.1:1/elsewhere" }),
    "rejected redirect 1",
  ),
  ...[404, 410].map((status) =>
    row(
      `status ${status}`,
      () => answer(status, { errors: [{ title: "not here" }] }),
      "rejected gone 1",
      "rejected not-attached 1",
      "done 1",
      "rejected gone 1 draft",
      "rejected gone 1",
      "rejected gone 1",
    ),
  ),
  row(
    "a web page that says 404",
    () => answer(404, "<!DOCTYPE html><html>nginx</html>", { "Content-Type": "text/html" }),
    "rejected wrong-base-url 1",
    "rejected wrong-base-url 1",
    "rejected wrong-base-url 1",
    "rejected wrong-base-url 1 draft",
    "rejected wrong-base-url 1",
    "rejected wrong-base-url 1",
  ),
  row(
    "409 with a web page",
    () => answer(409, "<html>conflict</html>", { "Content-Type": "text/html" }),
    "rejected conflict 1",
    "rejected conflict 1",
    "rejected conflict 1",
    "rejected conflict 1",
    "rejected conflict 1",
    "unknown conflict 1",
  ),
  row(
    "200 with a web page",
    () => answer(200, "<html>hello</html>"),
    "again",
    "again",
    "again",
    garbled,
    "again",
    garbled,
  ),
  row(
    "200 that is no JSON:API",
    () => answer(200, "[]"),
    "again",
    "again",
    "done 1",
    garbled,
    "again",
    garbled,
  ),
  row(
    "201 of another type",
    () => answer(201, { data: { type: "horse", id: "1" } }),
    "again",
    "again",
    "done 1",
    garbled,
    "again",
    garbled,
  ),
  row(
    "data together with errors",
    (callClass) => answer(200, { ...valid[callClass], errors: [{ title: "no" }] }),
    "again",
    "again",
    "done 1",
    garbled,
    "again",
    garbled,
  ),
  row("200 without a body", () => answer(200), "again", "again", "done 1", garbled, "again", garbled),
  row("206", () => answer(206, fileDocument()), "again", "again", "again", garbled, "again", garbled),
  row(
    "a body that is not UTF-8",
    () => Buffer.concat([Buffer.from(`${head}Content-Length: 1\r\n\r\n`), Buffer.from([0xff])]),
    "again",
    "again",
    "again",
    garbled,
    "again",
    garbled,
  ),
  row(
    "an id beyond 2^53",
    () => answer(201, '{"data":{"type":"product","id":"9007199254740993"}}'),
    "again",
    "again",
    "done 1",
    garbled,
    "again",
    garbled,
  ),
  row(
    "an id beyond 2^53 as a number",
    () => answer(201, '{"data":{"type":"product","id":9007199254740993}}'),
    "again",
    "again",
    "done 1",
    garbled,
    "again",
    garbled,
  ),
  row(
    "201 without an id",
    (callClass) => {
      const type = {
        read: "product",
        irrevocable: "product",
        register: "upload",
        update: "",
        detach: "",
        attach: "",
      }[callClass];
      return answer(201, type === "" ? withoutId : { data: { type, attributes: {} } });
    },
    "unknown answer-without-id 1",
    "done 1",
    "done 1",
    "unknown answer-without-id 1",
    "again",
    "unknown answer-without-id 1",
  ),
  row(
    "204",
    () => answer(204),
    "unknown empty-answer 1",
    "done 1",
    "done 1",
    "done 1",
    "again",
    "unknown empty-answer 1",
  ),
  row(
    "202 with a body",
    (callClass) => answer(202, valid[callClass]),
    "unknown accepted 1",
    "unknown accepted 1",
    "unknown accepted 1",
    "unknown accepted 1",
    "done 1",
    "unknown accepted 1",
  ),
  row(
    "202 without a body",
    () => answer(202),
    "unknown accepted 1",
    "unknown accepted 1",
    "unknown accepted 1",
    "unknown accepted 1",
    "again",
    "unknown accepted 1",
  ),
  same("200", (callClass) => answer(200, valid[callClass]), "done 1"),
  same(
    "200 with media-type parameters",
    (callClass) => answer(200, valid[callClass], { "Content-Type": 'application/vnd.api+json; ext="x"' }),
    "done 1",
  ),
];

const cells = rows.flatMap((entry) =>
  classes.map((callClass) => ({ ...entry, callClass, expected: entry.cells[callClass] })),
);

function summarize(result: CallResult<unknown>, requests: number): string {
  if (result.outcome === "done") return `done ${requests}`;
  const { code, stops } = result.failure;
  return `${result.outcome satisfies Outcome} ${code} ${requests}${stops === "operation" ? "" : ` ${stops}`}`;
}

describe("what a failure means, at a raw TCP server", () => {
  it.each(cells)("$name on $callClass: $expected", async ({ reply, callClass, expected }) => {
    const { service, server, events } = await startHarness((_request, index) =>
      index === 0 ? reply(callClass) : answer(200, valid[callClass]),
    );
    const result = await sends[callClass](service);
    expect(summarize(result, server.requests.length)).toBe(expected === "again" ? "done 2" : expected);
    expect(result.attempts).toBe(server.requests.length);
    expect(service.callCount()).toBe(server.requests.length);
    expect(events.filter((event) => event.type === "call_finished")).toHaveLength(server.requests.length);
  });
});
