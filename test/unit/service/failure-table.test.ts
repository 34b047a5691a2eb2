import { doubt, executeTable, type Row, row, same, valid } from "./support/failure-rows.ts";
import { fileDocument } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const lost = "unknown connection-reset 1";
const failed = "unknown server-error 1";
const garbled = "unknown malformed-answer 1";
const head = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.api+json\r\n";
const withoutId = { data: { type: "product_file", attributes: { file_format: "fbx" } } };

const rows: readonly Row[] = [
  doubt("reset after the request", () => (socket) => void socket.resetAndDestroy(), lost),
  doubt("closed without an answer", () => (socket) => void socket.end(), lost),
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
    "unknown answer-too-large 1",
  ),
  ...[408, 500, 502, 503, 504].map((status) => doubt(`status ${status}`, () => answer(status), failed)),
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
    "unknown conflict 1",
    "rejected conflict 1",
    "unknown conflict 1",
  ),
  doubt("200 with a web page", () => answer(200, "<html>hello</html>"), garbled),
  doubt("200 that is no JSON:API", () => answer(200, "[]"), garbled),
  doubt("201 of another type", () => answer(201, { data: { type: "horse", id: "1" } }), garbled),
  doubt(
    "data together with errors",
    (callClass) => answer(200, { ...valid[callClass], errors: [{ title: "no" }] }),
    garbled,
  ),
  row("200 without a body", () => answer(200), "again", "again", "done 1", garbled, "again", garbled),
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

executeTable("what a failure means, at a raw TCP server", rows);
