import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import Database from "libsql";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type SandboxOptions, startSandbox } from "../../src/sandbox/server.ts";
import { type ApiResponse, call, KEY, resourceOf } from "./support/call.ts";
import { startChild } from "./support/child.ts";
import { makeS3, openSession } from "./support/storage.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbox-db-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
let db = "";
beforeEach(() => {
  count += 1;
  db = join(folder, `${count}`, "sandbox.db");
});

const open = (options: Partial<SandboxOptions> = {}) =>
  startSandbox({ key: KEY, db, uploadProcessingMs: 0, ...options });

const attach = (base: string, file: number): Promise<ApiResponse> =>
  call(base, {
    method: "POST",
    path: "/api/drafts/5/product_files",
    body: { data: { type: "product_file", attributes: { file_id: file, file_format: "fbx" } } },
  });
const publish = (base: string): Promise<ApiResponse> =>
  call(base, {
    method: "POST",
    path: "/api/products",
    body: { data: { type: "product", relationships: { draft: { data: { type: "draft", id: "5" } } } } },
  });
const register = (base: string, key: string): Promise<ApiResponse> =>
  call(base, {
    method: "POST",
    path: "/api/uploads",
    body: { data: { type: "upload", attributes: { upload_key: key } } },
  });

describe("sandbox database file", () => {
  test("keeps attachments, uploads, products, objects, sessions and ids over a restart", async () => {
    const first = await open();
    await attach(first.url, 7);
    const session = await openSession((request) => call(first.url, request));
    const key = `${session.key_prefix}a`;
    const s3 = makeS3(session);
    await s3.send(new PutObjectCommand({ Bucket: session.bucket, Key: key, Body: "bytes" }));
    s3.destroy();
    const upload = resourceOf(await register(first.url, key));
    const product = resourceOf(await publish(first.url));
    first.removeProduct(771200);
    const before = first.state();
    await first.close();

    const second = await open();
    expect(second.state()).toEqual(before);
    expect((await attach(second.url, 7)).status).toBe(409);
    expect(resourceOf(await call(second.url, { method: "GET", path: `/api/uploads/${upload.id}` }))).toEqual(
      upload,
    );
    expect(
      resourceOf(await call(second.url, { method: "GET", path: `/api/products/${product.id}` })),
    ).toEqual(product);
    expect((await call(second.url, { method: "GET", path: "/api/products/771200" })).status).toBe(404);
    expect(Number(resourceOf(await publish(second.url)).id)).toBe(Number(product.id) + 1);
    const again = makeS3({ ...session, endpoint: second.url });
    const got = await again.send(new GetObjectCommand({ Bucket: session.bucket, Key: key }));
    expect(await got.Body?.transformToString()).toBe("bytes");
    again.destroy();
    await second.close();
  });

  test("is not created for a sandbox in memory, which starts empty", async () => {
    const first = await startSandbox({ key: KEY });
    await attach(first.url, 7);
    await first.close();
    const second = await startSandbox({ key: KEY });
    expect(second.state().attachments).toEqual([]);
    await second.close();
  });

  test("is shared by two processes that write at the same time", async () => {
    const mine = await open();
    const other = await startChild({ key: KEY, db });
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, at) => {
        const base = at % 2 === 0 ? mine.url : other.url;
        return Promise.all([attach(base, 100 + Math.floor(at / 2)), publish(base)]);
      }),
    );
    const attached = responses.map(([response]) => response.status);
    expect(attached.filter((status) => status === 201)).toHaveLength(20);
    expect(attached.filter((status) => status === 409)).toHaveLength(20);
    const products = responses.map(([, response]) => resourceOf(response).id);
    expect(new Set(products).size).toBe(40);
    expect(mine.state().attachments).toHaveLength(20);
    expect(mine.state().products).toHaveLength(40);
    await other.kill();
    await mine.close();
  });

  test("has every acknowledged call after a kill, and so does the log", async () => {
    const log = join(folder, `${count}.ndjson`);
    const child = await startChild({ key: KEY, db, log });
    const acknowledged: number[] = [];
    const progress = new EventEmitter();
    const enough = once(progress, "enough");
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let file = 1000 * sender + 1; ; file += 1) {
        const response = await attach(child.url, file).catch(() => undefined);
        if (response === undefined) return;
        expect(response.status).toBe(201);
        acknowledged.push(file);
        if (acknowledged.length === 60) progress.emit("enough");
      }
    });
    await enough;
    await child.kill();
    await Promise.all(senders);
    const Line = z.object({
      status: z.literal(201),
      body: z.object({ data: z.object({ attributes: z.object({ file_id: z.number() }) }) }),
    });
    const logged = readFileSync(log, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => Line.parse(JSON.parse(line)).body.data.attributes.file_id);
    expect(logged).toEqual(expect.arrayContaining(acknowledged));
    const after = await open();
    expect(after.state().attachments.map((held) => held.fileId)).toEqual(expect.arrayContaining(logged));
    await after.close();
  });
});

describe("sandbox that cannot start", () => {
  test("reports a port in use", async () => {
    const taken = createServer();
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, "127.0.0.1", () => {
        const address = taken.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
    await expect(open({ port })).rejects.toMatchObject({
      name: "SandboxError",
      code: "port-in-use",
      message: expect.stringContaining(String(port)),
    });
    taken.close();
  });

  test("rejects a file that is not a database", async () => {
    db = join(folder, "text.db");
    writeFileSync(db, "this file is not a database, but it is long enough to be read as one\n".repeat(20));
    await expect(open()).rejects.toMatchObject({
      code: "store-unusable",
      message: expect.stringContaining(db),
    });
  });

  test("rejects a log that cannot be written", async () => {
    await expect(open({ log: folder })).rejects.toMatchObject({ code: "log-unusable" });
  });

  test("rejects a database of a newer version", async () => {
    await open().then((sandbox) => sandbox.close());
    const newer = new Database(db);
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    await expect(open()).rejects.toMatchObject({
      code: "store-unusable",
      message: expect.stringContaining("99"),
    });
  });

  test.each<[string, Partial<SandboxOptions>, RegExp]>([
    ["an empty key", { key: "" }, /key/],
    ["a key with a line break", { key: "a\r\nb" }, /key/],
    ["a rate limit of 0", { rate: { limit: 0, windowMs: 1000 } }, /rate\.limit/],
    ["a rate window of 0", { rate: { limit: 1, windowMs: 0 } }, /rate\.windowMs/],
    ["a port out of range", { port: 65_536 }, /port/],
    ["a draft that is not an id", { drafts: [1.5] }, /drafts: must be/],
  ])("rejects %s", async (_, options, message) => {
    await expect(open(options)).rejects.toMatchObject({
      code: "invalid-option",
      message: expect.stringMatching(message),
    });
  });
});
