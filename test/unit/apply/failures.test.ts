import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Passing } from "../../support/faulty-proxy.ts";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

const refused = {
  type: "answer",
  status: 422,
  body: '{"errors":[{"title":"No","source":{"pointer":"/data/attributes/renderer"}}]}',
} as const;

function isPost(path: string, fileId?: number) {
  return (request: Passing) =>
    request.method === "POST" &&
    request.path === path &&
    (fileId === undefined || request.body.includes(`"file_id":${fileId}`));
}

const twoDrafts = `
draft: 1
product_files: [{ file_id: 10 }, { file_id: 11 }]
publish: true
---
draft: 2
product_files: [{ file_id: 20 }]
publish: true
`;

describe("failed change", () => {
  test("stops the later stages of its own draft only", async () => {
    await world.write(twoDrafts);
    const matches = isPost("/api/drafts/1/product_files", 10);
    world.proxy.choose = (request) => (matches(request) ? refused : undefined);
    const { totals, stopped } = await world.apply();
    expect(world.ends()).toEqual([
      "drafts/1/product: skipped",
      "drafts/1/product_files/10: rejected",
      "drafts/1/product_files/11: done",
      "drafts/2/product: done",
      "drafts/2/product_files/20: done",
    ]);
    expect(totals).toMatchObject({ done: 3, failed: 1, in_doubt: 0, skipped: 1 });
    expect(stopped).toBeUndefined();
  });

  test("does not attach restored content a second time after a failed replacement", async () => {
    const manifest = (renderer: string) => `
draft: 1
product_files: [{ source: a.glb }, { file_id: 10, renderer: ${renderer} }]
`;
    await world.write(manifest("one"), { "manifests/a.glb": "former" });
    await world.apply();
    await world.write(manifest("two"), { "manifests/a.glb": "newer" });
    world.proxy.choose = ({ method }) => (method === "PATCH" ? refused : undefined);
    await world.apply();
    expect(world.ends()).toContain("drafts/1/product_files/source:manifests/a.glb: skipped");
    world.proxy.choose = () => undefined;
    await world.write(manifest("two"), { "manifests/a.glb": "former" });
    const calls: string[] = [];
    world.proxy.choose = ({ method, path }) => void calls.push(`${method} ${path.replace(/900+/, "")}`);
    expect(await world.apply()).toMatchObject({ totals: { failed: 0, in_doubt: 0, skipped: 0 } });
    expect(calls.sort()).toEqual([
      "DELETE /api/drafts/1/product_files/2",
      "PATCH /api/drafts/1/product_files/10",
    ]);
    expect((await world.plan()).changes).toEqual([]);
  });

  test("reports the service's error objects unchanged", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: x }]\n");
    world.proxy.choose = () => refused;
    await world.apply();
    const finished = world.events.find((event) => event.type === "change_finished");
    expect(finished).toMatchObject({
      failure: { status: 422, errors: [{ title: "No", source: { pointer: "/data/attributes/renderer" } }] },
    });
  });

  test("is retried by the next apply, which repeats no completed call", async () => {
    await world.write(twoDrafts);
    const matches = isPost("/api/drafts/1/product_files", 10);
    world.proxy.choose = (request) => (matches(request) ? refused : undefined);
    await world.apply();
    world.requests();
    world.proxy.choose = () => undefined;
    const { totals } = await world.apply();
    expect(totals).toMatchObject({ done: 2, failed: 0, skipped: 0 });
    expect(world.requests()).toEqual(["POST /api/drafts/1/product_files", "POST /api/products"]);
    expect((await world.plan()).changes).toEqual([]);
  });

  test("stops the run and skips the rest when the key is rejected", async () => {
    await world.write(twoDrafts);
    world.proxy.choose = () => ({ type: "answer", status: 401 });
    const { totals, stopped } = await world.apply();
    expect(stopped).toMatchObject({ code: "unauthorized", status: 401 });
    expect(totals.done).toBe(0);
    expect(totals.failed + totals.skipped).toBe(5);
    expect(world.requests().filter((request) => request === "POST /api/products")).toEqual([]);
  });

  test("leaves the old file attached when the new file of a replacement is refused", async () => {
    const manifest = "draft: 1\nproduct_files: [{ source: ../a.glb }]\n";
    await world.write(manifest, { "a.glb": "first" });
    await world.apply();
    const [before] = world.sandbox.state().attachments;
    await world.write(manifest, { "a.glb": "second" });
    const matches = isPost("/api/drafts/1/product_files");
    world.proxy.choose = (request) => (matches(request) ? refused : undefined);
    world.requests();
    await world.apply();
    expect(world.ends()).toEqual(["drafts/1/product_files/source:a.glb: rejected"]);
    expect(world.requests().filter((request) => request.startsWith("DELETE"))).toEqual([]);
    expect(world.sandbox.state().attachments).toEqual([before]);
    world.proxy.choose = () => undefined;
    await world.apply();
    // The bytes were uploaded by the run that failed; they are not uploaded again.
    expect(world.requests().filter((request) => request.startsWith("POST /api/uploads"))).toEqual([]);
    expect(world.sandbox.state().attachments).toHaveLength(1);
    expect(world.sandbox.state().attachments[0]?.fileId).not.toBe(before?.fileId);
  });

  test("plans the delete again when the old file of a replacement cannot be detached", async () => {
    const manifest = "draft: 1\nproduct_files: [{ source: ../a.glb }]\npublish: true\n";
    await world.write(manifest, { "a.glb": "first" });
    await world.apply();
    const [before] = world.sandbox.state().attachments;
    await world.write(manifest.replace("true", "{ revision: 2 }"), { "a.glb": "second" });
    world.proxy.choose = ({ method }) => (method === "DELETE" ? { type: "answer", status: 403 } : undefined);
    await world.apply();
    expect(world.ends()).toEqual([
      "drafts/1/product: skipped",
      "drafts/1/product_files/source:a.glb: rejected",
    ]);
    const { changes } = await world.plan();
    expect(changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
      "publish drafts/1/product",
      `delete drafts/1/product_files/${before?.fileId}`,
    ]);
  });

  test("attaches nothing and leaves nothing in doubt when an upload fails", async () => {
    await world.write("draft: 1\nproduct_files: [{ upload_key: elsewhere/gone.mp4 }, { file_id: 10 }]\n");
    const { totals } = await world.apply();
    expect(totals).toMatchObject({ failed: 1, skipped: 1, in_doubt: 0 });
    expect(world.sandbox.state().attachments).toEqual([]);
    expect(
      world.events.find((event) => event.type === "change_finished" && event.outcome === "rejected"),
    ).toMatchObject({
      failure: { code: "upload-failed" },
    });
  });

  test.each([404, 410])(
    "registers an upload again in the next run when the service returns %i for it",
    async (status) => {
      await world.write("draft: 1\nproduct_files: [{ source: a.glb }]\n", { "manifests/a.glb": "content" });
      const document = (code: number, body: unknown) => {
        const headers = { "content-type": "application/vnd.api+json" };
        return { type: "answer", status: code, headers, body: JSON.stringify(body) } as const;
      };
      world.proxy.choose = ({ method, path }) => {
        if (method === "POST" && path === "/api/uploads")
          return document(201, { data: { id: "77", type: "upload" } });
        if (path.startsWith("/api/uploads?")) return document(200, { data: [] });
        return method === "GET" ? document(status, { errors: [{ code: "no" }] }) : undefined;
      };
      expect((await world.apply()).totals).toMatchObject({ done: 0, failed: 1, in_doubt: 0 });
      world.proxy.choose = () => undefined;
      expect((await world.apply()).totals).toMatchObject({ done: 1, failed: 0 });
      expect(world.sandbox.state().attachments).toHaveLength(1);
    },
  );

  test("sends nothing more to a draft that does not exist", async () => {
    await world.write(
      "draft: 1\nproduct_files: [{ file_id: 10 }]\npublish: true\n---\ndraft: 2\nproduct_files: [{ file_id: 20 }]\n",
    );
    world.proxy.choose = ({ path }) =>
      path.startsWith("/api/drafts/1/") ? { type: "answer", status: 404 } : undefined;
    await world.apply();
    expect(world.ends()).toEqual([
      "drafts/1/product: skipped",
      "drafts/1/product_files/10: rejected",
      "drafts/2/product_files/20: done",
    ]);
  });

  test("does not publish once the ledger notes in the run that the draft may be published", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\npublish: true\n");
    const matches = isPost("/api/drafts/1/product_files");
    world.proxy.choose = (request) => {
      if (matches(request)) void world.ledger.record([{ type: "maybe_published", draftId: 1, at: 1 }]);
      return undefined;
    };
    await world.apply();
    expect(world.ends()).toEqual(["drafts/1/product: not_sent", "drafts/1/product_files/10: done"]);
    expect(world.sandbox.state().products).toEqual([]);
  });

  test("skips the duplicate of a product whose publish failed", async () => {
    await world.write("draft: 1\npublish: true\n---\nduplicates: [{ name: copy, product: { draft: 1 } }]\n");
    world.proxy.choose = ({ path }) =>
      path === "/api/products"
        ? { type: "answer", status: 403, body: '{"errors":[{"status":"403"}]}' }
        : undefined;
    await world.apply();
    expect(world.ends()).toEqual(["drafts/1/product: rejected", "duplicates/copy: skipped"]);
  });

  test("plans to attach a file again when an update shows that it is gone", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: a }]\n");
    await world.apply();
    world.sandbox.detach({ draftId: 1, kind: "product_file", fileId: 10 });
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: b }]\n");
    await world.apply();
    expect(world.ends()).toEqual(["drafts/1/product_files/10: rejected"]);
    const { changes } = await world.plan();
    expect(changes.map(({ action }) => action)).toEqual(["create"]);
    await world.apply();
    expect(world.sandbox.state().attachments).toMatchObject([{ fileId: 10, attributes: { renderer: "b" } }]);
  });
});

describe("interrupt", () => {
  test("starts no new call, waits for those in flight, and lets the next run continue", async () => {
    await world.write(twoDrafts);
    const interrupt = new AbortController();
    world.proxy.choose = () => {
      interrupt.abort();
      return undefined;
    };
    const { totals, stopped } = await world.apply(interrupt.signal);
    expect(stopped).toBe("interrupted");
    expect(totals.in_doubt + totals.failed).toBe(0);
    expect(totals.done).toBe(world.sandbox.state().attachments.length);
    expect(totals.done + totals.skipped).toBe(5);
    expect(world.sandbox.state().products).toEqual([]);
    world.proxy.choose = () => undefined;
    const { totals: rest } = await world.apply();
    expect(rest.done).toBe(totals.skipped);
    expect((await world.plan()).changes).toEqual([]);
    expect(world.requests().filter((request) => request === "POST /api/products")).toHaveLength(2);
  });
});
