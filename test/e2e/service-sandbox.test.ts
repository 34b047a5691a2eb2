import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { WriteOptions } from "../../src/model/ports.ts";
import { systemClock } from "../../src/model/ports.ts";
import type { RequestLogEntry, SandboxOptions } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { ServiceOptions } from "../../src/service/open-service.ts";
import { openService } from "../../src/service/open-service.ts";
import { serviceProfileSchema } from "../../src/service/profile.ts";

const key = "sandbox-key-1";
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Setup {
  readonly sandbox?: Partial<SandboxOptions>;
  readonly service?: Partial<ServiceOptions>;
  readonly profile?: unknown;
}

async function setUp({
  sandbox: sandboxOptions = {},
  service: serviceOptions = {},
  profile = {},
}: Setup = {}) {
  const arrivals: RequestLogEntry[] = [];
  const root = await mkdtemp(join(tmpdir(), "draftsync-e2e-"));
  closers.push(() => rm(root, { recursive: true, force: true }));
  const sandbox = await startSandbox({
    key,
    log: (arrival) => void arrivals.push(arrival),
    ...sandboxOptions,
  });
  closers.push(() => sandbox.close());
  const service = openService({
    baseUrl: sandbox.url,
    apiKey: key,
    rate: { limit: 100, windowMs: 100 },
    concurrency: 8,
    timeoutMs: 20_000,
    profile: serviceProfileSchema.parse({
      upload_poll_min: "10ms",
      upload_poll_max: "50ms",
      ...Object(profile),
    }),
    clock: systemClock,
    emit: () => {},
    root,
    ...serviceOptions,
  });
  closers.push(() => service.close());
  return { sandbox, service, arrivals, root };
}

const write: WriteOptions = { beforeSend: async () => {}, signal: new AbortController().signal };
const { signal } = write;

/** Writes a source file of this size. */
async function makeSource(root: string, source: string, size: number) {
  const content = Buffer.alloc(size, "draftsync ");
  await writeFile(join(root, source), content);
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { content, file: { source, sha256, size } };
}

