import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HeadObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, test } from "vitest";
import { type Call, call, KEY } from "./support/call.ts";
import { makeS3, openSession } from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbox-accounts-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("sandbox with three accounts", () => {
  const log = join(folder, "requests.ndjson");
  const { sandbox } = useSandbox({ accounts: 3, rate: { limit: 2, windowMs: 60_000 }, log });
  const as = (number: number) => (request: Call) =>
    call(sandbox().url, { ...request, headers: { authorization: `Token ${KEY}-${number}` } });
  const attach: Call = {
    method: "POST",
    path: "/api/drafts/1/product_files",
    body: { data: { type: "product_file", attributes: { file_id: 7 } } },
  };

  test("each account has its own files and rate limit, and the log names the account of a request", async () => {
    expect((await as(1)(attach)).status).toBe(201);
    expect((await as(1)(attach)).status).toBe(409);
    expect((await as(1)(attach)).status).toBe(429);
    expect((await as(2)(attach)).status).toBe(201);
    expect((await call(sandbox().url, attach)).status).toBe(429);
    expect(sandbox().accounts.map(({ state }) => state().attachments.length)).toEqual([1, 1, 0]);
    const lines = readFileSync(log, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).account)).toEqual([1, 1, 1, 2, 1]);
  });

  test("an object is visible only to the account that stored it", async () => {
    const [second, third] = [await openSession(as(2)), await openSession(as(3))];
    const place = { Bucket: second.bucket, Key: `${second.key_prefix}dragon.fbx` };
    const [own, other] = [makeS3(second), makeS3(third)];
    await own.send(new PutObjectCommand({ ...place, Body: "bytes" }));
    await expect(own.send(new HeadObjectCommand(place))).resolves.toMatchObject({ ContentLength: 5 });
    await expect(other.send(new HeadObjectCommand(place))).rejects.toThrow();
    own.destroy();
    other.destroy();
  });
});

describe("sandbox with two accounts and a database file", () => {
  const db = join(folder, "sandbox.db");
  const { sandbox } = useSandbox({ accounts: 2, db });

  test("keeps the data of each account in its own file", () => {
    expect(sandbox().accounts).toHaveLength(2);
    for (const file of [`${db}-1`, `${db}-2`]) expect(readFileSync(file).length).toBeGreaterThan(0);
  });
});
