import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { doubt, executeTable, type Row, refusal, row, same, valid } from "./support/failure-rows.ts";
import { fileDocument, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const lost = "unknown connection-reset 1";
const garbled = "unknown malformed-response 1";
const notHttp = "unknown not-http 1";
const throttled = "rejected rate-limited 1";

/** A response whose body has these bytes and their length. */
function withBody(headers: string, body: Uint8Array, status = 200): Buffer {
  const head = `HTTP/1.1 ${status} Whatever\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

const zipped = (callClass: Parameters<Row["reply"]>[0]) => gzipSync(JSON.stringify(valid[callClass]));
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

const rows: readonly Row[] = [
  ...[425, 429].flatMap((status) =>
    [refusal, undefined].map((body) =>
      row(
        `status ${status} with Retry-After, ${body === undefined ? "not JSON:API" : "JSON:API"}`,
        () => answer(status, body, { "Retry-After": "0.01" }),
        "again",
        "again",
        "again",
        throttled,
        "again",
        body === undefined ? "unknown unproven-refusal 1" : "again",
      ),
    ),
  ),
  row(
    "status 422 with an empty list of errors",
    () => answer(422, { errors: [] }),
    ...([1, 2, 3, 4, 5].map(() => "rejected invalid 1") as [string, string, string, string, string]),
    "unknown unproven-refusal 1",
  ),
  doubt(
    "unrequested 100",
    (callClass) => `HTTP/1.1 100 Continue\r\n\r\n${answer(200, valid[callClass])}`,
    lost,
  ),
  doubt("a status line without a numeric status", () => "HTTP/1.1 20x OK\r\n\r\n", notHttp),
  doubt(
    "two different lengths",
    () => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    lost,
  ),
  doubt(
    "endless headers",
    () => `HTTP/1.1 200 OK\r\n${`X-Filler: ${"x".repeat(1000)}\r\n`.repeat(50)}`,
    lost,
  ),
  doubt(
    "a chunk with an invalid size",
    () => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    lost,
  ),
  doubt(
    "a switch to another protocol",
    () => "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    lost,
  ),
  doubt("103 and nothing after it", () => (socket) => void socket.end("HTTP/1.1 103 Early\r\n\r\n"), lost),
  same(
    "102 before the response",
    (callClass) => `HTTP/1.1 102 Processing\r\n\r\n${answer(200, valid[callClass])}`,
    "done 1",
  ),
  same(
    "103 before the response",
    (callClass) => `HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n${answer(200, valid[callClass])}`,
    "done 1",
  ),
  same("a gzip body", (callClass) => withBody("Content-Encoding: gzip\r\n", zipped(callClass)), "done 1"),
  doubt(
    "a truncated gzip body",
    (callClass) => withBody("Content-Encoding: gzip\r\n", zipped(callClass).subarray(0, -9)),
    garbled,
  ),
  doubt(
    "a body with an unknown encoding",
    (callClass) => withBody("Content-Encoding: zstd\r\n", zipped(callClass)),
    garbled,
  ),
  ...[200, 4000, 20_000].flatMap((levels) => [
    doubt(`a body nested ${levels} levels deep`, () => answer(200, nested(levels)), garbled),
    row(
      `a refusal nested ${levels} levels deep`,
      () => answer(422, `{"errors":[{"meta":${nested(levels)}}]}`),
      "rejected invalid 1",
      "rejected invalid 1",
      "rejected invalid 1",
      "rejected invalid 1",
      "rejected invalid 1",
      "unknown unproven-refusal 1",
    ),
  ]),
  doubt("undocumented status 207", () => answer(207, fileDocument()), garbled),
  doubt("a body that is null", () => answer(200, "null"), garbled),
  doubt("a body that is a string", () => answer(200, '"done"'), garbled),
  doubt(
    "a body without a length, cut off by the end of the connection",
    () => (socket) => void socket.end('HTTP/1.0 200 OK\r\n\r\n{"data":{"ty'),
    garbled,
  ),
];

executeTable("meaning of unusual HTTP responses", rows);

describe("keep-alive connection", () => {
  it("does not take a second response to one call for the response to the next", async () => {
    const stray = answer(201, fileDocument({ file_format: "stray" }));
    const { service, server } = await startHarness((_request, index) =>
      index === 0 ? answer(403) + stray : answer(403),
    );
    expect(await service.attach(target, {}, write())).toMatchObject({ outcome: "rejected" });
    expect(await service.attach(target, {}, write())).toMatchObject({ outcome: "rejected" });
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  it("is replaced before a request when the service has closed it", async () => {
    const closed: Promise<unknown>[] = [];
    const { service, server } = await startHarness(() => (socket) => {
      closed.push(new Promise((resolve) => socket.once("close", resolve)));
      socket.end(answer(403));
    });
    for (const _call of [1, 2, 3]) {
      expect(await service.attach(target, {}, write())).toMatchObject({ outcome: "rejected", attempts: 1 });
      await Promise.all(closed);
    }
    expect(server.requests).toHaveLength(3);
  });
});
