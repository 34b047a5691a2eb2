import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  apiKey,
  fileDocument,
  noSignal,
  productDocument,
  startHarness,
  target,
  uploadResource,
  write,
} from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const promotional = { draftId: 1, kind: "promotional_files", fileId: 2 } as const;

describe("result of a call", () => {
  it("has the attributes of the collection that can be read, with any resource id", async () => {
    const attributes = {
      file_format: "fbx",
      renderer: null,
      is_native: "yes",
      format_version: ["2020"],
      description: "x",
      mood: "y",
    };
    const { service } = await startHarness(() => answer(201, fileDocument(attributes)));
    const result = await service.attach(target, { file_format: "fbx" }, write());
    const value = { file_format: "fbx" };
    expect(result).toEqual({ outcome: "done", status: 201, value, attempts: 1 });
    const probed = await service.probe(target, { signal: noSignal() });
    expect(probed).toMatchObject({ outcome: "done", value: { file_format: "fbx", renderer: "" } });
  });

  it("has a boolean in any spelling, and no number for a text", async () => {
    const attributes = { format_version: 7.2, is_native: "false" as unknown, renderer: "true" };
    const { service } = await startHarness(() => answer(200, fileDocument(attributes)));
    const probed = await service.probe(target, { signal: noSignal() });
    expect(probed).toMatchObject({ value: { is_native: false, renderer: "true" } });
    expect(probed).not.toHaveProperty("value.format_version");
    attributes.is_native = 1;
    expect(await service.probe(target, { signal: noSignal() })).toMatchObject({ value: { is_native: true } });
    attributes.is_native = null;
    expect(await service.probe(target, { signal: noSignal() })).toMatchObject({
      value: { is_native: false },
    });
  });

  it("reports a value that was sent and is returned as null", async () => {
    const { service, events } = await startHarness(() =>
      answer(201, fileDocument({ renderer: null, is_native: null, file_format: null })),
    );
    const options = { ...write(), address: "drafts/1/product_files/2" };
    const result = await service.attach(target, { renderer: "karma", is_native: true }, options);
    expect(result).not.toHaveProperty("value.file_format");
    expect(events.filter(({ type }) => type === "values_differ")).toMatchObject([
      {
        values: [
          { name: "renderer", sent: "karma", returned: "" },
          { name: "is_native", sent: "true", returned: "false" },
        ],
      },
    ]);
  });

  it("reports values that differ from those sent, except for outer white space", async () => {
    const { service, events } = await startHarness(() => answer(200, fileDocument({ renderer: "arnold" })));
    const options = { ...write(), address: "drafts/1/product_files/2" };
    await service.update(target, { renderer: "karma" }, options);
    await service.update(target, { renderer: " arnold\r\n" }, options);
    expect(events.filter(({ type }) => type === "values_differ")).toMatchObject([
      {
        address: "drafts/1/product_files/2",
        values: [{ name: "renderer", sent: "karma", returned: "arnold" }],
      },
    ]);
  });

  it("has the sent attributes when the response has no body", async () => {
    const { service } = await startHarness(() => answer(204));
    const sent = { description: "d" };
    expect(await service.update(promotional, sent, write())).toMatchObject({
      outcome: "done",
      status: 204,
      value: sent,
    });
    expect(await service.attach(promotional, sent, write())).toMatchObject({ outcome: "done", value: sent });
  });

  it.each(["771200", 771200])("has the id of the new product, returned as %j", async (id) => {
    const { service } = await startHarness(() => answer(201, productDocument(id)));
    expect(await service.publish(48213, write())).toMatchObject({
      outcome: "done",
      value: { productId: 771200 },
    });
    expect(await service.duplicate(1, write())).toMatchObject({
      outcome: "done",
      value: { productId: 771200 },
    });
  });

  it("is in doubt when a duplicate has the id of its original", async () => {
    const { service } = await startHarness(() => answer(201, productDocument(771200)));
    expect(await service.duplicate(771200, write())).toMatchObject({
      outcome: "unknown",
      failure: { code: "response-mismatch" },
    });
  });

  it("fails when the response is another product", async () => {
    const { service } = await startHarness(() => answer(200, productDocument(31337)));
    expect(await service.getProduct(771200, undefined, noSignal())).toMatchObject({
      failure: { code: "response-mismatch" },
    });
  });

  it("has the whole product with its included resources", async () => {
    const included = [{ type: "author", id: "9", attributes: { name: "A" } }];
    const { service } = await startHarness(() => answer(200, { ...productDocument(), included, links: {} }));
    expect(await service.getProduct(771200, undefined, noSignal())).toMatchObject({
      outcome: "done",
      value: {
        productId: 771200,
        type: "product",
        attributes: { name: "Dragon" },
        relationships: {},
        included: [{ type: "author", id: "9", attributes: { name: "A" }, relationships: {} }],
      },
    });
  });

  it.each([
    ["queued", undefined, { status: "pending", rawStatus: "queued" }],
    ["processing", undefined, { status: "pending", rawStatus: "processing" }],
    ["processing", 0, { status: "pending", rawStatus: "processing" }],
    ["success", 991, { status: "success", rawStatus: "success", fileId: 991 }],
    ["success", undefined, { status: "pending", rawStatus: "success" }],
    ["virus_found", undefined, { status: "failed", rawStatus: "virus_found" }],
  ])("has an upload with status %s and file id %s", async (status, fileId, expected) => {
    const { service } = await startHarness(() => answer(200, { data: uploadResource("u1", status, fileId) }));
    const result = await service.getUpload("u1", noSignal());
    expect(result).toEqual({
      outcome: "done",
      status: 200,
      value: { uploadId: "u1", uploadKey: "in/u1", ...expected },
      attempts: 1,
    });
  });

  it.each([".", ".."])("fails when the upload that was created has the id %s", async (id) => {
    const { service } = await startHarness(() => answer(201, { data: uploadResource(id, "queued") }));
    const result = await service.createUpload("in/u1", write());
    expect(result).toMatchObject({ failure: { code: "malformed-response" } });
  });

  it("fails when the response is another upload", async () => {
    const { service } = await startHarness(() => answer(200, { data: uploadResource("u1", "success", 7) }));
    const mismatch = { failure: { code: "response-mismatch" } };
    expect(await service.getUpload("u4", noSignal())).toMatchObject(mismatch);
    expect(await service.createUpload("in/u4", write())).toMatchObject(mismatch);
    expect(await service.createUpload("in/u1", write())).toMatchObject({ outcome: "done" });
    const listed = await startHarness(() => answer(200, { data: [uploadResource("u1", "success", 7)] }));
    expect(await listed.service.getUploads(["u4"], noSignal())).toMatchObject({
      value: { uploads: [], missing: [{ uploadId: "u4" }] },
    });
  });

  it("is in doubt when the file id exceeds the safe integers", async () => {
    const { service } = await startHarness(() =>
      answer(
        200,
        '{"data":{"type":"upload","id":"u1","attributes":{"status":"success","file_id":9007199254740993}}}',
      ),
    );
    expect(await service.getUpload("u1", noSignal())).toMatchObject({
      outcome: "unknown",
      failure: { code: "malformed-response" },
    });
  });

  it("has the uploads of all pages, or none when one page fails", async () => {
    const { service, server } = await startHarness(
      (request) => {
        const ids = (request.path.split("=")[1] ?? "").split(",");
        return ids.includes("bad")
          ? answer(400)
          : answer(200, { data: ids.map((id) => uploadResource(id, "queued")) });
      },
      { profile: { uploads_page: 2 } },
    );
    const good = await service.getUploads(["a", "b", "c"], noSignal());
    expect(good.outcome === "done" ? good.value.uploads.map((upload) => upload.uploadId) : good).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(good.attempts).toBe(2);
    const bad = await service.getUploads(["a", "b", "bad"], noSignal());
    expect(bad).toMatchObject({ outcome: "rejected", attempts: 2, failure: { status: 400 } });
    expect(server.requests).toHaveLength(4);
  });

  it("is in doubt when a list has an upload twice with different files", async () => {
    const { service } = await startHarness(() =>
      answer(200, { data: [uploadResource("a", "success", 1), uploadResource("a", "success", 2)] }),
    );
    expect(await service.getUploads(["a"], noSignal())).toMatchObject({
      outcome: "unknown",
      failure: { message: expect.stringContaining("it has upload a twice, as two files") },
    });
  });

  it("includes separate reads of uploads that a list lacks, and follows no link", async () => {
    const { service, server } = await startHarness((request) => {
      const single = request.path.split("/api/uploads/")[1];
      if (single === "b") return answer(200, { data: uploadResource("b", "queued") });
      if (single !== undefined) return answer(404, { errors: [{ title: "no" }] });
      return answer(200, {
        data: [uploadResource("a", "queued"), uploadResource("z", "queued")],
        links: { next: request.path, related: "http://127.0.0.1:1/elsewhere" },
      });
    });
    expect(await service.getUploads(["a", "b", "c", "b"], noSignal())).toMatchObject({
      outcome: "done",
      attempts: 3,
      value: {
        uploads: [{ uploadId: "a" }, { uploadId: "b" }],
        missing: [{ uploadId: "c", failure: { code: "gone" } }],
      },
    });
    expect(server.requests.map(({ path }) => path).slice(1)).toEqual(["/api/uploads/b", "/api/uploads/c"]);
  });

  it("has uploads read one by one when the service has no list", async () => {
    const { service, server } = await startHarness(
      (request) =>
        answer(200, { data: uploadResource(request.path.slice("/api/uploads/".length), "queued") }),
      { profile: { uploads_query: null } },
    );
    expect(await service.getUploads(["a", "b"], noSignal())).toMatchObject({ outcome: "done", attempts: 2 });
    expect(server.requests.map((request) => request.path)).toEqual(["/api/uploads/a", "/api/uploads/b"]);
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("is read from a body in %s", async (coding, compress) => {
    const body = compress(Buffer.from(JSON.stringify(productDocument())));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { service } = await startHarness(() => Buffer.concat([Buffer.from(head), body]));
    expect(await service.getProduct(771200, [], noSignal())).toMatchObject({ outcome: "done" });
  });

  it("is in doubt when a small body decompresses to more than 10 MiB", async () => {
    const body = gzipSync(Buffer.alloc(11 * 1024 * 1024, 0x20));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { service } = await startHarness(() => Buffer.concat([Buffer.from(head), body]));
    expect(await service.publish(1, write())).toMatchObject({
      outcome: "unknown",
      failure: { code: "malformed-response" },
    });
  });
});

describe("report of a failure", () => {
  it("has every JSON:API error object unchanged", async () => {
    const errors = [
      {
        status: "422",
        code: "too-long",
        title: "Too long",
        detail: "is too long",
        source: { pointer: "/data/attributes/renderer" },
        meta: { limit: 5 },
      },
      { id: "e2", title: "Second", links: { about: "x" } },
    ];
    const { service } = await startHarness(() => answer(422, { errors }));
    const result = await service.update(target, {}, write());
    expect(result).toMatchObject({ outcome: "rejected", failure: { code: "invalid", status: 422, errors } });
    expect(result.outcome === "done" ? "" : result.failure.message).toBe(
      "PATCH /api/drafts/48213/product_files/9900011: the service rejected the request as invalid (422): is too long; Second",
    );
  });

  it("has a problem document as one error", async () => {
    const problem = {
      type: "https://x/oops",
      title: "Oops",
      status: 422,
      detail: "No such renderer",
      renderer: "?",
    };
    const { service } = await startHarness(() =>
      answer(422, problem, { "Content-Type": "application/problem+json" }),
    );
    const result = await service.update(target, {}, write());
    expect(result).toMatchObject({ failure: { errors: [{ ...problem, status: "422" }] } });
  });

  it("has the first 200 characters of a body that is not JSON", async () => {
    const { service } = await startHarness(() => answer(200, `hello\n\t${"x".repeat(500)}`));
    const result = await service.publish(1, write());
    const message = result.outcome === "done" ? "" : result.failure.message;
    expect(message).toContain(`"hello ${"x".repeat(194)}"`);
  });

  it.each([
    ["a web page", answer(404, "<html></html>", { "Content-Type": "text/html" }), "service.base_url"],
    ["a redirect", answer(301, undefined, { Location: "https://elsewhere/" }), "https://elsewhere/"],
    ["a wrong key", answer(401), "DRAFTSYNC_API_KEY"],
    ["a wrong version", answer(406), "Accept"],
    ["a wrong media type", answer(415), "service.profile.content_type"],
  ])("has a hint about %s", async (_name, reply, words) => {
    const { service, server } = await startHarness(() => reply);
    const result = await service.update(target, {}, write());
    expect(JSON.stringify(result)).toContain(words);
    expect(server.requests).toHaveLength(1);
  });

  it("points to draftsync resolve after a conflict of a publish", async () => {
    const { service } = await startHarness(() => answer(409));
    expect(await service.publish(48213, write())).toMatchObject({
      failure: { hint: expect.stringContaining("draftsync resolve") },
    });
  });

  it("names one command after a conflict of an update", async () => {
    const { service } = await startHarness(() => answer(409));
    expect(await service.update(target, {}, write())).toMatchObject({
      failure: { hint: expect.stringMatching(/^The update may have taken effect\. Run the command again:/) },
    });
  });

  it("never contains the key in any encoding", async () => {
    const forms = [
      apiKey,
      encodeURIComponent(apiKey),
      Buffer.from(apiKey).toString("base64"),
      Buffer.from(apiKey).toString("hex"),
    ];
    const escaped = apiKey.replace("/", "\\/");
    for (const reply of [
      answer(422, { errors: forms.map((form) => ({ detail: `key ${form}`, [form]: form })) }),
      answer(400, `{"errors":[{"detail":"${escaped}"}]}`),
      answer(500, forms.join(" ")),
      answer(302, undefined, { Location: `https://x/?key=${apiKey}` }),
      answer(200, { data: { type: apiKey, id: apiKey } }),
    ]) {
      const { service, events } = await startHarness(() => reply);
      const text = JSON.stringify([
        await service.publish(1, write()),
        await service.getUpload("a", noSignal()),
        events,
      ]);
      for (const form of forms) expect(text).not.toContain(form);
    }
  });

  it("contains nothing of a response with credentials", async () => {
    const secret = "wJalrXUtnFEMI";
    const attributes = { bucket: 7, access_key: "AKIA", secret_key: secret };
    for (const body of [
      { data: { type: "upload_credential", attributes }, errors: [{ detail: secret }] },
      { data: { type: "upload_credential", attributes } },
      `secret ${secret}`,
    ]) {
      const { service, events } = await startHarness(() => answer(201, body));
      const result = await service.credentials(noSignal());
      expect(result).toMatchObject({ outcome: "unknown", failure: { code: "malformed-response" } });
      expect(JSON.stringify([result, events])).not.toContain(secret);
    }
  });

  it("lists the missing members of credentials", async () => {
    const attributes = { access_key: "a", secret_key: "s", endpoint: "ftp://x" };
    const { service } = await startHarness(() =>
      answer(201, { data: { type: "upload_credential", attributes } }),
    );
    const result = await service.credentials(noSignal());
    expect(result).toMatchObject({ failure: { message: expect.stringContaining("bucket, endpoint") } });
  });
});
