import { doubt, executeTable, type Row, refusal, row, same, valid } from "./support/failure-rows.ts";
import { fileDocument } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const lost = "unknown connection-reset 1";
const failed = "unknown server-error 1";
const garbled = "unknown malformed-response 1";
const head = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.api+json\r\n";
const withoutId = { data: { type: "product_file", attributes: { file_format: "fbx" } } };

const elsewhere = { Location: "http://127.0.0.1:1/elsewhere" };
const page = (status: number) =>
  answer(status, "<!DOCTYPE html><html>proxy</html>", { "Content-Type": "text/html" });
const problem = (status: number) =>
  answer(status, { title: "no" }, { "Content-Type": "application/problem+json" });

/** Only a JSON:API error refuses a publish or duplicate. */
const unproven = (name: string, reply: Row["reply"], cell: string) =>
  row(name, reply, cell, cell, cell, cell, cell, "unknown unproven-refusal 1");

/** A status that proves nothing about a write with any body. */
const neither = (name: string, reply: Row["reply"], code: string, publish = code) =>
  row(
    name,
    reply,
    `rejected ${code} 1`,
    ...([`unknown ${code} 1`, `unknown ${code} 1`, `unknown ${code} 1`, `unknown ${code} 1`] as const),
    `unknown ${publish} 1`,
  );

const types = { read: "product", non_idempotent: "product", register: "upload" } as const;
/** Only the id in a read of a product is compared. */
const about = (callClass: Parameters<Row["reply"]>[0], names: object) => {
  const type = new Map(Object.entries(types)).get(callClass) ?? "product_file";
  return answer(200, { data: { type, id: callClass === "read" ? "771200" : "5", ...names } });
};

const toDraft = (id: unknown) => ({ relationships: { draft: { data: { type: "draft", id } } } });

