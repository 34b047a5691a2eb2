import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, test } from "vitest";
import { type RequestLogEntry, startSandbox } from "../../src/sandbox/server.ts";
import { JSON_API, KEY } from "./support/call.ts";
import { makeS3, openSession } from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbox-log-"));
afterAll(() => rmSync(folder, { recursive: true }));
const linesOf = (file: string): unknown[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("request log", () => {
  const file = join(folder, "new", "arrivals.ndjson");
  const { send, sandbox } = useSandbox({ log: file });

  test("POST /api/drafts/:draft_id/product_files — is logged completely before its response arrives", async () => {
    const body = { data: { type: "product_file", attributes: { file_id: 7, file_format: "fbx" } } };
    const before = Date.now();
    await send({ method: "POST", path: "/api/drafts/5/product_files?a=1&b=x%20y&a=2", body });
    expect(linesOf(file)).toEqual([
      {
        sequence: 1,
        time: expect.any(Number),
        monotonic: expect.any(Number),
        side: "service",
        method: "POST",
        path: "/api/drafts/5/product_files",
        query: { a: ["1", "2"], b: "x y" },
        headers: {
          accept: `${JSON_API}; com.service.api.version=1`,
          authorization: "Token ***",
          "content-type": JSON_API,
          "content-length": String(JSON.stringify(body).length),
          host: new URL(sandbox().url).host,
          connection: "close",
        },
        body,
        status: 201,
        duration: expect.any(Number),
      },
    ]);
    const [line] = linesOf(file);
    expect(line).toHaveProperty(
      "time",
      expect.toSatisfy((time: number) => time >= before && time <= Date.now()),
    );
    expect(line).toHaveProperty(
      "duration",
      expect.toSatisfy((duration: number) => duration > 0),
    );
  });

  test.each([
    { name: "a refused key", path: "/api/uploads", headers: { authorization: "Token no" }, status: 401 },
    { name: "an unknown path", path: "/nothing", headers: {}, status: 404 },
    { name: "a body that is not JSON", path: "/api/uploads", headers: {}, status: 400, body: "text" },
  ])("POST $path — $name is logged", async ({ path, headers, status, body }) => {
    await send({ method: "POST", path, headers, body });
    expect(linesOf(file).at(-1)).toMatchObject({ path, status, body: body ?? null, side: "service" });
  });

  test("PutObject — is logged as storage, without the bytes", async () => {
    const session = await openSession(send);
    const s3 = makeS3(session);
    await s3.send(
      new PutObjectCommand({ Bucket: session.bucket, Key: `${session.key_prefix}a`, Body: "bytes" }),
    );
    s3.destroy();
    expect(linesOf(file).at(-1)).toMatchObject({
      side: "storage",
      method: "PUT",
      path: `/${session.bucket}/${session.key_prefix}a`,
      query: { "x-id": "PutObject" },
      headers: { authorization: "AWS4-HMAC-SHA256 ***", "x-amz-security-token": "***" },
      body: null,
      status: 200,
    });
    const text = readFileSync(file, "utf8");
    for (const secret of [KEY, session.secret_key, session.session_token]) expect(text).not.toContain(secret);
  });
});

test("a request that ends inside its body is logged without a status and has no effect", async () => {
  const log = new EventEmitter<{ arrival: [RequestLogEntry] }>();
  const arrived = once(log, "arrival");
  const sandbox = await startSandbox({ key: KEY, log: (arrival) => log.emit("arrival", arrival) });
  const socket = connect(sandbox.port, "127.0.0.1");
  const head = [
    "POST /api/drafts/5/product_files HTTP/1.1",
    "Host: sandbox",
    `Accept: ${JSON_API}; com.service.api.version=1`,
    `Authorization: Token ${KEY}`,
    `Content-Type: ${JSON_API}`,
    "Content-Length: 500",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n{"data":`);
  expect(await arrived).toMatchObject([{ status: null, path: "/api/drafts/5/product_files", body: null }]);
  socket.destroy();
  expect(sandbox.state().attachments).toEqual([]);
  await sandbox.close();
});
