import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Interrupts, StoredSource } from "../../../src/model/ports.ts";
import { apiKey, closeAfterTest, noSignal, startHarness } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";
import type { StorageFault, StorageRequest } from "./support/storage-server.ts";
import { startStorageServer } from "./support/storage-server.ts";
import { makeContent, makeFolder, planSource } from "./support/workspace.ts";

const small = makeContent(100_000);
const large = makeContent(20 * 1024 * 1024 + 5);

interface Setup {
  readonly fail?: StorageFault;
  readonly expiration?: string;
  /** The endpoint in the credentials; by default the storage server. */
  readonly endpoint?: string;
  readonly profile?: (storageUrl: string) => unknown;
  readonly interrupts?: Interrupts;
  readonly timeoutMs?: number;
}

async function setUp({ fail, expiration, endpoint, profile, interrupts, timeoutMs }: Setup = {}) {
  const storage = await startStorageServer(fail);
  closeAfterTest(() => storage.close());
  const root = await makeFolder();
  const attributes = {
    key_prefix: "in/studio-a/",
    bucket: "uploads",
    region: "eu-west-1",
    access_key: "AKIAEXAMPLE",
    secret_key: "storage-secret",
    session_token: "storage-session",
    endpoint: endpoint ?? storage.url,
    ...(expiration === undefined ? {} : { expiration }),
  };
  const harness = await startHarness(
    () => answer(201, { data: { type: "upload_credential", id: "1", attributes } }),
    {
      root,
      profile: profile?.(storage.url),
      ...(interrupts === undefined ? {} : { interrupts }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
  );
  const put = async (name: string, content: Buffer, signal = noSignal()) =>
    await harness.service.storage.put(await planSource(root, name, content), { signal });
  return { ...harness, storage, root, put };
}

const header = (request: StorageRequest | undefined, name: string) => String(request?.headers[name] ?? "");

describe("upload to object storage", () => {
  it("stores a small file with one request, under a key with its digest", async () => {
    const { service, storage, root, events } = await setUp();
    const file = await planSource(root, "dragon é.blend", small);
    const result = await service.storage.put(file, { signal: noSignal() });
    expect(result).toMatchObject({
      outcome: "done",
      value: { uploadKey: `in/studio-a/${file.sha256}/dragon é.blend` },
    });
    expect(storage.requests).toHaveLength(1);
    expect(storage.objects.get(`/uploads/in/studio-a/${file.sha256}/dragon é.blend`)?.equals(small)).toBe(
      true,
    );
    const [request] = storage.requests;
    expect(header(request, "authorization")).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d+\/eu-west-1\/s3\//,
    );
    expect(header(request, "x-amz-security-token")).toBe("storage-session");
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "upload_progress",
        source: "dragon é.blend",
        sent: 100_000,
        total: 100_000,
      }),
    );
  });

  it("fails when a web page responds instead of the storage", async () => {
    const page = { status: 200, body: "<html>Sign in</html>" };
    const { put } = await setUp({ fail: () => page });
    expect(await put("a.blend", small)).toMatchObject({
      outcome: "not_sent",
      failure: {
        code: "storage-failed",
        message: expect.stringContaining("the response has no ETag"),
        hint: expect.stringContaining("Check whether a login page or proxy responds"),
      },
    });
  });

  it.each([
    ["a small file", small],
    ["a large file", large],
  ])("fails when a storage switches to another protocol for %s", async (_name, content) => {
    const { put } = await setUp({ fail: () => "switch" });
    expect(await put("a.blend", content)).toMatchObject({
      outcome: "not_sent",
      failure: { code: "storage-failed", message: expect.stringContaining("switched protocols (101)") },
    });
  });

  it.each(["<html>Sign in</html>", "<Other><Key>x</Key></Other>"])(
    "fails when %s responds to the completion of a large file",
    async (body) => {
      const isCompletion = ({ method, query }: StorageRequest) => method === "POST" && query.has("uploadId");
      const page = { status: 200, body };
      const { put } = await setUp({
        fail: (request) => (isCompletion(request) ? page : undefined),
      });
      expect(await put("a.blend", large)).toMatchObject({
        outcome: "not_sent",
        failure: { code: "storage-failed", message: expect.stringContaining("the response has no ETag") },
      });
    },
  );

  const xml = "<Error><Code>ExpiredToken</Code><Message>The token has expired</Message></Error>";
  it.each([
    [400, xml, "(400): ExpiredToken: The token has expired", "Run the command again: it requests new ones."],
    [409, '{"error":"conflict"}', "unexpected content", "Check service.profile.storage"],
    [302, "", "(302): the response has no reason", "the storage redirects to another address"],
  ])("explains what to do when the storage returns %i", async (status, body, message, hint) => {
    const headers = { "content-type": "application/xml", location: "http://127.0.0.1:1/" };
    const { put } = await setUp({ fail: () => ({ status, body, headers }) });
    const result = await put("a.blend", small);
    expect(result).toMatchObject({
      outcome: "rejected",
      failure: { message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
    });
    expect(JSON.stringify(result)).not.toContain("$response");
  });

  it("stores a large file in parts without Expect headers, and reports progress", async () => {
    const { service, storage, root, events } = await setUp();
    const file = await planSource(root, "large.bin", large);
    const result = await service.storage.put(file, { signal: noSignal() });
    expect(result).toMatchObject({ outcome: "done" });
    expect(storage.objects.get(`/uploads/in/studio-a/${file.sha256}/large.bin`)?.equals(large)).toBe(true);
    const parts = storage.requests.filter((request) => request.query.has("partNumber"));
    expect(parts.map((request) => header(request, "expect"))).toEqual(["", "", ""]);
    const sent = events.flatMap((event) => (event.type === "upload_progress" ? [event.sent] : []));
    expect(sent.at(-1)).toBe(large.length);
    expect(sent).toEqual([...sent].sort((a, b) => a - b));
  });

  it("never sends the key of the service to the storage", async () => {
    const { storage, put } = await setUp();
    await put("a.bin", small);
    const text = storage.requests.map((request) => JSON.stringify([request.headers, request.path])).join();
    expect(text).not.toContain(apiKey);
    expect(text).not.toContain("Token ");
  });

  it("prefers the storage of the profile to that of the credentials", async () => {
    const { storage, put } = await setUp({
      endpoint: "http://127.0.0.1:1",
      profile: (endpoint) => ({ storage: { endpoint, force_path_style: true } }),
    });
    expect(await put("a.bin", small)).toMatchObject({
      outcome: "done",
    });
    expect(storage.requests).toHaveLength(1);
  });

  it.each([
    ["a small file", small],
    ["a large file", large],
  ])("stores nothing of %s that differs from the plan", async (_name, content) => {
    const { service, storage, root } = await setUp();
    const file = await planSource(root, "a.bin", content);
    const changed = Buffer.from(content);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    await writeFile(join(root, "a.bin"), changed);
    const result = await service.storage.put(file, { signal: noSignal() });
    expect(result).toMatchObject({
      outcome: "rejected",
      failure: { code: "source-changed", hint: "Run plan again." },
    });
    expect([...storage.objects.keys()]).toEqual([]);
    expect([...storage.open]).toEqual([]);
  });

  it("requests credentials once for several files", async () => {
    const { service, server, root } = await setUp({
      expiration: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const files = await Promise.all(["a", "b", "c"].map((name) => planSource(root, name, small)));
    await Promise.all(files.map((file) => service.storage.put(file, { signal: noSignal() })));
    await service.storage.put(files[0] ?? never(), { signal: noSignal() });
    expect(server.requests.map((request) => request.path)).toEqual(["/api/uploads/credentials"]);
  });

  it("requests new credentials before the old ones expire", async () => {
    const { service, server, root } = await setUp({
      expiration: new Date(Date.now() + 30_000).toISOString(),
    });
    const file = await planSource(root, "a", small);
    await service.storage.put(file, { signal: noSignal() });
    const before = server.requests.length;
    await service.storage.put(file, { signal: noSignal() });
    expect(server.requests.length).toBeGreaterThan(before);
  });

  it("returns the failure of the request for credentials", async () => {
    const root = await makeFolder();
    const { service } = await startHarness(() => answer(403), { root });
    const result = await service.storage.put(await planSource(root, "a", small), { signal: noSignal() });
    expect(result).toMatchObject({ outcome: "rejected", failure: { code: "forbidden" } });
  });

  it("retries when the storage fails, and reports a lasting failure", async () => {
    const once = await setUp({ fail: (_request, index) => (index === 0 ? 503 : undefined) });
    expect(await once.put("a", small)).toMatchObject({ outcome: "done" });
    const always = await setUp({ fail: () => 500 });
    const result = await always.put("a", small);
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "storage-failed", status: 500 } });
    expect(always.storage.requests).toHaveLength(3);
  });

  it("does not retry a refusal by the storage, and removes stored parts", async () => {
    const { storage, put } = await setUp({
      fail: (request) => (request.query.get("partNumber") === "2" ? 403 : undefined),
    });
    const result = await put("large.bin", large);
    expect(result).toMatchObject({ outcome: "rejected", failure: { code: "storage-refused", status: 403 } });
    expect([...storage.open]).toEqual([]);
    expect(JSON.stringify(result)).not.toContain("storage-secret");
  });

  it("redacts credentials that the storage echoes", async () => {
    const body = "<Error><Code>InvalidToken</Code><Message>storage-secret, storage-session</Message></Error>";
    const { put } = await setUp({ fail: () => ({ status: 403, body }) });
    for (const content of [small, large]) {
      const result = await put("a", content);
      expect(result).toMatchObject({
        failure: { message: expect.stringContaining("[redacted], [redacted]") },
      });
      expect(JSON.stringify(result)).not.toMatch(/storage-(secret|session)/);
    }
  });

  it("reports that the storage cannot be reached", async () => {
    const { put } = await setUp({ endpoint: "http://127.0.0.1:1" });
    const result = await put("a", small);
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "storage-failed" } });
    expect(result.outcome === "done" ? "" : result.failure.message).toContain("ECONNREFUSED");
  });

  it("leaves no parts of a large file when it is aborted", async () => {
    const controller = new AbortController();
    const { service, storage, root } = await setUp({
      fail: (request) => {
        if (request.query.get("partNumber") === "1") controller.abort();
        return undefined;
      },
    });
    const file = await planSource(root, "large.bin", makeContent(60 * 1024 * 1024));
    expect(await service.storage.put(file, { signal: controller.signal })).toMatchObject({
      outcome: "not_sent",
      failure: { code: "aborted" },
    });
    expect([...storage.open]).toEqual([]);
    expect(storage.objects.size).toBe(0);
  });

  it("ends immediately at the second interrupt", async () => {
    const [drain, abortInFlight] = [new AbortController(), new AbortController()];
    let arrived = () => {};
    const stalled = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { storage, put } = await setUp({
      fail: (request) => {
        if (!request.query.has("partNumber")) return undefined;
        arrived();
        return "stall";
      },
      interrupts: { drain: drain.signal, abortInFlight: abortInFlight.signal },
    });
    const putting = put("large.bin", large, drain.signal);
    await stalled;
    drain.abort();
    abortInFlight.abort();
    expect(await putting).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" } });
    expect(storage.objects.size).toBe(0);
  });

  it.each([
    ["a small file", small, () => true, ["PUT"]],
    ["a large file", large, ({ query }: StorageRequest) => query.has("partNumber"), ["POST", "PUT", "PUT"]],
  ] as const)("fails without a retry when the storage accepts %s and never responds", async (...row) => {
    const [, content, stalls, methods] = row;
    const { service, storage, root } = await setUp({
      fail: (request) => (stalls(request) ? "stall" : undefined),
      timeoutMs: 300,
    });
    const names = ["a.bin", "b.bin", "c.bin", "d.bin"];
    const files = await Promise.all(names.map((name) => planSource(root, name, content)));
    const first = await service.storage.put(files[0] ?? never(), { signal: noSignal() });
    expect(first).toMatchObject({ outcome: "not_sent", failure: { code: "storage-failed" } });
    expect(first.outcome === "done" ? "" : first.failure.message).toContain("no progress for 0.3 s");
    // Of two parts that are sent at once, one may not have arrived.
    const seen = storage.requests.map(({ method }) => method);
    expect([...seen, ...methods.slice(seen.length)]).toEqual(methods);
    expect(seen).toContain("PUT");
    // One of the next files is tried; the others do not wait as long again.
    const next = files.slice(1).map((file) => service.storage.put(file, { signal: noSignal() }));
    for (const { outcome } of await Promise.all(next)) expect(outcome).toBe("not_sent");
    const tried = new Set(storage.requests.filter(stalls).map(({ path }) => path));
    expect(tried.size).toBe(2);
  });

  it("stores the other files when it never responds for as many as it takes at once", async () => {
    const { service, storage, root } = await setUp({
      fail: ({ path }) => (/[a-d]\.bin$/.test(path) ? "stall" : undefined),
      timeoutMs: 300,
    });
    const files = await Promise.all([..."abcdefgh"].map((name) => planSource(root, `${name}.bin`, small)));
    const results = files.map((file) => service.storage.put(file, { signal: noSignal() }));
    const ends = (await Promise.all(results)).map(({ outcome }) => outcome);
    expect(ends).toEqual([...Array(4).fill("not_sent"), ...Array(4).fill("done")]);
    expect(storage.objects.size).toBe(4);
  });

  const endless = `<Error><Message>${"x".repeat(2 * 1024 * 1024)}</Message></Error>`;
  it.each([
    ["too long", { status: 403, body: endless }],
    ["without an end", "drip"],
  ] as const)("fails without a retry at a response that is %s", async (_name, response) => {
    const { storage, put } = await setUp({ fail: () => response, timeoutMs: 250 });
    const result = await put("a", small);
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "storage-failed" } });
    expect(storage.requests).toHaveLength(1);
  });

  it("sends nothing after it is aborted", async () => {
    const { service, server, root } = await setUp();
    const file = await planSource(root, "a", small);
    expect(await service.storage.put(file, { signal: AbortSignal.abort() })).toMatchObject({
      failure: { code: "aborted" },
    });
    expect(server.requests).toEqual([]);
  });
});

function never(): StoredSource {
  throw new Error("there are files");
}

describe("storage host in the credentials", () => {
  it("receives nothing and stops the run when it is not allowed", async () => {
    const { service, server, storage, root } = await setUp({ endpoint: "https://storage.evil.example" });
    const file = await planSource(root, "a.bin", small);
    expect(await service.storage.put(file, { signal: noSignal() })).toMatchObject({
      outcome: "rejected",
      failure: {
        code: "storage-host-not-allowed",
        stops: "run",
        message: expect.stringContaining("evil.example"),
      },
    });
    expect([server.requests.length, storage.requests.length]).toEqual([1, 0]);
  });
});
