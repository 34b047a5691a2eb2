import { beforeAll, describe, expect, test } from "vitest";
import { type Credentials, callStorage, codeOf, openSession } from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const { send } = useSandbox();
let session: Credentials;
const at = (name: string) => `/${session.bucket}/${session.key_prefix}${name}`;
const get = (range: string, headers = {}, name = "digits", method = "GET") =>
  callStorage(session, { method, path: at(name), headers: { range, ...headers } });

beforeAll(async () => {
  session = await openSession(send);
  await callStorage(session, { method: "PUT", path: at("digits"), body: "0123456789" });
  await callStorage(session, { method: "PUT", path: at("empty"), body: "" });
});

describe("GetObject with Range", () => {
  test.each([
    ["bytes=0-0", "0", "bytes 0-0/10"],
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=8-99", "89", "bytes 8-9/10"],
    ["bytes=-3", "789", "bytes 7-9/10"],
    ["bytes=-99", "0123456789", "bytes 0-9/10"],
    ["BYTES=1-2", "12", "bytes 1-2/10"],
  ])("%s returns 206 with the bytes of the range", async (range, text, contentRange) => {
    const response = await get(range);
    expect([response.status, response.text]).toEqual([206, text]);
    expect(response.headers).toMatchObject({
      "content-range": contentRange,
      "content-length": String(text.length),
      "accept-ranges": "bytes",
    });
    const head = await get(range, {}, "digits", "HEAD");
    expect([head.status, head.text, head.headers["content-range"]]).toEqual([206, "", contentRange]);
  });

  test.each([
    ["bytes=10-", "digits", "bytes */10"],
    ["bytes=99-100", "digits", "bytes */10"],
    ["bytes=-0", "digits", "bytes */10"],
    ["bytes=0-", "empty", "bytes */0"],
  ])("%s of %s returns 416", async (range, name, contentRange) => {
    const response = await get(range, {}, name);
    expect([response.status, codeOf(response)]).toEqual([416, "InvalidRange"]);
    expect(response.headers["content-range"]).toBe(contentRange);
  });

  test.each(["bytes=4-2", "bytes=-", "bytes=a-b", "lines=0-1", "bytes=0-1,3-4", "0-1"])(
    "%s is ignored (RFC 9110 §14.2)",
    async (range) => {
      const response = await get(range);
      expect([response.status, response.text]).toEqual([200, "0123456789"]);
    },
  );

  test("If-Range with another ETag returns the whole object", async () => {
    const { headers } = await get("bytes=0-0");
    expect((await get("bytes=0-0", { "if-range": headers.etag })).status).toBe(206);
    expect((await get("bytes=0-0", { "if-range": '"other"' })).status).toBe(200);
  });

  test("returns bytes across the parts of a multipart upload", async () => {
    const where = { path: at("parts") };
    const begun = await callStorage(session, { ...where, method: "POST", query: { uploads: "" } });
    const uploadId = /<UploadId>([^<]+)/.exec(begun.text)?.[1] ?? "";
    const bodies = ["a".repeat(5 * 1024 ** 2), "bcd"];
    const etags: string[] = [];
    for (const [index, body] of bodies.entries()) {
      const query = { partNumber: String(index + 1), uploadId };
      const { headers } = await callStorage(session, { ...where, method: "PUT", query, body });
      etags.push((headers.etag ?? "").replaceAll('"', ""));
    }
    // Go's encoding/xml writes quotes as `&#34;`; `&#x22;` is the same in hexadecimal.
    const [first = "", second = ""] = etags;
    const body =
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
      `<Part><ETag>&#34;${first}&#34;</ETag><PartNumber>1</PartNumber></Part>` +
      `<Part><ETag>&#x22;${second}&#x22;</ETag><PartNumber>2</PartNumber></Part></CompleteMultipartUpload>`;
    const completed = await callStorage(session, { ...where, method: "POST", query: { uploadId }, body });
    expect([completed.status, codeOf(completed)]).toEqual([200, completed.text]);
    const last = 5 * 1024 ** 2 + 1;
    expect((await get(`bytes=${last - 2}-${last}`, {}, "parts")).text).toBe("abc");
    expect((await get("bytes=-2", {}, "parts")).text).toBe("cd");
  });
});
