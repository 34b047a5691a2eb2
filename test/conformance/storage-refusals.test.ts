import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, call } from "./support/call.ts";
import { type Credentials, callStorage, codeOf, openSession, type StorageCall } from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const START = Date.UTC(2030, 0, 1);
let time = START;
const { send, sandbox } = useSandbox({ now: () => time, credentialsLifetimeMs: 600_000 });
let session: Credentials;
beforeAll(async () => {
  session = await openSession(send);
});

const pathOf = (key: string) => `/${session.bucket}/${key}`;
const put = (changes: Partial<StorageCall> = {}): StorageCall => ({
  method: "PUT",
  path: pathOf(`${session.key_prefix}refused`),
  body: "hello",
  ...changes,
});

function expectRefused(response: ApiResponse, status: number, code: string): void {
  expect([response.status, codeOf(response)]).toEqual([status, code]);
  expect(response.headers["content-type"]).toBe("application/xml");
  expect(sandbox().state().objects).toEqual([]);
}

describe("storage credentials", () => {
  test("PutObject with an unknown access key: 403", async () => {
    const unknown = { ...session, access_key: "ASIA0000000000000000" };
    expectRefused(await callStorage(unknown, put()), 403, "InvalidAccessKeyId");
  });

  test.each([undefined, "Token sandbox-key"])(
    "PutObject with Authorization %s: 403",
    async (authorization) => {
      const headers = { authorization };
      const response = await call(session.endpoint, {
        method: "PUT",
        path: put().path,
        body: "hello",
        headers,
      });
      expectRefused(response, 403, "AccessDenied");
    },
  );

  test("PutObject with an expired session: 400; with a new session it works", async () => {
    time = START + 600_000;
    expectRefused(await callStorage(session, put()), 400, "ExpiredToken");
    session = await openSession(send);
    const response = await callStorage(session, put({ method: "HEAD" }));
    expect(response.status).toBe(404);
  });
});

describe("storage paths", () => {
  test.each(["incoming/file", "uploads/another/file", "", "file"])(
    "PutObject at key %j: 403",
    async (key) => {
      expectRefused(await callStorage(session, put({ path: pathOf(key) })), 403, "AccessDenied");
    },
  );

  test("PutObject in another bucket: 404", async () => {
    expectRefused(await callStorage(session, put({ path: "/another/key" })), 404, "NoSuchBucket");
  });

  test.each(["DELETE", "PATCH", "POST"])("%s of an object: 501", async (method) => {
    expectRefused(await callStorage(session, put({ method })), 501, "NotImplemented");
  });

  test("GetObject and HeadObject of a missing object: 404", async () => {
    const { body: _, ...bare } = put();
    expectRefused(await callStorage(session, { ...bare, method: "GET" }), 404, "NoSuchKey");
    const head = await callStorage(session, { ...bare, method: "HEAD" });
    expect([head.status, head.text]).toEqual([404, ""]);
  });
});

describe("unsupported storage requests", () => {
  test.each<[string, StorageCall["headers"]]>([
    ["a copy source", { "x-amz-copy-source": "/a/b" }],
    ["aws-chunked", { "content-encoding": "gzip, aws-chunked" }],
    ["unsigned chunks", { "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER" }],
    ["signed chunks", { "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" }],
  ])("PutObject with %s: 501", async (_, headers = {}) => {
    expectRefused(await callStorage(session, put({ headers })), 501, "NotImplemented");
  });

  test.each<[string, StorageCall["query"], string, number, string]>([
    ["of an unknown upload", { uploadId: "nothing", partNumber: "1" }, "x", 404, "NoSuchUpload"],
    ["number 0", { uploadId: "nothing", partNumber: "0" }, "x", 400, "InvalidArgument"],
    ["number 10001", { uploadId: "nothing", partNumber: "10001" }, "x", 400, "InvalidArgument"],
  ])("UploadPart %s is rejected", async (_, query = {}, body, status, code) => {
    expectRefused(await callStorage(session, put({ query, body })), status, code);
  });

  test("CompleteMultipartUpload with an invalid body: 400", async () => {
    const begun = await callStorage(session, put({ method: "POST", query: { uploads: "" }, body: "" }));
    const uploadId = /<UploadId>([^<]+)/.exec(begun.text)?.[1] ?? "";
    for (const body of ["<a/>", "text", "<CompleteMultipartUpload/>", "<CompleteMultipartUpload><Part>"]) {
      const response = await callStorage(session, put({ method: "POST", query: { uploadId }, body }));
      expectRefused(response, 400, "MalformedXML");
    }
  });
});
