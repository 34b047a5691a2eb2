import type { Hono } from "hono";
import { UploadCreate } from "./body-schemas.ts";
import { answer, credentialResource, uploadResource } from "./documents.ts";
import type { Env, RequestContext, World } from "./env.ts";
import { PRELOADED_PREFIX } from "./id-ranges.ts";
import { refuse } from "./refusal.ts";
import { readDocument, readUnusedBody } from "./request-body.ts";
import { addPath } from "./routing.ts";
import { BUCKET, REGION } from "./storage/place.ts";
import { viewUpload } from "./upload-status.ts";
import { checkDocument } from "./violations.ts";

/** The most ids one call may ask for. */
const PAGE = 50;

/** Puts the four method-and-path pairs of uploads in place (document, 4.3). */
export function addUploadPaths(app: Hono<Env>, world: World): void {
  addPath(app, "/api/uploads/credentials", { POST: (c) => createCredentials(c, world) });
  addPath(app, "/api/uploads", {
    POST: (c) => createUpload(c, world),
    GET: (c) => getUploads(c, world),
  });
  addPath(app, "/api/uploads/:id", { GET: (c) => getUpload(c, world) });
}

async function createCredentials(c: RequestContext, world: World): Promise<Response> {
  const { settings, store } = world;
  await readUnusedBody(c, settings);
  const session = store.sessions.open(settings.now() + settings.credentialsLifetimeMs);
  const endpoint = `http://${c.env.incoming.headers.host}`;
  return answer(settings.readings.uploadStatus, {
    data: credentialResource(session, { endpoint, bucket: BUCKET, region: REGION }),
  });
}

async function createUpload(c: RequestContext, world: World): Promise<Response> {
  const { settings, store } = world;
  const { data } = checkDocument(UploadCreate, await readDocument(c, settings), settings.readings);
  const uploadKey = data.attributes.upload_key ?? null;
  const upload = store.uploads.add({
    uploadKey,
    failure: failureOf(world, uploadKey),
    createdAt: Math.trunc(settings.now()),
  });
  return answer(
    settings.readings.uploadStatus,
    { data: uploadResource(viewUpload(upload, settings)) },
    { location: `/api/uploads/${upload.id}` },
  );
}

/** Why an upload of that key will fail, or `null`. The document lets the key be left out; nothing comes of it then. */
function failureOf(world: World, uploadKey: string | null): string | null {
  if (uploadKey === null) return "The upload names no upload_key.";
  const preloaded = uploadKey.startsWith(PRELOADED_PREFIX) && uploadKey.length > PRELOADED_PREFIX.length;
  if (preloaded || world.store.objects.find(uploadKey) !== undefined) return null;
  return `There is no object ${JSON.stringify(uploadKey)} in storage.`;
}

function getUpload(c: RequestContext, world: World): Response {
  const id = c.req.param("id") ?? "";
  const upload = world.store.uploads.find(id);
  if (upload === undefined) {
    throw refuse({
      status: 404,
      code: "no-such-upload",
      detail: `There is no upload ${JSON.stringify(id)}.`,
      source: { parameter: "id" },
    });
  }
  return answer(200, { data: uploadResource(viewUpload(upload, world.settings)) });
}

/** The uploads asked for that exist, each once, in the order asked for. */
function getUploads(c: RequestContext, world: World): Response {
  const { settings, store } = world;
  const ids = readIds(c, settings.readings.uploadsQuery);
  const found = ids.flatMap((id) => store.uploads.find(id) ?? []);
  return answer(200, { data: found.map((upload) => uploadResource(viewUpload(upload, settings))) });
}

function readIds(c: RequestContext, parameter: string): string[] {
  const refused = (code: string, detail: string) =>
    refuse({ status: 400, code, detail, source: { parameter } });
  const ids = new Set(
    (c.req.queries(parameter) ?? []).flatMap((list) => list.split(",")).filter((id) => id !== ""),
  );
  if (ids.size === 0) throw refused("ids-missing", `The query parameter ${parameter} must list upload ids.`);
  if (ids.size > PAGE)
    throw refused("too-many-ids", `The query parameter ${parameter} takes at most ${PAGE} ids.`);
  return [...ids];
}
