import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type Answer, call } from "./support/call.ts";
import {
  type Credentials,
  callStorage,
  codeOf,
  openSession,
  type StorageCall,
  sha256,
  signStorageCall,
} from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const START = Date.UTC(2030, 0, 1);
let time = START;
const { send, sandbox } = useSandbox({ now: () => time, credentialsLifetimeMs: 600_000 });
let session: Credentials;
beforeAll(async () => {
  session = await openSession(send);
});

const now = () => new Date(time);
const pathOf = (key: string) => `/${session.bucket}/${key}`;
const put = (changes: Partial<StorageCall> = {}): StorageCall => ({
  method: "PUT",
  path: pathOf(`${session.key_prefix}refused`),
  body: "hello",
  signingDate: now(),
  ...changes,
});

function expectRefused(answer: Answer, status: number, code: string): void {
  expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  expect(answer.headers["content-type"]).toBe("application/xml");
  expect(sandbox().state().objects).toEqual([]);
}

describe("who signed", () => {
  test.each<[string, Partial<Credentials>, number, string]>([
    ["another secret", { secret_key: "x".repeat(40) }, 403, "SignatureDoesNotMatch"],
    ["an unknown access key", { access_key: "ASIA0000000000000000" }, 403, "InvalidAccessKeyId"],
    ["another session token", { session_token: "another" }, 400, "InvalidToken"],
    ["another region", { region: "eu-west-1" }, 403, "AccessDenied"],
  ])("PutObject with %s", async (_, changes, status, code) => {
    expectRefused(await callStorage({ ...session, ...changes }, put()), status, code);
  });

  test("PutObject without a signature", async () => {
    const headers = { authorization: undefined };
    const answer = await call(session.endpoint, { method: "PUT", path: put().path, body: "hello", headers });
    expectRefused(answer, 403, "AccessDenied");
  });

  test("PutObject with the API key instead", async () => {
    expectRefused(
      await call(session.endpoint, { method: "PUT", path: put().path, body: "x" }),
      403,
      "AccessDenied",
    );
  });

  test.each<[string, (signed: Awaited<ReturnType<typeof signStorageCall>>) => object, string]>([
    ["another path", (signed) => ({ path: `${signed.path}2` }), "SignatureDoesNotMatch"],
    ["another query", (signed) => ({ path: `${signed.path}?partNumber=1` }), "SignatureDoesNotMatch"],
    ["another method", () => ({ method: "POST" }), "SignatureDoesNotMatch"],
    [
      "another content hash",
      (signed) => ({ headers: { ...signed.headers, "x-amz-content-sha256": sha256("other") } }),
      "SignatureDoesNotMatch",
    ],
    [
      "an x-amz- header that is not signed",
      (signed) => ({ headers: { ...signed.headers, "x-amz-meta-a": "1" } }),
      "AccessDenied",
    ],
  ])("PutObject changed after signing: %s", async (_, change, code) => {
    const signed = await signStorageCall(session, put());
    expectRefused(await call(session.endpoint, { ...signed, ...change(signed) }), 403, code);
  });

  test("PutObject signed 16 minutes ago", async () => {
    const answer = await callStorage(session, put({ signingDate: new Date(time - 16 * 60_000) }));
    expectRefused(answer, 403, "RequestTimeTooSkewed");
  });

  test("PutObject with a session that has expired, and with one opened after it", async () => {
    time = START + 600_000;
    expectRefused(await callStorage(session, put()), 400, "ExpiredToken");
    session = await openSession(send);
    const answer = await callStorage(session, put({ method: "HEAD" }));
    expect(answer.status).toBe(404);
  });
});

describe("where", () => {
  test.each(["incoming/file", "uploads/another/file", "", "file"])("PutObject at key %j", async (key) => {
    expectRefused(await callStorage(session, put({ path: pathOf(key) })), 403, "AccessDenied");
  });

  test("PutObject in another bucket", async () => {
    expectRefused(await callStorage(session, put({ path: "/another/key" })), 404, "NoSuchBucket");
  });

  test.each(["DELETE", "PATCH", "POST"])("%s of an object", async (method) => {
    expectRefused(await callStorage(session, put({ method })), 501, "NotImplemented");
  });

  test("GetObject and HeadObject of what is not there", async () => {
    const { body: _, ...bare } = put();
    expectRefused(await callStorage(session, { ...bare, method: "GET" }), 404, "NoSuchKey");
    const head = await callStorage(session, { ...bare, method: "HEAD" });
    expect([head.status, head.text]).toEqual([404, ""]);
  });
});

