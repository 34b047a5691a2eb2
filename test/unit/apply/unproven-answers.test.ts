import { expect, onTestFinished, test } from "vitest";
import { startWorld } from "../../support/world.ts";

test("a refusal that may say that the file is attached is in doubt until it is checked", async () => {
  const world = await startWorld();
  onTestFinished(() => world.close());
  world.sandbox.attach({ draftId: 1, kind: "product_file", fileId: 7 });
  await world.write("draft: 1\nproduct_files: [{ file_id: 7 }]\n");
  const interrupted = new AbortController();
  world.proxy.choose = ({ method }) => {
    if (method !== "POST") return undefined;
    interrupted.abort();
    const headers = { "content-type": "application/vnd.api+json" };
    return { type: "answer", status: 422, body: '{"errors":[{"status":"422"}]}', headers };
  };
  expect((await world.apply(interrupted.signal)).totals).toMatchObject({ failed: 0, in_doubt: 1 });
  world.proxy.choose = () => undefined;
  await world.write("draft: 1\nproduct_files: []\n");
  await world.apply();
  expect((await world.ledger.load()).maybePublished.has(1)).toBe(true);
});

test("an upload whose answer named another object's is registered again", async () => {
  const world = await startWorld();
  onTestFinished(() => world.close());
  await world.write("draft: 1\nproduct_files: [{ source: a.glb }]\n", { "manifests/a.glb": "content" });
  const upload = (attributes: object) => {
    const headers = { "content-type": "application/vnd.api+json" };
    const body = JSON.stringify({ data: { type: "upload", id: "u0", attributes } });
    return { type: "answer", status: 201, body, headers } as const;
  };
  world.proxy.choose = ({ method, path }) => {
    if (method === "POST" && path === "/api/uploads") return upload({ status: "queued" });
    if (path === "/api/uploads/u0")
      return { ...upload({ status: "success", upload_key: "other", file_id: 9 }), status: 200 };
    return undefined;
  };
  expect((await world.apply()).totals).toMatchObject({ failed: 1 });
  world.proxy.choose = () => undefined;
  expect((await world.apply()).totals).toMatchObject({ done: 1, failed: 0 });
});

test("accepts a product that is known as another one when the response names the draft", async () => {
  const world = await startWorld();
  onTestFinished(() => world.close());
  await world.write("duplicates: [{ name: copy, product: 5 }]\n");
  await world.apply();
  const relationships = { draft: { data: { type: "draft", id: "2" } } };
  const data = { type: "product", id: "5", relationships };
  world.proxy.choose = ({ path }) =>
    path === "/api/products"
      ? { type: "answer", carriedOut: true, status: 201, body: JSON.stringify({ data }) }
      : undefined;
  await world.write("duplicates: [{ name: copy, product: 5 }]\n---\ndraft: 2\npublish: true\n");
  expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
});
