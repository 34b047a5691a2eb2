import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resourceOf } from "./support/call.ts";
import { type Credentials, makeS3, openSession } from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "sandbox-storage-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PLACES = [
  { place: "in memory", options: {}, blobs: undefined },
  {
    place: "on disk",
    options: { db: join(folder, "sandbox.db") },
    blobs: () => readdirSync(join(folder, "sandbox.db.objects")).length,
  },
];

describe.each(PLACES)("storage $place with the AWS SDK", ({ options, blobs }) => {
  const { send, sandbox } = useSandbox(options);
  let session: Credentials;
  let s3: S3Client;
  beforeAll(async () => {
    session = await openSession(send);
    s3 = makeS3(session);
  });
  afterAll(() => s3.destroy());

  const at = (name: string) => ({ Bucket: session.bucket, Key: session.key_prefix + name });
  const md5 = (bytes: Uint8Array | string) => createHash("md5").update(bytes).digest("hex");
  const read = async (name: string) => {
    const { Body } = await s3.send(new GetObjectCommand(at(name)));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };

  test.each(["plain.txt", "folder/ä b+c&d=e.txt", "a//b", "100%.bin", "..", "☃"])(
    "PutObject, GetObject, HeadObject — key %j",
    async (name) => {
      const put = await s3.send(
        new PutObjectCommand({ ...at(name), Body: `bytes of ${name}`, ContentType: "text/x" }),
      );
      expect(put.ETag).toBe(`"${md5(`bytes of ${name}`)}"`);
      expect((await read(name)).toString()).toBe(`bytes of ${name}`);
      expect(await s3.send(new HeadObjectCommand(at(name)))).toMatchObject({
        ETag: put.ETag,
        ContentLength: Buffer.byteLength(`bytes of ${name}`),
        ContentType: "text/x",
      });
      expect(
        sandbox()
          .state()
          .objects.map((object) => object.key),
      ).toContain(session.key_prefix + name);
    },
  );

  test("PutObject — stores an empty object", async () => {
    await s3.send(new PutObjectCommand({ ...at("empty"), Body: "", ContentLength: 0 }));
    expect(await read("empty")).toHaveLength(0);
  });

  test("PutObject — a second one replaces the first and leaves no bytes behind", async () => {
    await s3.send(new PutObjectCommand({ ...at("twice"), Body: "first" }));
    const count = blobs?.();
    await s3.send(new PutObjectCommand({ ...at("twice"), Body: "second" }));
    expect((await read("twice")).toString()).toBe("second");
    expect(blobs?.()).toBe(count);
  });

  test("multipart with lib-storage, then POST /api/uploads — the object becomes a file", async () => {
    const bytes = Buffer.alloc(17 * MIB, "0123456789");
    const upload = new Upload({
      client: s3,
      params: { ...at("big"), Body: Readable.from(pieces(bytes)) },
      partSize: 8 * MIB,
    });
    const done = await upload.done();
    const parts = [0, 8, 16].map((start) => bytes.subarray(start * MIB, (start + 8) * MIB));
    const digests = Buffer.concat(parts.map((part) => createHash("md5").update(part).digest()));
    expect(done.ETag).toBe(`"${md5(digests)}-3"`);
    expect((await read("big")).equals(bytes)).toBe(true);
    const registered = await send({
      method: "POST",
      path: "/api/uploads",
      body: { data: { type: "upload", attributes: { upload_key: `${session.key_prefix}big` } } },
    });
    expect(resourceOf(registered).attributes).toMatchObject({
      status: "success",
      file_id: expect.any(Number),
    });
  });

  test("multipart — continues with renewed credentials and keeps only the bytes of its parts", async () => {
    const count = blobs?.() ?? 0;
    const begun = await s3.send(
      new CreateMultipartUploadCommand({ ...at("renewed"), ContentType: "model/x" }),
    );
    const where = { ...at("renewed"), UploadId: begun.UploadId };
    await s3.send(new UploadPartCommand({ ...where, PartNumber: 1, Body: "replaced" }));
    const renewed = makeS3(await openSession(send));
    const part = await renewed.send(new UploadPartCommand({ ...where, PartNumber: 1, Body: "whole" }));
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: part.ETag }] };
    await renewed.send(new CompleteMultipartUploadCommand({ ...where, MultipartUpload }));
    renewed.destroy();
    expect((await read("renewed")).toString()).toBe("whole");
    expect(blobs?.() ?? count + 1).toBe(count + 1);
    expect(await s3.send(new HeadObjectCommand(at("renewed")))).toMatchObject({ ContentType: "model/x" });
  });

  test("multipart — cannot continue once aborted, and leaves nothing behind", async () => {
    const count = blobs?.();
    const begun = await s3.send(new CreateMultipartUploadCommand(at("aborted")));
    const where = { ...at("aborted"), UploadId: begun.UploadId };
    await s3.send(new UploadPartCommand({ ...where, PartNumber: 1, Body: "part" }));
    await s3.send(new AbortMultipartUploadCommand(where));
    expect(blobs?.()).toBe(count);
    await expect(
      s3.send(new UploadPartCommand({ ...where, PartNumber: 2, Body: "x" })),
    ).rejects.toMatchObject({
      name: "NoSuchUpload",
    });
    await expect(s3.send(new GetObjectCommand(at("aborted")))).rejects.toMatchObject({ name: "NoSuchKey" });
  });

  test("multipart — complete checks the parts", async () => {
    const begun = await s3.send(new CreateMultipartUploadCommand(at("checked")));
    const where = { ...at("checked"), UploadId: begun.UploadId };
    const etags = await Promise.all(
      [1, 2].map(async (PartNumber) => {
        const part = await s3.send(
          new UploadPartCommand({ ...where, PartNumber, Body: `part ${PartNumber}` }),
        );
        return { PartNumber, ETag: part.ETag };
      }),
    );
    const complete = (Parts: { PartNumber: number; ETag: string | undefined }[]) =>
      s3.send(new CompleteMultipartUploadCommand({ ...where, MultipartUpload: { Parts } }));
    await expect(complete(etags)).rejects.toMatchObject({ name: "EntityTooSmall" });
    await expect(complete([...etags].reverse())).rejects.toMatchObject({ name: "InvalidPartOrder" });
    await expect(complete([{ PartNumber: 1, ETag: '"nothing"' }])).rejects.toMatchObject({
      name: "InvalidPart",
    });
    await expect(complete([{ PartNumber: 3, ETag: etags[0]?.ETag }])).rejects.toMatchObject({
      name: "InvalidPart",
    });
    await complete(etags.slice(1));
    expect((await read("checked")).toString()).toBe("part 2");
  });
});

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += MIB) yield bytes.subarray(start, start + MIB);
}