describe("what", () => {
  const STREAMING = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
  const chunked = (changes: Record<string, string> = {}) => ({
    "x-amz-content-sha256": STREAMING,
    "x-amz-decoded-content-length": "5",
    "x-amz-trailer": "x-amz-checksum-crc32",
    "content-encoding": "aws-chunked",
    ...changes,
  });

  test.each<[string, Partial<StorageCall>, number, string]>([
    [
      "another body than signed",
      { headers: { "x-amz-content-sha256": sha256("other") } },
      400,
      "XAmzContentSHA256Mismatch",
    ],
    ["a malformed content hash", { headers: { "x-amz-content-sha256": "abc" } }, 400, "InvalidRequest"],
    [
      "signed chunks",
      { headers: { "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" } },
      501,
      "NotImplemented",
    ],
    [
      "another Content-MD5",
      { headers: { "content-md5": createHash("md5").update("other").digest("base64") } },
      400,
      "BadDigest",
    ],
    ["another CRC32", { headers: { "x-amz-checksum-crc32": "AAAAAA==" } }, 400, "BadDigest"],
    [
      "a checksum it cannot check",
      { headers: { "x-amz-checksum-crc64nvme": "AAAAAAAAAAA=" } },
      501,
      "NotImplemented",
    ],
    ["no length", { headers: { "transfer-encoding": "chunked" } }, 411, "MissingContentLength"],
    ["a copy", { headers: { "x-amz-copy-source": "/a/b" } }, 501, "NotImplemented"],
    [
      "another CRC32 in the trailer",
      { headers: chunked(), body: "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n" },
      400,
      "BadDigest",
    ],
    [
      "no trailer where one was announced",
      { headers: chunked(), body: "5\r\nhello\r\n0\r\n\r\n" },
      400,
      "BadDigest",
    ],
    ["chunks that end early", { headers: chunked(), body: "5\r\nhel" }, 400, "IncompleteBody"],
    ["no chunks", { headers: chunked(), body: "hello\r\n" }, 400, "InvalidRequest"],
    [
      "fewer decoded bytes than announced",
      {
        headers: chunked({ "x-amz-decoded-content-length": "6" }),
        body: "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n",
      },
      400,
      "IncompleteBody",
    ],
    [
      "more decoded bytes than announced",
      {
        headers: chunked({ "x-amz-decoded-content-length": "4" }),
        body: "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n",
      },
      400,
      "IncompleteBody",
    ],
  ])("PutObject with %s", async (_, changes, status, code) => {
    expectRefused(await callStorage(session, put(changes)), status, code);
  });

  test.each<[string, StorageCall["query"], string, number, string]>([
    ["of an unknown upload", { uploadId: "nothing", partNumber: "1" }, "x", 404, "NoSuchUpload"],
    ["number 0", { uploadId: "nothing", partNumber: "0" }, "x", 400, "InvalidArgument"],
    ["number 10001", { uploadId: "nothing", partNumber: "10001" }, "x", 400, "InvalidArgument"],
  ])("UploadPart %s", async (_, query = {}, body, status, code) => {
    expectRefused(await callStorage(session, put({ query, body })), status, code);
  });

  test("CompleteMultipartUpload with a body that is none", async () => {
    const begun = await callStorage(session, put({ method: "POST", query: { uploads: "" }, body: "" }));
    const uploadId = /<UploadId>([^<]+)/.exec(begun.text)?.[1] ?? "";
    for (const body of ["<a/>", "text", "<CompleteMultipartUpload/>", "<CompleteMultipartUpload><Part>"]) {
      const answer = await callStorage(session, put({ method: "POST", query: { uploadId }, body }));
      expectRefused(answer, 400, "MalformedXML");
    }
  });

  test.each([
    ["signed", { "x-amz-content-sha256": sha256("hello") }, "hello"],
    ["unsigned", { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" }, "hello"],
    ["chunked", chunked(), "2\r\nhe\r\n3\r\nllo\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"],
  ])("PutObject with a payload that is %s is kept", async (form, headers, body) => {
    const path = pathOf(`${session.key_prefix}${form}`);
    const answer = await callStorage(session, put({ path, headers, body }));
    expect([answer.status, answer.headers.etag]).toEqual([200, '"5d41402abc4b2a76b9719d911017c592"']);
    const { body: _, ...bare } = put({ path, method: "GET" });
    expect((await callStorage(session, bare)).text).toBe("hello");
  });
});