describe("client with the sandbox", () => {
  it.each(["product_files", "promotional_files"] as const)(
    "attaches, updates, probes and detaches %s",
    async (kind) => {
      for (const method of ["PATCH", "PUT"] as const) {
        const { service, sandbox, arrivals } = await setUp({ profile: { update_method: method } });
        const target = { draftId: 48213, kind, fileId: 9900011 };
        const [first, second] =
          kind === "product_files"
            ? [{ file_format: "fbx", is_native: false }, { file_format: "obj" }]
            : [{ description: "Drache" }, { description: "Dragon" }];
        expect(await service.attach(target, first, write)).toMatchObject({
          outcome: "done",
          status: 201,
          value: first,
        });
        expect(await service.attach(target, first, write)).toMatchObject({ failure: { code: "conflict" } });
        expect(await service.update(target, second, write)).toMatchObject({
          outcome: "done",
          value: { ...first, ...second },
        });
        expect(await service.update(target, {}, write)).toMatchObject({
          outcome: "done",
          value: { ...first, ...second },
        });
        expect(sandbox.state().attachments).toHaveLength(1);
        expect(await service.detach(target, write)).toMatchObject({ outcome: "done", status: 204 });
        expect(await service.detach(target, write)).toMatchObject({ outcome: "done", status: 404 });
        expect(await service.update(target, second, write)).toMatchObject({
          failure: { code: "not-attached" },
        });
        expect(arrivals.map((arrival) => arrival.method)).toEqual([
          "POST",
          "POST",
          method,
          method,
          "DELETE",
          "DELETE",
          method,
        ]);
        expect(service.callCount()).toBe(7);
      }
    },
  );

  it("publishes, duplicates and reads products", async () => {
    const { service, sandbox } = await setUp({ sandbox: { drafts: [48213] } });
    const published = await service.publish(48213, write);
    if (published.outcome !== "done") throw new Error(published.failure.message);
    const duplicated = await service.duplicate(published.value.productId, write);
    if (duplicated.outcome !== "done") throw new Error(duplicated.failure.message);
    expect(sandbox.state().products.map((product) => product.id)).toEqual([
      published.value.productId,
      duplicated.value.productId,
    ]);
    expect(await service.getProduct(duplicated.value.productId, undefined, signal)).toMatchObject({
      outcome: "done",
      value: { productId: duplicated.value.productId },
    });
    expect(await service.publish(1, write)).toMatchObject({ outcome: "rejected" });
    expect(await service.getProduct(9_123_456_789, undefined, signal)).toMatchObject({
      failure: { code: "gone" },
    });
  });

  it.each([
    ["one request", 100_000],
    ["several parts", 20 * 1024 * 1024],
  ])("uploads a source in %s, registers it and waits for its file id", async (_name, size) => {
    const { service, sandbox, root, arrivals } = await setUp();
    const { file } = await makeSource(root, "dragon.blend", size);
    const put = await service.storage.put(file, { signal });
    if (put.outcome !== "done") throw new Error(put.failure.message);
    expect(sandbox.state().objects).toMatchObject([{ key: put.value.uploadKey, size }]);
    expect(put.value.uploadKey).toMatch(new RegExp(`${file.sha256}/dragon\\.blend$`));
    const created = await service.createUpload(put.value.uploadKey, write);
    if (created.outcome !== "done") throw new Error(created.failure.message);
    const ended = await service.awaitUpload(created.value.uploadId, { signal });
    if (ended.outcome !== "done") throw new Error(ended.failure.message);
    expect(ended.value).toMatchObject({ status: "success", fileId: expect.any(Number) });
    expect(await service.getUpload(created.value.uploadId, signal)).toMatchObject({ value: ended.value });
    const target = { draftId: 1, kind: "product_files", fileId: ended.value.fileId ?? 0 } as const;
    expect(await service.attach(target, {}, write)).toMatchObject({ outcome: "done" });
    expect(arrivals.filter((arrival) => arrival.side === "storage").length).toBeGreaterThan(0);
    expect(JSON.stringify(arrivals.filter((arrival) => arrival.side === "storage"))).not.toContain("Token");
  });

  it("renews credentials that expire during a large upload", async () => {
    // The clock advances by 20 s with each of five parts; the first credentials are valid for 90 s.
    let later = 0;
    const arrivals: RequestLogEntry[] = [];
    const log = (arrival: RequestLogEntry) => {
      arrivals.push(arrival);
      if (arrival.side === "storage" && arrival.method === "PUT") later += 20_000;
    };
    const now = () => Date.now() + later;
    const { service, sandbox, root } = await setUp({
      sandbox: { credentialsLifetimeMs: 90_000, now, log },
      service: { clock: { ...systemClock, now } },
    });
    const { file } = await makeSource(root, "large.bin", 40 * 1024 * 1024);
    expect(await service.storage.put(file, { signal })).toMatchObject({ outcome: "done" });
    expect(sandbox.state().objects).toMatchObject([{ size: file.size }]);
    expect(later).toBeGreaterThan(90_000);
    const asked = arrivals.filter((arrival) => arrival.path === "/api/uploads/credentials");
    expect(asked.length).toBeGreaterThan(1);
  });

  it("waits for many uploads with few calls and reports an unknown upload", async () => {
    const { service, arrivals } = await setUp({ sandbox: { uploadProcessingMs: 0 } });
    const created = await Promise.all(
      Array.from({ length: 60 }, (_, index) => service.createUpload(`preloaded/${index}`, write)),
    );
    const ids = created.flatMap((result) => (result.outcome === "done" ? [result.value.uploadId] : []));
    expect(ids).toHaveLength(60);
    const ended = await Promise.all(
      [...ids, "no-such-upload"].map((id) => service.awaitUpload(id, { signal })),
    );
    expect(ended.pop()).toMatchObject({ outcome: "rejected", failure: { code: "gone" } });
    expect(ended.every((result) => result.outcome === "done")).toBe(true);
    expect(
      arrivals.filter((arrival) => arrival.path === "/api/uploads" && arrival.method === "GET").length,
    ).toBeLessThan(6);
    expect(await service.getUploads(ids, signal)).toMatchObject({ outcome: "done", attempts: 2 });
  });

  it.each([
    ["different ids", { dataId: "other" }],
    ["responses without a body", { createStatus: 204, updateStatus: 204, deleteStatus: 204 }],
    ["bodies on delete", { createStatus: 200, deleteStatus: 200 }],
    ["strict media types", { mediaTypes: "strict" }],
    ["lenient media types", { mediaTypes: "lenient" }],
  ] as const)("works with a service that has %s", async (_name, behavior) => {
    const { service } = await setUp({ sandbox: { behavior } });
    const target = { draftId: 48213, kind: "promotional_files", fileId: 9900044 } as const;
    const value = { description: "d" };
    expect(await service.attach(target, value, write)).toMatchObject({ outcome: "done", value });
    expect(await service.update(target, value, write)).toMatchObject({ outcome: "done", value });
    expect(await service.detach(target, write)).toMatchObject({ outcome: "done" });
  });

  it("publishes and reads a product when the service omits relationships", async () => {
    const { service } = await setUp({ sandbox: { behavior: { relationships: "omitted" } } });
    const published = await service.publish(48213, write);
    expect(published).toMatchObject({ outcome: "done" });
    const productId = published.outcome === "done" ? published.value.productId : 0;
    expect(await service.getProduct(productId, [], signal)).toMatchObject({ outcome: "done" });
  });

  it("never exceeds the rate limit of the server", async () => {
    const rate = { limit: 10, windowMs: 1000 };
    const { service, arrivals } = await setUp({ sandbox: { rate }, service: { rate } });
    const results = await Promise.all(
      Array.from({ length: 35 }, (_, index) =>
        service.attach({ draftId: 1, kind: "product_files", fileId: index + 1 }, {}, write),
      ),
    );
    expect(results.every((result) => result.outcome === "done")).toBe(true);
    expect(arrivals.map((arrival) => arrival.status)).toEqual(Array(35).fill(201));
    const times = arrivals.map((arrival) => arrival.monotonic);
    const largest = Math.max(
      ...times.map((from) => times.filter((at) => at >= from && at <= from + rate.windowMs).length),
    );
    expect(largest).toBeLessThanOrEqual(rate.limit);
  });
});