const rows: readonly Row[] = [
  doubt("reset after the request", () => (socket) => void socket.resetAndDestroy(), lost),
  doubt("closed without a response", () => (socket) => void socket.end(), lost),
  doubt(
    "closed inside a body with a length",
    () => (socket) => void socket.end(`${head}Content-Length: 500\r\n\r\n{"data":`),
    lost,
  ),
  doubt(
    "closed inside a chunked body",
    () => (socket) => void socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n8\r\n{"data":\r\n`),
    lost,
  ),
  doubt(
    "closed inside a refusal",
    () => (socket) => void socket.end("HTTP/1.1 422 Unprocessable\r\nContent-Length: 500\r\n\r\n{}"),
    lost,
  ),
  doubt("a status line that is not HTTP", () => "SSH-2.0-OpenSSH_9.6\r\n\r\n", "unknown not-http 1"),
  doubt(
    "a body that claims 2 GB",
    () => `${head}Content-Length: 2147483648\r\n\r\n{`,
    "unknown response-too-large 1",
  ),
  ...[408, 500, 502, 503, 504, 599].map((status) => doubt(`status ${status}`, () => answer(status), failed)),
  ...(
    [
      [400, "bad-request"],
      [403, "forbidden"],
      [405, "method-not-allowed"],
      [406, "version-not-accepted"],
      [413, "body-too-large"],
      [415, "content-type-not-accepted"],
      [422, "invalid"],
    ] as const
  ).flatMap(([status, code]) => [
    same(`status ${status}, JSON:API`, () => answer(status, refusal), `rejected ${code} 1`),
    unproven(`status ${status}, no body`, () => answer(status), `rejected ${code} 1`),
    unproven(`status ${status}, problem+json`, () => problem(status), `rejected ${code} 1`),
    unproven(
      `status ${status}, a web page`,
      () => page(status),
      `rejected ${status === 405 ? "wrong-base-url" : code} 1`,
    ),
  ]),
  same("status 401, JSON:API", () => answer(401, refusal), "rejected unauthorized 1 run"),
  unproven("status 401, no body", () => answer(401), "rejected unauthorized 1 run"),
  unproven("status 401, a web page", () => page(401), "rejected unauthorized 1 run"),
  ...[300, 301, 302, 303, 304, 307, 308].flatMap((status) => [
    neither(`status ${status}`, () => answer(status, undefined, elsewhere), "redirect"),
    // 304 has no body (RFC 9110 §15.4.5).
    ...(status === 304
      ? []
      : [neither(`status ${status}, JSON:API`, () => answer(status, refusal, elsewhere), "redirect")]),
  ]),
  ...[402, 407, 418, 421, 451, 460, 499].flatMap((status) => [
    neither(`status ${status}, JSON:API`, () => answer(status, refusal), "refused"),
    neither(`status ${status}, a web page`, () => page(status), "refused", "unproven-refusal"),
  ]),
  ...[404, 410].flatMap((status) => [
    // Problem details (RFC 9457) count for all but a publish or duplicate.
    ...[answer(status, refusal), problem(status)].map((reply, index) =>
      row(
        `status ${status}, ${index === 0 ? "JSON:API" : "problem+json"}`,
        () => reply,
        "rejected gone 1",
        "rejected not-attached 1",
        "done 1",
        "rejected gone 1 draft",
        "rejected gone 1",
        index === 0 ? "rejected gone 1" : "unknown unproven-refusal 1",
      ),
    ),
    ...(
      [
        ["a web page", () => page(status)],
        ["no body", () => answer(status)],
        ["errors as plain JSON", () => answer(status, refusal, { "Content-Type": "application/json" })],
        ["JSON:API without errors", () => answer(status, { meta: {} })],
        ["an error without members", () => answer(status, { errors: [{}] })],
        ["errors that are not objects", () => answer(status, { errors: ["no"] })],
        ["errors with data", () => answer(status, { ...refusal, data: null })],
      ] as const
    ).map(([name, reply]) =>
      row(
        `status ${status}, ${name}`,
        reply,
        "rejected wrong-base-url 1",
        "rejected wrong-base-url 1",
        "rejected wrong-base-url 1",
        "rejected wrong-base-url 1 draft",
        "rejected wrong-base-url 1",
        "unknown unproven-refusal 1",
      ),
    ),
  ]),
  ...[answer(409, refusal), page(409)].map((reply, index) =>
    row(
      `status 409, ${index === 0 ? "JSON:API" : "a web page"}`,
      () => reply,
      "rejected conflict 1",
      "unknown conflict 1",
      "unknown conflict 1",
      "unknown conflict 1",
      "rejected conflict 1",
      "unknown conflict 1",
    ),
  ),
  doubt("200 with a web page", () => answer(200, "<html>hello</html>"), garbled),
  doubt("200 that is not JSON:API", () => answer(200, "[]"), garbled),
  doubt("201 of a different type", () => answer(201, { data: { type: "horse", id: "1" } }), garbled),
  doubt(
    "data with errors",
    (callClass) => answer(200, { ...valid[callClass], errors: [{ title: "no" }] }),
    garbled,
  ),
  row("200 without a body", () => answer(200), "again", "again", "again", garbled, "again", garbled),
  row(
    "200 with an object of a gateway",
    () => answer(200, { message: "Internal server error" }),
    "again",
    "again",
    "again",
    garbled,
    "again",
    garbled,
  ),
  doubt("206", () => answer(206, fileDocument()), garbled),
  doubt(
    "a body that is not UTF-8",
    () => Buffer.concat([Buffer.from(`${head}Content-Length: 1\r\n\r\n`), Buffer.from([0xff])]),
    garbled,
  ),
  doubt(
    "an id beyond 2^53",
    () => answer(201, '{"data":{"type":"product","id":"9007199254740993"}}'),
    garbled,
  ),
  doubt(
    "an id beyond 2^53 as a number",
    () => answer(201, '{"data":{"type":"product","id":9007199254740993}}'),
    garbled,
  ),
  row(
    "201 without an id",
    (callClass) => {
      const type = {
        read: "product",
        non_idempotent: "product",
        register: "upload",
        update: "",
        detach: "",
        attach: "",
      }[callClass];
      return answer(201, type === "" ? withoutId : { data: { type, attributes: {} } });
    },
    "rejected response-without-id 1",
    "done 1",
    "done 1",
    "unknown response-without-id 1",
    "again",
    "unknown response-without-id 1",
  ),
  ...[99, "99", 2 ** 60, 99.5, -99].map((id) =>
    row(
      `200 that names file ${JSON.stringify(id)}`,
      (callClass) => about(callClass, { attributes: { file_id: id, file_format: "fbx" } }),
      "done 1",
      "unknown response-mismatch 1",
      "unknown response-mismatch 1",
      "unknown response-mismatch 1",
      Number(id) === 99 ? "done 1" : "done 2",
      "done 1",
    ),
  ),
  ...[
    toDraft(99),
    toDraft("99"),
    toDraft(2 ** 60),
    { relationships: { draft: { data: [{ type: "draft", id: "99" }] } } },
    {
      relationships: {
        draft: {
          data: [
            { type: "draft", id: "99" },
            { type: "draft", id: "98" },
          ],
        },
      },
    },
  ].map((other) =>
    row(
      `200 that names a different draft: ${JSON.stringify(other)}`,
      (callClass) => about(callClass, other),
      "done 1",
      "unknown response-mismatch 1",
      "unknown response-mismatch 1",
      "unknown response-mismatch 1",
      "done 1",
      "unknown response-mismatch 1",
    ),
  ),
  ...[48213, "48213"].map((id) =>
    same(
      `200 that names the draft and file of the request, with a different data.id: ${JSON.stringify(id)}`,
      (callClass) =>
        about(callClass, { attributes: { file_id: id === 48213 ? 9900011 : "9900011" }, ...toDraft(id) }),
      "done 1",
    ),
  ),
  same(
    "200 whose draft relationship has only links",
    (callClass) => about(callClass, { relationships: { draft: { links: { related: "/x" } } } }),
    "done 1",
  ),
  row(
    "204",
    () => answer(204),
    "rejected empty-response 1",
    "done 1",
    "done 1",
    "done 1",
    "again",
    "unknown empty-response 1",
  ),
  ...["with a body", "without a body"].map((body) =>
    row(
      `202 ${body}`,
      (callClass) => answer(202, body === "with a body" ? valid[callClass] : undefined),
      "rejected accepted 1",
      "unknown accepted 1",
      "unknown accepted 1",
      "unknown accepted 1",
      body === "with a body" ? "done 1" : "again",
      "unknown accepted 1",
    ),
  ),
  same("200", (callClass) => answer(200, valid[callClass]), "done 1"),
  same(
    "200 with media-type parameters",
    (callClass) => answer(200, valid[callClass], { "Content-Type": 'application/vnd.api+json; ext="x"' }),
    "done 1",
  ),
];

executeTable("meaning of failures at a raw TCP server", rows);
