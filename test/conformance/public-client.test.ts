import { describe, expect, test } from "vitest";
import { type Call, errorsOf, resourceOf } from "./support/call.ts";
import { useSandbox } from "./support/use-sandbox.ts";

/**
 * Requests of the public Go client of this interface (github.com/turbosquid/ts-publishing-api-go), byte for byte: its JSON:API
 * library sends `id: "0"` for a number that was never set, its promotional files carry `file_format`, and every request,
 * also one without a body, has `Content-Type: application/json`.
 */
const headers = { "content-type": "application/json", "user-agent": "Go-http-client/1.1" };
const post = (path: string, body?: string): Call => ({
  method: "POST",
  path,
  headers,
  ...(body === undefined ? {} : { body }),
});
const attachProductFile = (fileId: number) =>
  post(
    "/api/drafts/48213/product_files",
    `{"data":{"type":"product_file","id":"0","attributes":{"file_format":"fbx","file_id":${fileId},"is_native":true}}}\n`,
  );
const attachPromotionalFile = (fileId: number) =>
  post(
    "/api/drafts/48213/promotional_files",
    `{"data":{"type":"promotional_file","id":"0","attributes":{"file_format":"","file_id":${fileId}}}}\n`,
  );
const publish = post(
  "/api/products",
  '{"data":{"type":"product","id":"0","relationships":{"draft":{"data":{"type":"draft","id":"48213"}}}}}\n',
);

describe("requests of the public Go client", () => {
  const { send, sandbox } = useSandbox({ behavior: { mediaTypes: "lenient", unknownAttributes: "ignored" } });

  test("upload, attach and publish with the lenient behavior", async () => {
    const credentials = resourceOf(await send(post("/api/uploads/credentials")));
    expect(credentials).toMatchObject({ type: "upload_credential", id: expect.any(String) });
    const key = "incoming/serpent.fbx";
    const created = resourceOf(
      await send(post("/api/uploads", `{"data":{"type":"upload","attributes":{"upload_key":"${key}"}}}\n`)),
    );
    const { attributes } = resourceOf(
      await send({ method: "GET", path: `/api/uploads/${created.id}`, headers }),
    );
    expect(attributes).toMatchObject({ status: "success", file_id: expect.any(Number) });
    expect((await send(attachProductFile(Number(attributes.file_id)))).status).toBe(201);
    expect((await send(attachPromotionalFile(9900044))).status).toBe(201);
    expect(sandbox().state().attachments).toMatchObject([
      {
        kind: "product_file",
        fileId: attributes.file_id,
        attributes: { file_format: "fbx", is_native: true },
      },
      { kind: "promotional_file", fileId: 9900044, attributes: {} },
    ]);
    const product = resourceOf(await send(publish));
    expect(product).toMatchObject({ type: "product", id: expect.stringMatching(/^\d+$/) });
  });

  test("get 422 for a listed attribute of the wrong type", async () => {
    const body = '{"data":{"type":"product_file","attributes":{"file_id":1,"is_native":1,"color":"red"}}}';
    const response = await send(post("/api/drafts/1/product_files", body));
    expect(errorsOf(response).map(({ status, source }) => [status, source?.pointer])).toEqual([
      ["422", "/data/attributes/is_native"],
    ]);
  });

  test("get 415 for a body that is not JSON", async () => {
    const response = await send({ ...publish, headers: { "content-type": "text/plain" } });
    expect(response.status).toBe(415);
  });
});

describe("behavior for products", () => {
  const missing = useSandbox({ behavior: { unknownProducts: "missing" } });
  const omitting = useSandbox({ behavior: { relationships: "omitted" } });

  test("unknownProducts=missing: an unknown id is 404, a published product is found", async () => {
    const { send } = missing;
    const body = {
      data: { type: "product", relationships: { draft: { data: { type: "draft", id: "5" } } } },
    };
    expect((await send({ method: "GET", path: "/api/products/771200" })).status).toBe(404);
    expect((await send({ method: "POST", path: "/api/products/771200/duplicate" })).status).toBe(404);
    const { id } = resourceOf(await send({ method: "POST", path: "/api/products", body }));
    expect((await send({ method: "GET", path: `/api/products/${id}` })).status).toBe(200);
  });

  test("relationships=omitted: a product has no relationships", async () => {
    const { send } = omitting;
    const product = resourceOf(await send({ method: "GET", path: "/api/products/771200" }));
    expect(product.relationships).toBeUndefined();
  });
});
