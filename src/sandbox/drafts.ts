import type { Hono } from "hono";
import type { z } from "zod";
import {
  ProductFileCreate,
  ProductFileUpdate,
  PromotionalFileCreate,
  PromotionalFileUpdate,
} from "./body-schemas.ts";
import { answer, attachmentResource } from "./documents.ts";
import type { Env, RequestContext, World } from "./env.ts";
import { existedBefore } from "./id-ranges.ts";
import { readPathId } from "./path-ids.ts";
import type { Readings } from "./readings.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { readDocument, readUnusedBody } from "./request-body.ts";
import { addPath } from "./routing.ts";
import type {
  Attachment,
  AttachmentAttributes,
  AttachmentKind,
  AttachmentPlace,
} from "./store/attachments.ts";
import { viewUpload } from "./upload-status.ts";
import { checkDocument } from "./violations.ts";

/** How a kind of files reads its documents. */
interface FileKind {
  readonly kind: AttachmentKind;
  readonly path: string;
  readCreate(document: unknown, readings: Readings): { fileId: number; attributes: AttachmentAttributes };
  /** `undefined`: the document names no attribute. */
  readUpdate(document: unknown, readings: Readings): AttachmentAttributes | undefined;
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
    readCreate(document, readings) {
      const { file_id: fileId, ...fields } = checkDocument(rule.create, document, readings).data.attributes;
      return { fileId, attributes: present(fields) };
    },
    readUpdate(document, readings) {
      const attributes = present(checkDocument(rule.update, document, readings)?.data?.attributes ?? {});
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
export function addDraftPaths(app: Hono<Env>, world: World): void {
  for (const kind of KINDS) {
    const collection = `/api/drafts/:draft_id/${kind.path}`;
    const update = (c: RequestContext) => updateAttachment(c, world, kind);
    addPath(app, collection, { POST: (c) => createAttachment(c, world, kind) });
    addPath(app, `${collection}/:id`, {
      PATCH: update,
      ...(world.settings.readings.put === "refused" ? {} : { PUT: update }),
      DELETE: (c) => deleteAttachment(c, world, kind),
    });
  }
}

async function createAttachment(c: RequestContext, world: World, kind: FileKind): Promise<Response> {
  const { settings, store } = world;
  const draftId = readPathId(c, "draft_id");
  const document = await readDocument(c, settings);
  checkDraft(world, draftId);
  const { fileId, attributes } = kind.readCreate(document, settings.readings);
  if (!fileExists(world, fileId)) {
    throw refuse({
      status: 422,
      code: "no-such-file",
      detail: `There is no uploaded file ${fileId}.`,
      source: { pointer: "/data/attributes/file_id" },
    });
  }
  const place = { draftId, kind: kind.kind, fileId };
  const attachment = store.attachments.add(place, attributes) ?? attachAgain(world, place, attributes);
  return answerAttachment(world, attachment, settings.readings.createStatus);
}

/** @throws Refusal 409 or 422, as the readings have it. */
function attachAgain(world: World, place: AttachmentPlace, attributes: AttachmentAttributes): Attachment {
  const reading = world.settings.readings.doubleAttach;
  const attachment = reading === "accepted" ? world.store.attachments.change(place, attributes) : undefined;
  if (attachment !== undefined) return attachment;
  throw refuse({
    status: reading === "invalid" ? 422 : 409,
    code: "already-attached",
    detail: `File ${place.fileId} is attached to draft ${place.draftId} already.`,
    source: { pointer: "/data/attributes/file_id" },
  });
}

async function updateAttachment(c: RequestContext, world: World, kind: FileKind): Promise<Response> {
  const { settings, store } = world;
  const place = readPlace(c, kind);
  const document = await readDocument(c, settings);
  checkDraft(world, place.draftId);
  const found = store.attachments.find(place);
  if (found === undefined) throw notAttached(place);
  const attributes = kind.readUpdate(document, settings.readings);
  if (attributes === undefined && settings.readings.probe === "rejected") {
    throw refuse({
      status: 422,
      code: "nothing-to-update",
      detail: "An update must name at least one attribute.",
      source: { pointer: "" },
    });
  }
  const attachment = carryOutUpdate(world, { found, attributes, method: c.env.incoming.method });
  if (attachment === undefined) throw notAttached(place);
  return answerAttachment(world, attachment, settings.readings.updateStatus);
}

interface Update {
  readonly found: Attachment;
  /** `undefined`: it names none. */
  readonly attributes: AttachmentAttributes | undefined;
  readonly method: string | undefined;
}

/** As the readings have it. */
function carryOutUpdate(world: World, { found, attributes, method }: Update): Attachment | undefined {
  const { attachments } = world.store;
  const { put, probe } = world.settings.readings;
  const replaces = method === "PUT" && put === "replaces";
  if (replaces || (attributes === undefined && probe === "clears")) {
    return attachments.replace(found, attributes ?? {});
  }
  return attributes === undefined ? found : attachments.change(found, attributes);
}

async function deleteAttachment(c: RequestContext, world: World, kind: FileKind): Promise<Response> {
  const place = readPlace(c, kind);
  await readUnusedBody(c, world.settings);
  checkDraft(world, place.draftId);
  if (!world.store.attachments.remove(place)) throw notAttached(place);
  return answer(world.settings.readings.deleteStatus, { meta: {} });
}

function readPlace(c: RequestContext, kind: FileKind): AttachmentPlace {
  return { draftId: readPathId(c, "draft_id"), kind: kind.kind, fileId: readPathId(c, "id") };
}

function answerAttachment(world: World, attachment: Attachment, status: number): Response {
  return answer(status, { data: attachmentResource(attachment, world.settings.readings) });
}

function checkDraft(world: World, draftId: number): void {
  if (draftExists(world, draftId)) return;
  throw refuse({
    status: 404,
    code: "no-such-draft",
    detail: `There is no draft ${draftId}.`,
    source: { parameter: "draft_id" },
  });
}

function notAttached(place: AttachmentPlace): Refusal {
  return refuse({
    status: 404,
    code: "not-attached",
    detail: `File ${place.fileId} is not attached to draft ${place.draftId}.`,
    source: { parameter: "id" },
  });
}

/** Whether there is a draft of that id. */
export function draftExists(world: World, draftId: number): boolean {
  const { drafts } = world.settings;
  return drafts === "any" ? draftId > 0 : drafts.has(draftId);
}

/** A file existed before the sandbox, or an upload that succeeded made it. */
function fileExists(world: World, fileId: number): boolean {
  const { settings, store } = world;
  if (existedBefore(fileId, settings.files)) return true;
  const upload = store.uploads.findByFile(fileId);
  return upload !== undefined && viewUpload(upload, settings).status === "success";
}
