import type { Hono } from "hono";
import type { z } from "zod";
import { type ApiError, apiError } from "./api-error.ts";
import type { Behavior } from "./behavior.ts";
import {
  ProductFileCreate,
  ProductFileUpdate,
  PromotionalFileCreate,
  PromotionalFileUpdate,
} from "./body-schemas.ts";
import { answer, attachmentResource } from "./documents.ts";
import type { Env, RequestContext, SandboxContext } from "./env.ts";
import { existedBefore } from "./id-ranges.ts";
import { readPathId } from "./path-ids.ts";
import { readDocument, readUnusedBody } from "./request-body.ts";
import { addPath } from "./routing.ts";
import type { Attachment, AttachmentAttributes, AttachmentKey, AttachmentKind } from "./store/attachments.ts";
import { viewUpload } from "./upload-status.ts";
import { checkDocument } from "./violations.ts";

/** How a kind of files reads its documents. */
interface FileKind {
  readonly kind: AttachmentKind;
  readonly path: string;
  readCreate(document: unknown, behavior: Behavior): { fileId: number; attributes: AttachmentAttributes };
  /** `undefined`: the document names no attribute. */
  readUpdate(document: unknown, behavior: Behavior): AttachmentAttributes | undefined;
}

const KINDS: readonly FileKind[] = [
  makeKind({
    kind: "product_file",
    path: "product_files",
    create: ProductFileCreate,
    update: ProductFileUpdate,
  }),
  makeKind({
    kind: "promotional_file",
    path: "promotional_files",
    create: PromotionalFileCreate,
    update: PromotionalFileUpdate,
  }),
];

type Fields = Readonly<Record<string, string | boolean | undefined>>;

function makeKind(rule: {
  kind: AttachmentKind;
  path: string;
  create: z.ZodType<{ data: { attributes: ({ file_id: number } & Fields) | { file_id: number } } }>;
  update: z.ZodType<{ data?: { attributes?: Fields | undefined } | undefined } | undefined>;
}): FileKind {
  return {
    kind: rule.kind,
    path: rule.path,
    readCreate(document, behavior) {
      const { file_id: fileId, ...fields } = checkDocument(rule.create, document, behavior).data.attributes;
      return { fileId, attributes: present(fields) };
    },
    readUpdate(document, behavior) {
      const attributes = present(checkDocument(rule.update, document, behavior)?.data?.attributes ?? {});
      return Object.keys(attributes).length === 0 ? undefined : attributes;
    },
  };
}

function present(fields: Fields): AttachmentAttributes {
  const entries = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}

/** Puts the eight method-and-path pairs of draft files in place (document, 4.1 and 4.2). */
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
  const { fileId, attributes } = kind.readCreate(document, settings.behavior);
  if (!fileExists(sandbox, fileId)) {
    throw apiError({
      status: 422,
      code: "no-such-file",
      detail: `There is no uploaded file ${fileId}.`,
      source: { pointer: "/data/attributes/file_id" },
    });
  }
  const place = { draftId, kind: kind.kind, fileId };
  const attachment = store.attachments.add(place, attributes) ?? attachAgain(sandbox, place, attributes);
  return respondWithAttachment(sandbox, attachment, settings.behavior.createStatus);
}

/** @throws ApiError 409 or 422, as the behavior settings say. */
function attachAgain(
  sandbox: SandboxContext,
  place: AttachmentKey,
  attributes: AttachmentAttributes,
): Attachment {
  const reading = sandbox.settings.behavior.doubleAttach;
  const attachment = reading === "accepted" ? sandbox.store.attachments.change(place, attributes) : undefined;
  if (attachment !== undefined) return attachment;
  throw apiError({
    status: reading === "invalid" ? 422 : 409,
    code: "already-attached",
    detail: `File ${place.fileId} is attached to draft ${place.draftId} already.`,
    source: { pointer: "/data/attributes/file_id" },
  });
}

async function updateAttachment(
  c: RequestContext,
  sandbox: SandboxContext,
  kind: FileKind,
): Promise<Response> {
  const { settings, store } = sandbox;
  const place = readKey(c, kind);
  const document = await readDocument(c, settings);
  checkDraft(sandbox, place.draftId);
  const found = store.attachments.find(place);
  if (found === undefined) throw notAttached(place);
  const attributes = kind.readUpdate(document, settings.behavior);
  if (attributes === undefined && settings.behavior.probe === "rejected") {
    throw apiError({
      status: 422,
      code: "nothing-to-update",
      detail: "An update must name at least one attribute.",
      source: { pointer: "" },
    });
  }
  const attachment = applyUpdate(sandbox, { found, attributes, method: c.env.incoming.method });
  if (attachment === undefined) throw notAttached(place);
  return respondWithAttachment(sandbox, attachment, settings.behavior.updateStatus);
}

interface Update {
  readonly found: Attachment;
  /** `undefined`: it names none. */
  readonly attributes: AttachmentAttributes | undefined;
  readonly method: string | undefined;
}

/** As the behavior settings say. */
function applyUpdate(sandbox: SandboxContext, { found, attributes, method }: Update): Attachment | undefined {
  const { attachments } = sandbox.store;
  const { put, probe } = sandbox.settings.behavior;
  const replaces = method === "PUT" && put === "replaces";
  if (replaces || (attributes === undefined && probe === "clears")) {
    return attachments.replace(found, attributes ?? {});
  }
  return attributes === undefined ? found : attachments.change(found, attributes);
}

async function deleteAttachment(
  c: RequestContext,
  sandbox: SandboxContext,
  kind: FileKind,
): Promise<Response> {
  const place = readKey(c, kind);
  await readUnusedBody(c, sandbox.settings);
  checkDraft(sandbox, place.draftId);
  if (!sandbox.store.attachments.remove(place)) throw notAttached(place);
  return answer(sandbox.settings.behavior.deleteStatus, { meta: {} });
}

function readKey(c: RequestContext, kind: FileKind): AttachmentKey {
  return { draftId: readPathId(c, "draft_id"), kind: kind.kind, fileId: readPathId(c, "id") };
}

function respondWithAttachment(sandbox: SandboxContext, attachment: Attachment, status: number): Response {
  return answer(status, { data: attachmentResource(attachment, sandbox.settings.behavior) });
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

function notAttached(place: AttachmentKey): ApiError {
  return apiError({
    status: 404,
    code: "not-attached",
    detail: `File ${place.fileId} is not attached to draft ${place.draftId}.`,
    source: { parameter: "id" },
  });
}

/** Whether there is a draft of that id. */
export function draftExists(sandbox: SandboxContext, draftId: number): boolean {
  const { drafts } = sandbox.settings;
  return drafts === "any" ? draftId > 0 : drafts.has(draftId);
}

/** A file existed before the sandbox, or an upload that succeeded made it. */
function fileExists(sandbox: SandboxContext, fileId: number): boolean {
  const { settings, store } = sandbox;
  if (existedBefore(fileId, settings.files)) return true;
  const upload = store.uploads.findByFile(fileId);
  return upload !== undefined && viewUpload(upload, settings).status === "success";
}
