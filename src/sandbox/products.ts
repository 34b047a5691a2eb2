import type { Hono } from "hono";
import { type ApiError, apiError } from "./api-error.ts";
import { ProductCreate } from "./body-schemas.ts";
import { answer, draftResource, productResource } from "./documents.ts";
import { draftExists } from "./drafts.ts";
import type { Env, RequestContext, SandboxContext } from "./env.ts";
import { existedBefore } from "./id-ranges.ts";
import { readPathId } from "./path-ids.ts";
import { readDocument, readUnusedBody } from "./request-body.ts";
import { addPath } from "./routing.ts";
import type { Product } from "./store/products.ts";
import { checkDocument } from "./violations.ts";

const RELATIONS: ReadonlySet<string> = new Set(["draft"]);

/** Puts the three method-and-path pairs of products in place (document, 4.4). */
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
  const product = store.products.add({
    draftId,
    duplicateOf: null,
    publishedAt: Math.trunc(settings.now()),
    files: store.attachments
      .list(draftId)
      .map(({ kind, fileId, attributes }) => ({ kind, fileId, attributes })),
  });
  return respondWithNew(sandbox, product);
}

async function duplicate(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const { settings, store } = sandbox;
  const id = readPathId(c, "id");
  await readUnusedBody(c, settings);
  const original = findProduct(sandbox, id);
  const product = store.products.add({
    draftId: original.draftId,
    duplicateOf: original.id,
    publishedAt: Math.trunc(settings.now()),
    files: original.files,
  });
  return respondWithNew(sandbox, product);
}

function getProduct(c: RequestContext, sandbox: SandboxContext): Response {
  const id = readPathId(c, "id");
  const include = readInclude(c);
  const product = findProduct(sandbox, id);
  const document = { data: productResource(product, sandbox.settings.behavior) };
  if (include === undefined) return answer(200, document);
  const { draftId } = product;
  const included =
    draftId === null || !include.has("draft")
      ? []
      : [draftResource(draftId, sandbox.store.attachments.list(draftId))];
  return answer(200, { ...document, included });
}

function respondWithNew(sandbox: SandboxContext, product: Product): Response {
  return answer(
    sandbox.settings.behavior.productStatus,
    { data: productResource(product, sandbox.settings.behavior) },
    { location: `/api/products/${product.id}` },
  );
}

/** @throws ApiError 404. */
function findProduct(sandbox: SandboxContext, id: number): Product {
  const product = readProduct(sandbox, id);
  if (product !== undefined) return product;
  throw notFound(id);
}

/** A product that was made here, or one that existed before; not one that was taken away. */
export function readProduct(sandbox: SandboxContext, id: number): Product | undefined {
  const { settings, store } = sandbox;
  if (store.products.isRemoved(id)) return undefined;
  const made = store.products.find(id);
  if (made !== undefined || !existedBefore(id, settings.products)) return made;
  return { id, draftId: null, duplicateOf: null, publishedAt: null, files: [] };
}

function notFound(id: number): ApiError {
  return apiError({
    status: 404,
    code: "no-such-product",
    detail: `There is no product ${id}.`,
    source: { parameter: "id" },
  });
}

/**
 * The relations asked for: `undefined` without the parameter; an empty one asks for none (JSON:API 1.1, "Inclusion of
 * Related Resources").
 */
function readInclude(c: RequestContext): ReadonlySet<string> | undefined {
  const lists = c.req.queries("include");
  if (lists === undefined) return undefined;
  const names = lists.flatMap((list) => list.split(",")).filter((name) => name !== "");
  const unknown = names.filter((name) => !RELATIONS.has(name));
  if (unknown.length > 0) {
    throw apiError({
      status: 400,
      code: "unknown-relation",
      detail: `A product has no relation ${unknown.map((name) => JSON.stringify(name)).join(", ")}; it has: draft.`,
      source: { parameter: "include" },
    });
  }
  return new Set(names);
}
