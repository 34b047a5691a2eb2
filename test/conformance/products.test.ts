import { describe, expect, test } from "vitest";
import { errorsOf, pointersOf, resourceOf } from "./support/call.ts";
import { freshId } from "./support/interface.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const { send, sandbox } = useSandbox({ now: () => Date.UTC(2030, 0, 1) });

const publication = (draft: unknown) => ({
  method: "POST",
  path: "/api/products",
  body: { data: { type: "product", relationships: { draft: { data: { type: "draft", id: draft } } } } },
});
const get = (id: string | number, query = "") => send({ method: "GET", path: `/api/products/${id}${query}` });
const linkage = (draft: number) => ({ draft: { data: { type: "draft", id: String(draft) } } });

describe("POST /api/products", () => {
  test("POST /api/products — publishes the draft as a product", async () => {
    const draft = freshId();
    const response = await send(publication(String(draft)));
    const product = resourceOf(response);
    expect(response.status).toBe(201);
    expect(response.headers.location).toBe(`/api/products/${product.id}`);
    expect(product).toEqual({
      type: "product",
      id: expect.stringMatching(/^9\d{9}$/),
      attributes: { published_at: "2030-01-01T00:00:00.000Z", duplicate_of: null },
      relationships: linkage(draft),
    });
    expect(resourceOf(await get(product.id))).toEqual(product);
  });

  test("POST /api/products — the same draft again makes another product", async () => {
    const draft = String(freshId());
    const [first, second] = [await send(publication(draft)), await send(publication(draft))];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(resourceOf(second).id).not.toBe(resourceOf(first).id);
  });

  test("POST /api/products — keeps the attachments of that moment", async () => {
    const draftId = freshId();
    sandbox().attach({ draftId, kind: "product_file", fileId: 11 }, { file_format: "fbx" });
    const { id } = resourceOf(await send(publication(String(draftId))));
    sandbox().edit({ draftId, kind: "product_file", fileId: 11 }, { file_format: "obj" });
    const kept = sandbox()
      .state()
      .products.find((product) => product.id === Number(id));
    expect(kept).toMatchObject({
      draftId,
      files: [{ kind: "product_file", fileId: 11, attributes: { file_format: "fbx" } }],
    });
  });

  test.each(["", "abc", "0", "-5", "1.5", "007", "9007199254740993"])(
    "POST /api/products — the invalid draft id %j: 422",
    async (draft) => {
      const response = await send(publication(draft));
      expect(response.status).toBe(422);
      expect(pointersOf(response)).toEqual(["/data/relationships/draft/data/id"]);
    },
  );

  test("POST /api/products — a relationship to something other than a draft: 422", async () => {
    const response = await send({
      method: "POST",
      path: "/api/products",
      body: { data: { type: "product", relationships: { draft: { data: { type: "product", id: "5" } } } } },
    });
    expect(response.status).toBe(422);
    expect(pointersOf(response)).toEqual(["/data/relationships/draft/data/type"]);
  });

  test("POST /api/products — an unlisted relationship: 422", async () => {
    const { body } = publication("5");
    const relationships = { ...body.data.relationships, author: { data: null } };
    const response = await send({
      method: "POST",
      path: "/api/products",
      body: { data: { ...body.data, relationships } },
    });
    expect(pointersOf(response)).toEqual(["/data/relationships/author"]);
  });
});

describe("sandbox with a list of drafts and products", () => {
  const { send: ask } = useSandbox({ drafts: [48213], products: [771200] });

  test("POST /api/products — an unlisted draft: 422 with the pointer; a listed draft is published", async () => {
    const response = await ask(publication("48214"));
    expect(response.status).toBe(422);
    expect(errorsOf(response)).toMatchObject([
      { code: "no-such-draft", source: { pointer: "/data/relationships/draft/data/id" } },
    ]);
    expect((await ask(publication("48213"))).status).toBe(201);
  });

  test("GET /api/products/:id — only the listed products existed before", async () => {
    expect((await ask({ method: "GET", path: "/api/products/771200" })).status).toBe(200);
    expect((await ask({ method: "GET", path: "/api/products/771201" })).status).toBe(404);
  });
});

describe("GET /api/products/:id", () => {
  test("GET /api/products/:id — a product from before the sandbox has no draft", async () => {
    expect(resourceOf(await get(771200))).toEqual({
      type: "product",
      id: "771200",
      attributes: { published_at: null, duplicate_of: null },
      relationships: { draft: { data: null } },
    });
    expect((await get(771200, "?include=draft")).json).toMatchObject({ included: [] });
  });

  test("GET /api/products/:id — an unknown product: 404", async () => {
    const response = await get(9_000_999_999);
    expect(response.status).toBe(404);
    expect(errorsOf(response)).toMatchObject([{ code: "no-such-product", source: { parameter: "id" } }]);
  });

  test("GET /api/products/:id — include=draft adds the draft", async () => {
    const draftId = freshId();
    sandbox().attach({ draftId, kind: "product_file", fileId: 11 });
    sandbox().attach({ draftId, kind: "promotional_file", fileId: 12 });
    const { id } = resourceOf(await send(publication(String(draftId))));
    expect((await get(id)).json).not.toHaveProperty("included");
    expect((await get(id, "?include=")).json).toHaveProperty("included", []);
    expect((await get(id, "?include=draft")).json).toHaveProperty("included", [
      {
        type: "draft",
        id: String(draftId),
        attributes: { product_file_ids: [11], promotional_file_ids: [12] },
      },
    ]);
  });

  test.each(["author", "draft,author", "Draft", "draft.files"])(
    "GET /api/products/:id — include=%s names an unknown relation: 400",
    async (include) => {
      const response = await get(771200, `?include=${include}`);
      expect(response.status).toBe(400);
      expect(errorsOf(response)).toMatchObject([
        { code: "unknown-relation", source: { parameter: "include" } },
      ]);
    },
  );

  test("GET /api/products/:id — a removed product: 404", async () => {
    const { id } = resourceOf(await send(publication("48213")));
    for (const product of [Number(id), 771300]) {
      expect((await get(product)).status).toBe(200);
      sandbox().removeProduct(product);
      expect((await get(product)).status).toBe(404);
      expect(() => sandbox().removeProduct(product)).toThrow(/no product/);
    }
  });
});

describe("POST /api/products/:id/duplicate", () => {
  const duplicate = (id: string | number) => send({ method: "POST", path: `/api/products/${id}/duplicate` });

  test("POST /api/products/:id/duplicate — makes another product with the draft of the first each time", async () => {
    const draft = freshId();
    const { id } = resourceOf(await send(publication(String(draft))));
    const [first, second] = [await duplicate(id), await duplicate(id)];
    expect(first.status).toBe(201);
    const copy = resourceOf(first);
    expect(copy).toMatchObject({
      type: "product",
      attributes: { duplicate_of: Number(id) },
      relationships: linkage(draft),
    });
    expect(first.headers.location).toBe(`/api/products/${copy.id}`);
    expect(resourceOf(await get(copy.id))).toEqual(copy);
    expect(new Set([id, copy.id, resourceOf(second).id]).size).toBe(3);
  });

  test("POST /api/products/:id/duplicate — copies a product from before the sandbox", async () => {
    expect(resourceOf(await duplicate(771200)).attributes).toMatchObject({ duplicate_of: 771200 });
  });

  test("POST /api/products/:id/duplicate — an unknown product: 404, and nothing is created", async () => {
    const before = sandbox().state().products.length;
    expect((await duplicate(9_000_999_999)).status).toBe(404);
    expect(sandbox().state().products).toHaveLength(before);
  });
});
