import { describe, expect, test } from "vitest";
import { errorsOf, resourceOf } from "./support/call.ts";
import { freshId } from "./support/interface.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const upload = (key?: string) => ({
  method: "POST",
  path: "/api/uploads",
  body: { data: { type: "upload", attributes: key === undefined ? {} : { upload_key: key } } },
});

describe("POST /api/uploads/credentials", () => {
  let time = Date.UTC(2030, 0, 1);
  const { send, sandbox } = useSandbox({ now: () => time, credentialsLifetimeMs: 900_000 });

  test("POST /api/uploads/credentials — returns session credentials for the sandbox's own storage", async () => {
    const response = await send({ method: "POST", path: "/api/uploads/credentials" });
    expect(response.status).toBe(201);
    expect(resourceOf(response)).toEqual({
      type: "upload_credential",
      id: expect.any(String),
      attributes: {
        key_prefix: expect.stringMatching(/^uploads\/\w+\/$/),
        bucket: "draftsync-sandbox",
        region: "us-east-1",
        access_key: expect.stringMatching(/^ASIA[0-9A-F]{16}$/),
        secret_key: expect.stringMatching(/^.{40}$/),
        session_token: expect.stringMatching(/^.{64}$/),
        expiration: "2030-01-01T00:15:00.000Z",
        endpoint: sandbox().url,
      },
    });
  });

  test("POST /api/uploads/credentials — each call opens another session with the same prefix", async () => {
    const read = async () => resourceOf(await send({ method: "POST", path: "/api/uploads/credentials" }));
    const first = await read();
    time += 60_000;
    const second = await read();
    expect(second.attributes.key_prefix).toBe(first.attributes.key_prefix);
    expect(second.attributes.expiration).toBe("2030-01-01T00:16:00.000Z");
    for (const name of ["access_key", "secret_key", "session_token"]) {
      expect(second.attributes[name]).not.toBe(first.attributes[name]);
    }
  });

  test("POST /api/uploads/credentials — a body is ignored", async () => {
    const response = await send({ method: "POST", path: "/api/uploads/credentials", body: { data: 5 } });
    expect(response.status).toBe(201);
  });
});

describe("upload statuses", () => {
  let time = 1_000_000;
  const { send } = useSandbox({ now: () => time, uploadProcessingMs: 100 });
  const get = async (id: string) =>
    resourceOf(await send({ method: "GET", path: `/api/uploads/${id}` })).attributes;

  test("GET /api/uploads/:id — queued, processing, then success with the id of a new file", async () => {
    const created = await send(upload("incoming/turntable.mp4"));
    const { id, attributes } = resourceOf(created);
    expect(created.headers.location).toBe(`/api/uploads/${id}`);
    expect(attributes).toEqual({ upload_key: "incoming/turntable.mp4", status: "queued" });
    time += 49;
    expect((await get(id)).status).toBe("queued");
    time += 1;
    expect(await get(id)).toEqual({ upload_key: "incoming/turntable.mp4", status: "processing" });
    time += 49;
    expect((await get(id)).status).toBe("processing");
    time += 1;
    expect(await get(id)).toEqual({
      upload_key: "incoming/turntable.mp4",
      status: "success",
      file_id: expect.any(Number),
    });
    expect((await get(id)).file_id).toBeGreaterThan(9_000_000_000);
  });

  test.each([
    ["without an object", "uploads/nothing-there", /no object "uploads\/nothing-there"/],
    ["that is the bare prefix", "incoming/", /no object/],
    ["that is missing", undefined, /no upload_key/],
  ])("POST /api/uploads — a key %s: the upload fails with a message", async (_, key, message) => {
    const { id, attributes } = resourceOf(await send(upload(key)));
    expect(attributes).toEqual({ upload_key: key ?? null, status: "queued" });
    time += 100;
    expect(await get(id)).toEqual({
      upload_key: key ?? null,
      status: "failed",
      message: expect.stringMatching(message),
    });
  });

  test("POST /api/uploads — the same key again is another upload and another file", async () => {
    const ids = [
      resourceOf(await send(upload("incoming/a"))).id,
      resourceOf(await send(upload("incoming/a"))).id,
    ];
    time += 100;
    const files = await Promise.all(ids.map(async (id) => (await get(id)).file_id));
    expect(new Set([...ids, ...files]).size).toBe(4);
  });

  test("POST /api/drafts/:draft_id/product_files — accepts the file of an upload only after it succeeded", async () => {
    const done = resourceOf(await send(upload("incoming/a"))).id;
    const failed = resourceOf(await send(upload("nothing"))).id;
    time += 100;
    const made = Number((await get(done)).file_id);
    expect((await get(failed)).status).toBe("failed");
    const attach = (fileId: number) =>
      send({
        method: "POST",
        path: `/api/drafts/${freshId()}/product_files`,
        body: { data: { type: "product_file", attributes: { file_id: fileId } } },
      });
    expect((await attach(made)).status).toBe(201);
    expect((await attach(made + 1)).status).toBe(422);
    const late = resourceOf(await send(upload("incoming/b"))).id;
    expect((await attach(made + 2)).status).toBe(422);
    time += 100;
    expect((await get(late)).file_id).toBe(made + 2);
    expect((await attach(made + 2)).status).toBe(201);
  });
});

describe("GET /api/uploads", () => {
  const { send } = useSandbox();
  const make = async () => resourceOf(await send(upload("incoming/x"))).id;
  const list = (query: string) => send({ method: "GET", path: `/api/uploads${query}` });
  const idsOf = (response: Awaited<ReturnType<typeof list>>) =>
    [...response.text.matchAll(/"type":"upload","id":"([^"]+)"/g)].map(([, id]) => id);

  test("GET /api/uploads/:id — an unknown id: 404", async () => {
    const response = await send({ method: "GET", path: "/api/uploads/nothing" });
    expect(response.status).toBe(404);
    expect(errorsOf(response)).toMatchObject([{ code: "no-such-upload", source: { parameter: "id" } }]);
  });

  test("GET /api/uploads — returns each existing upload once, in the requested order", async () => {
    const [a, b, c] = [await make(), await make(), await make()];
    const response = await list(`?filter[id]=${c},nothing,${a},${c}`);
    expect(response.status).toBe(200);
    expect(idsOf(response)).toEqual([c, a]);
    expect(idsOf(await list(`?filter%5Bid%5D=${b}%2C${c}`))).toEqual([b, c]);
    expect((await list("?filter[id]=nothing")).json).toEqual({ data: [] });
  });

  test.each([
    ["no parameter", ""],
    ["another parameter", "?ids=a"],
    ["no ids", "?filter[id]="],
    ["only commas", "?filter[id]=,,"],
    ["51 ids", `?filter[id]=${Array.from({ length: 51 }, (_, at) => at).join(",")}`],
  ])("GET /api/uploads — %s: 400", async (_, query) => {
    const response = await list(query);
    expect(response.status).toBe(400);
    expect(errorsOf(response)).toMatchObject([{ source: { parameter: "filter[id]" } }]);
  });

  test("GET /api/uploads — accepts fifty ids", async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, make));
    expect(idsOf(await list(`?filter[id]=${ids.join(",")}`))).toEqual(ids);
  });
});
