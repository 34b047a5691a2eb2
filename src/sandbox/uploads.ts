import type { Hono } from "hono";
import { apiError } from "./api-error.ts";
import { UploadCreate } from "./body-schemas.ts";
import { answer, credentialResource, uploadResource } from "./documents.ts";
import type { Env, RequestContext, SandboxContext } from "./env.ts";
import { PRELOADED_PREFIX } from "./id-ranges.ts";
import { readDocument, readUnusedBody } from "./request-body.ts";
import { addPath } from "./routing.ts";
import { BUCKET, REGION } from "./storage/place.ts";
import { viewUpload } from "./upload-status.ts";
import { checkDocument } from "./violations.ts";

/** The most ids one call may ask for. */
const PAGE = 50;

/** Puts the four method-and-path pairs of uploads in place (document, 4.3). */
export function addUploadPaths(app: Hono<Env>, sandbox: SandboxContext): void {
  addPath(app, "/api/uploads/credentials", { POST: (c) => createCredentials(c, sandbox) });
  addPath(app, "/api/uploads", {
    POST: (c) => createUpload(c, sandbox),
    GET: (c) => getUploads(c, sandbox),
  });
  addPath(app, "/api/uploads/:id", { GET: (c) => getUpload(c, sandbox) });
}

async function createCredentials(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const { settings, store } = sandbox;
  await readUnusedBody(c, settings);
  const session = store.sessions.open(settings.now() + settings.credentialsLifetimeMs);
  const endpoint = `http://${c.env.incoming.headers.host}`;
  return answer(settings.behavior.uploadStatus, {
    data: credentialResource(session, { endpoint, bucket: BUCKET, region: REGION }),
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
  return answer(
    settings.behavior.uploadStatus,
    { data: uploadResource(viewUpload(upload, settings)) },
    { location: `/api/uploads/${upload.id}` },
  );
}

/** Why an upload of that key will fail, or `null`. The document lets the key be left out; nothing comes of it then. */
function failureOf(sandbox: SandboxContext, uploadKey: string | null): string | null {
  if (uploadKey === null) return "The upload names no upload_key.";
  const preloaded = uploadKey.startsWith(PRELOADED_PREFIX) && uploadKey.length > PRELOADED_PREFIX.length;
  if (preloaded || sandbox.store.objects.find(uploadKey) !== undefined) return null;
  return `There is no object ${JSON.stringify(uploadKey)} in storage.`;
}

function getUpload(c: RequestContext, sandbox: SandboxContext): Response {
  const id = c.req.param("id") ?? "";
  const upload = sandbox.store.uploads.find(id);
  if (upload === undefined) {
    throw apiError({
      status: 404,
      code: "no-such-upload",
      detail: `There is no upload ${JSON.stringify(id)}.`,
      source: { parameter: "id" },
    });
  }
  return answer(200, { data: uploadResource(viewUpload(upload, sandbox.settings)) });
}

/** The uploads asked for that exist, each once, in the order asked for. */
function getUploads(c: RequestContext, sandbox: SandboxContext): Response {
  const { settings, store } = sandbox;
  const ids = readIds(c, settings.behavior.uploadsQuery);
  const found = ids.flatMap((id) => store.uploads.find(id) ?? []);
  return answer(200, { data: found.map((upload) => uploadResource(viewUpload(upload, settings))) });
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
