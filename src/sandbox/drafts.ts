import type { Hono } from "hono";
import {
  checkDocument,
  ProductFileCreate,
  ProductFileUpdate,
  PromotionalFileCreate,
  PromotionalFileUpdate,
} from "./body-schemas.ts";
import { attachmentResource, respond } from "./documents.ts";
import type { Env, RequestContext, SandboxContext } from "./env.ts";
import { type ApiError, apiError } from "./errors.ts";
import { addPath, readDocument, readPathId, receiveBody } from "./requests.ts";
import { type Attachment, type AttachmentAttributes, type AttachmentKey, existedBefore } from "./store.ts";
import { viewUpload } from "./uploads.ts";

const KINDS = [
  {
    kind: "product_file",
    path: "product_files",
    create: ProductFileCreate,
    update: ProductFileUpdate,
  },
  {
    kind: "promotional_file",
    path: "promotional_files",
    create: PromotionalFileCreate,
    update: PromotionalFileUpdate,
  },
] as const;

type FileKind = (typeof KINDS)[number];

/** Adds the eight method-and-path pairs of draft files (document, 4.1 and 4.2). */
export function addDraftPaths(app: Hono<Env>, sandbox: SandboxContext): void {
  for (const kind of KINDS) {
    const collection = `/api/drafts/:draft_id/${kind.path}`;
    const update = (c: RequestContext) => updateAttachment(c, sandbox, kind);
    addPath(app, collection, { POST: (c) => createAttachment(c, sandbox, kind) });
    addPath(app, `${collection}/:id`, {
      PATCH: update,
      ...(sandbox.settings.behavior.put === "refused" ? {} : { PUT: update }),
      DELETE: (c) => deleteAttachment(c, sandbox, kind),
    });
  }
}

async function createAttachment(
  c: RequestContext,
  sandbox: SandboxContext,
  kind: FileKind,
): Promise<Response> {
  const { settings, store } = sandbox;
  const draftId = readPathId(c, "draft_id");
  const document = await readDocument(c, settings);
  checkDraft(sandbox, draftId);
  const { data } = checkDocument(kind.create, document, settings.behavior);
  const { file_id: fileId, ...attributes } = data.attributes;
  if (!fileExists(sandbox, fileId)) {
    throw apiError({
      status: 422,
      code: "no-such-file",
      detail: `There is no uploaded file ${fileId}.`,
      source: { pointer: "/data/attributes/file_id" },
    });
  }
  const key = { draftId, kind: kind.kind, fileId };
  const attachment = store.attachments.add(key, attributes) ?? attachAgain(sandbox, key, attributes);
  return respondWithAttachment(sandbox, attachment, settings.behavior.createStatus);
}

/** @throws ApiError 409 or 422, as the behavior says. */
function attachAgain(
  { settings, store }: SandboxContext,
  key: AttachmentKey,
  attributes: AttachmentAttributes,
): Attachment {
  const { doubleAttach } = settings.behavior;
  const attachment = doubleAttach === "accepted" ? store.attachments.change(key, attributes) : undefined;
  if (attachment !== undefined) return attachment;
  throw apiError({
    status: doubleAttach === "invalid" ? 422 : 409,
    code: "already-attached",
    detail: `File ${key.fileId} is attached to draft ${key.draftId} already.`,
    source: { pointer: "/data/attributes/file_id" },
  });
}

async function updateAttachment(
  c: RequestContext,
  sandbox: SandboxContext,
  kind: FileKind,
): Promise<Response> {
  const { settings, store } = sandbox;
  const { put, probe, updateStatus } = settings.behavior;
  const key = readKey(c, kind);
  const document = await readDocument(c, settings);
  checkDraft(sandbox, key.draftId);
  const found = store.attachments.find(key);
  if (found === undefined) throw notAttached(key);
  const attributes = checkDocument(kind.update, document, settings.behavior)?.data?.attributes ?? {};
  const isProbe = Object.keys(attributes).length === 0;
  if (isProbe && probe === "rejected") {
    throw apiError({
      status: 422,
      code: "nothing-to-update",
      detail: "An update must name at least one attribute.",
      source: { pointer: "" },
    });
  }
  const replaces = (c.env.incoming.method === "PUT" && put === "replaces") || (isProbe && probe === "clears");
  const attachment = replaces
    ? store.attachments.replace(key, attributes)
    : store.attachments.change(key, attributes);
  if (attachment === undefined) throw notAttached(key);
  return respondWithAttachment(sandbox, attachment, updateStatus);
}

async function deleteAttachment(
  c: RequestContext,
  sandbox: SandboxContext,
  kind: FileKind,
): Promise<Response> {
  const key = readKey(c, kind);
  await receiveBody(c, sandbox.settings);
  checkDraft(sandbox, key.draftId);
  if (!sandbox.store.attachments.remove(key)) throw notAttached(key);
  return respond(sandbox.settings.behavior.deleteStatus, { meta: {} });
}

function readKey(c: RequestContext, { kind }: FileKind): AttachmentKey {
  return { draftId: readPathId(c, "draft_id"), kind, fileId: readPathId(c, "id") };
}

function respondWithAttachment(sandbox: SandboxContext, attachment: Attachment, status: number): Response {
  return respond(status, { data: attachmentResource(attachment, sandbox.settings.behavior) });
}

function checkDraft(sandbox: SandboxContext, draftId: number): void {
  if (draftExists(sandbox, draftId)) return;
  throw apiError({
    status: 404,
    code: "no-such-draft",
    detail: `There is no draft ${draftId}.`,
    source: { parameter: "draft_id" },
  });
}

function notAttached({ draftId, fileId }: AttachmentKey): ApiError {
  return apiError({
    status: 404,
    code: "not-attached",
    detail: `File ${fileId} is not attached to draft ${draftId}.`,
    source: { parameter: "id" },
  });
}

/** Whether there is a draft with this id. */
export function draftExists({ settings: { drafts } }: SandboxContext, draftId: number): boolean {
  return drafts === "any" ? draftId > 0 : drafts.has(draftId);
}

/** A file existed before the sandbox, or a successful upload made it. */
function fileExists({ settings, store }: SandboxContext, fileId: number): boolean {
  if (existedBefore(fileId, settings.files)) return true;
  const upload = store.uploads.findByFile(fileId);
  return upload !== undefined && viewUpload(upload, settings).status === "success";
}
