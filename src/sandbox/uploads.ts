import type { Hono } from "hono";
import { checkDocument, UploadCreate } from "./body-schemas.ts";
import { credentialResource, respond, type UploadView, uploadResource } from "./documents.ts";
import type { Env, RequestContext, SandboxContext } from "./env.ts";
import { apiError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { addPath, readDocument, receiveBody } from "./requests.ts";
import { BUCKET } from "./storage/responses.ts";
import type { Upload } from "./store.ts";

/** The maximum number of ids in one call. */
const PAGE = 50;

/** Keys with this prefix count as already in object storage, although no bytes are kept for them. */
const PRELOADED_PREFIX = "incoming/";

/** Adds the four method-and-path pairs of uploads (document, 4.3). */
export function addUploadPaths(app: Hono<Env>, sandbox: SandboxContext): void {
  addPath(app, "/api/uploads/credentials", { POST: (c) => createCredentials(c, sandbox) });
  addPath(app, "/api/uploads", {
    POST: (c) => createUpload(c, sandbox),
    GET: (c) => getUploads(c, sandbox),
  });
  addPath(app, "/api/uploads/:id", { GET: (c) => getUpload(c, sandbox) });
}

async function createCredentials(c: RequestContext, { settings, store }: SandboxContext): Promise<Response> {
  await receiveBody(c, settings);
  const session = store.sessions.open(settings.now() + settings.credentialsLifetimeMs);
  const endpoint = `http://${c.env.incoming.headers.host}`;
  return respond(settings.behavior.uploadStatus, {
    data: credentialResource(session, { endpoint, bucket: BUCKET, region: "us-east-1" }),
  });
}

async function createUpload(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const { settings, store } = sandbox;
  const { data } = checkDocument(UploadCreate, await readDocument(c, settings), settings.behavior);
  const uploadKey = data.attributes.upload_key ?? null;
  const upload = store.uploads.add({
    uploadKey,
    failure: failureOf(sandbox, uploadKey),
    createdAt: Math.trunc(settings.now()),
  });
  return respond(
    settings.behavior.uploadStatus,
    { data: uploadResource(viewUpload(upload, settings)) },
    { location: `/api/uploads/${upload.id}` },
  );
}

/** Why an upload will fail, or `null`. The document makes the key optional; an upload without one fails. */
function failureOf(sandbox: SandboxContext, uploadKey: string | null): string | null {
  if (uploadKey === null) return "The upload names no upload_key.";
  const preloaded = uploadKey.startsWith(PRELOADED_PREFIX) && uploadKey !== PRELOADED_PREFIX;
  if (preloaded || sandbox.store.objects.find(uploadKey) !== undefined) return null;
  return `There is no object ${JSON.stringify(uploadKey)} in storage.`;
}

/**
 * The status of an upload, computed when it is read:
 *
 *     created ──── queued ──── half the time ──── processing ──── the time is over ──┬── success, file_id
 *                                                                                    └── failed, message
 */
export function viewUpload(upload: Upload, settings: Settings): UploadView {
  const elapsed = settings.now() - upload.createdAt;
  const base = { id: upload.id, uploadKey: upload.uploadKey, fileId: null, message: null };
  if (elapsed < settings.uploadProcessingMs / 2) return { ...base, status: "queued" };
  if (elapsed < settings.uploadProcessingMs) return { ...base, status: "processing" };
  if (upload.failure !== null) return { ...base, status: "failed", message: upload.failure };
  return { ...base, status: "success", fileId: upload.fileId };
}

function getUpload(c: RequestContext, { settings, store }: SandboxContext): Response {
  const id = c.req.param("id") ?? "";
  const upload = store.uploads.find(id);
  if (upload === undefined) {
    throw apiError({
      status: 404,
      code: "no-such-upload",
      detail: `There is no upload ${JSON.stringify(id)}.`,
      source: { parameter: "id" },
    });
  }
  return respond(200, { data: uploadResource(viewUpload(upload, settings)) });
}

/** The requested uploads that exist, each once, in the requested order. */
function getUploads(c: RequestContext, { settings, store }: SandboxContext): Response {
  const ids = readIds(c, settings.behavior.uploadsQuery);
  const found = ids.flatMap((id) => store.uploads.find(id) ?? []);
  return respond(200, { data: found.map((upload) => uploadResource(viewUpload(upload, settings))) });
}

function readIds(c: RequestContext, parameter: string): string[] {
  const refused = (code: string, detail: string) =>
    apiError({ status: 400, code, detail, source: { parameter } });
  const ids = new Set(
    (c.req.queries(parameter) ?? []).flatMap((list) => list.split(",")).filter((id) => id !== ""),
  );
  if (ids.size === 0) throw refused("ids-missing", `The query parameter ${parameter} must list upload ids.`);
  if (ids.size > PAGE)
    throw refused("too-many-ids", `The query parameter ${parameter} takes at most ${PAGE} ids.`);
  return [...ids];
}
