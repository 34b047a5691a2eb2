import type { Hono } from "hono";
import { checkDocument, ProductCreate } from "./body-schemas.ts";
import { draftResource, productResource, respond } from "./documents.ts";
import { draftExists } from "./drafts.ts";
import type { Env, RequestContext, SandboxContext } from "./env.ts";
import { apiError } from "./errors.ts";
import { addPath, readDocument, readPathId, receiveBody } from "./requests.ts";
import { existedBefore, type Product } from "./store.ts";

/** Adds the three method-and-path pairs of products (document, 4.4). */
export function addProductPaths(app: Hono<Env>, sandbox: SandboxContext): void {
  addPath(app, "/api/products", { POST: (c) => publish(c, sandbox) });
  addPath(app, "/api/products/:id", { GET: (c) => getProduct(c, sandbox) });
  addPath(app, "/api/products/:id/duplicate", { POST: (c) => duplicate(c, sandbox) });
}

/** Every publication makes another product, also of the same draft. */
async function publish(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const { settings, store } = sandbox;
  const { data } = checkDocument(ProductCreate, await readDocument(c, settings), settings.behavior);
  const draftId = Number(data.relationships.draft.data.id);
  if (!draftExists(sandbox, draftId)) {
    throw apiError({
      status: 422,
      code: "no-such-draft",
      detail: `There is no draft ${draftId}.`,
      source: { pointer: "/data/relationships/draft/data/id" },
    });
  }
  const attached = store.attachments.list(draftId);
  const files = attached.map(({ kind, fileId, attributes }) => ({ kind, fileId, attributes }));
  return addProduct(sandbox, { draftId, duplicateOf: null, files });
}

async function duplicate(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const id = readPathId(c, "id");
  await receiveBody(c, sandbox.settings);
  const { draftId, files } = findProduct(sandbox, id);
  return addProduct(sandbox, { draftId, duplicateOf: id, files });
}

function addProduct(
  { settings, store }: SandboxContext,
  made: Pick<Product, "draftId" | "duplicateOf" | "files">,
): Response {
  const product = store.products.add({ ...made, publishedAt: Math.trunc(settings.now()) });
  return respond(
    settings.behavior.productStatus,
    { data: productResource(product, settings.behavior) },
    { location: `/api/products/${product.id}` },
  );
}

function getProduct(c: RequestContext, sandbox: SandboxContext): Response {
  const id = readPathId(c, "id");
  const include = readInclude(c);
  const product = findProduct(sandbox, id);
  const document = { data: productResource(product, sandbox.settings.behavior) };
  if (include === undefined) return respond(200, document);
  const { draftId } = product;
  const included =
    draftId === null || !include.includes("draft")
      ? []
      : [draftResource(draftId, sandbox.store.attachments.list(draftId))];
  return respond(200, { ...document, included });
}

/** @throws ApiError 404. */
function findProduct(sandbox: SandboxContext, id: number): Product {
  const product = readProduct(sandbox, id);
  if (product !== undefined) return product;
  throw apiError({
    status: 404,
    code: "no-such-product",
    detail: `There is no product ${id}.`,
    source: { parameter: "id" },
  });
}

/** A product that was made here or existed before; not one that was removed. */
export function readProduct({ settings, store }: SandboxContext, id: number): Product | undefined {
  if (store.products.isRemoved(id)) return undefined;
  const made = store.products.find(id);
  if (made !== undefined || !existedBefore(id, settings.products)) return made;
  return { id, draftId: null, duplicateOf: null, publishedAt: null, files: [] };
}

/**
 * The relations to include: `undefined` without the parameter; an empty parameter asks for none (JSON:API 1.1, "Inclusion
 * of Related Resources").
 */
function readInclude(c: RequestContext): readonly string[] | undefined {
  const names = c.req
    .queries("include")
    ?.flatMap((list) => list.split(","))
    .filter((name) => name !== "");
  const unknown = names?.filter((name) => name !== "draft") ?? [];
  if (unknown.length === 0) return names;
  throw apiError({
    status: 400,
    code: "unknown-relation",
    detail: `A product has no relation ${unknown.map((name) => JSON.stringify(name)).join(", ")}; it has: draft.`,
    source: { parameter: "include" },
  });
}
