import { describe, expect, test } from "vitest";
import { type Behavior, BehaviorSchema } from "../../src/sandbox/server.ts";
import { JSON_API, resourceOf } from "./support/call.ts";
import { freshId, nameOf, PAIRS } from "./support/interface.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const filePairs = (method: string) =>
  PAIRS.filter((pair) => pair.method === method && pair.path.startsWith("/api/drafts"));

test("behavior settings are parsed from command-line text, and every default is filled in", () => {
  expect(BehaviorSchema.parse({ updateStatus: "204", probe: "rejected" })).toEqual({
    dataId: "file",
    createStatus: 201,
    updateStatus: 204,
    deleteStatus: 204,
    uploadStatus: 201,
    productStatus: 201,
    probe: "rejected",
    put: "same",
    doubleAttach: "conflict",
    errors: "jsonapi",
    mediaTypes: "jsonapi",
    unknownAttributes: "refused",
    relationships: "present",
    unknownProducts: "found",
    uploadsQuery: "filter[id]",
  });
});

test.each([{ updateStatus: "404" }, { probe: "maybe" }, { probes: "allowed" }, { uploadsQuery: "" }])(
  "behavior settings reject %j",
  (wrong) => {
    expect(BehaviorSchema.safeParse(wrong).success).toBe(false);
  },
);

describe("dataId=other", () => {
  const { send } = useSandbox({ behavior: { dataId: "other" } });
  test.each(filePairs("PATCH").map((pair) => ({ name: nameOf(pair), pair })))(
    "$name — data.id differs from the file id, and the path uses the file id",
    async ({ pair }) => {
      const path = await pair.prepare(send);
      const fileId = path.split("/").at(-1);
      const { id, attributes } = resourceOf(await send({ method: "PATCH", path }));
      expect(String(attributes.file_id)).toBe(fileId);
      expect(id).toMatch(/^8\d{15}$/);
      const byOther = path.replace(/\d+$/, id);
      expect((await send({ method: "PATCH", path: byOther })).status).toBe(404);
    },
  );
});

const STATUSES: { setting: keyof Behavior; values: number[]; covers(name: string): boolean }[] = [
  {
    setting: "createStatus",
    values: [200, 202, 204],
    covers: (name) => /^POST .*_files$/.test(name),
  },
  { setting: "updateStatus", values: [202, 204], covers: (name) => /^(PATCH|PUT) /.test(name) },
  { setting: "deleteStatus", values: [200, 202], covers: (name) => name.startsWith("DELETE ") },
  {
    setting: "uploadStatus",
    values: [200, 202, 204],
    covers: (name) => name.startsWith("POST /api/uploads"),
  },
  {
    setting: "productStatus",
    values: [200, 202, 204],
    covers: (name) => name.startsWith("POST /api/products"),
  },
];

describe.each(STATUSES.flatMap(({ values, ...row }) => values.map((status) => ({ ...row, status }))))(
  "$setting=$status",
  ({ setting, status, covers }) => {
    const { send, sandbox } = useSandbox({ behavior: BehaviorSchema.parse({ [setting]: status }) });
    const covered = PAIRS.filter((pair) => covers(nameOf(pair)));

    test.each(covered.map((pair) => ({ name: nameOf(pair), pair })))(
      `$name — returns ${status} and takes effect`,
      async ({ name, pair }) => {
        const path = await pair.prepare(send);
        const before = sandbox().state();
        const response = await send({ method: pair.method, path, body: pair.example });
        expect(response.status).toBe(status);
        if (status === 204) expect(response.text).toBe("");
        else if (pair.method === "DELETE") expect(response.json).toEqual({ meta: {} });
        else expect(resourceOf(response).type).toBe(pair.expected.type);
        if (!name.endsWith("/credentials")) expect(sandbox().state()).not.toEqual(before);
      },
    );
  },
);

describe("probe=rejected", () => {
  const { send } = useSandbox({ behavior: { probe: "rejected" } });
  const updates = [...filePairs("PATCH"), ...filePairs("PUT")];
  test.each(updates.map((pair) => ({ name: nameOf(pair), pair })))(
    "$name — an update without attributes: 422; with attributes it works",
    async ({ pair }) => {
      const path = await pair.prepare(send);
      const bodies = [undefined, {}, { data: { type: pair.expected.type, attributes: {} } }];
      for (const body of bodies) {
        expect((await send({ method: pair.method, path, body })).status).toBe(422);
      }
      expect((await send({ method: pair.method, path, body: pair.example })).status).toBe(200);
    },
  );
});

describe("probe=clears", () => {
  const { send, sandbox } = useSandbox({ behavior: { probe: "clears" } });
  test.each(filePairs("PATCH").map((pair) => ({ name: nameOf(pair), pair })))(
    "$name — an update without attributes clears all of them; with attributes it keeps the others",
    async ({ pair }) => {
      const path = await pair.prepare(send);
      const attributesOf = () => sandbox().state().attachments.at(-1)?.attributes;
      expect((await send({ method: "PATCH", path, body: pair.example })).status).toBe(200);
      expect(attributesOf()).not.toEqual({});
      expect((await send({ method: "PATCH", path })).status).toBe(200);
      expect(attributesOf()).toEqual({});
    },
  );
});

describe("put", () => {
  const path = "/api/drafts/5/product_files/9";
  const body = (attributes: object) => ({ data: { type: "product_file", attributes } });
  const attach = { method: "POST", path: "/api/drafts/5/product_files" } as const;
  const replacing = useSandbox({ behavior: { put: "replaces" } });
  const refusing = useSandbox({ behavior: { put: "refused" } });

  test("PUT /api/drafts/:draft_id/product_files/:id — put=replaces clears attributes that are not sent", async () => {
    const { send, sandbox } = replacing;
    await send({ ...attach, body: body({ file_id: 9, file_format: "fbx", renderer: "arnold" }) });
    await send({ method: "PATCH", path, body: body({ renderer: "vray" }) });
    expect(sandbox().state().attachments[0]?.attributes).toEqual({ file_format: "fbx", renderer: "vray" });
    await send({ method: "PUT", path, body: body({ renderer: "arnold" }) });
    expect(sandbox().state().attachments[0]?.attributes).toEqual({ renderer: "arnold" });
  });

  test("PUT /api/drafts/:draft_id/product_files/:id — put=refused returns 405, and PATCH works", async () => {
    const { send } = refusing;
    await send({ ...attach, body: body({ file_id: 9 }) });
    const refused = await send({ method: "PUT", path, body: body({}) });
    expect([refused.status, refused.headers.allow]).toEqual([405, "PATCH, DELETE"]);
    expect((await send({ method: "PATCH", path, body: body({}) })).status).toBe(200);
  });
});

describe.each([
  { setting: "invalid" as const, status: 422 },
  { setting: "accepted" as const, status: 201 },
])("doubleAttach=$setting", ({ setting, status }) => {
  const { send, sandbox } = useSandbox({ behavior: { doubleAttach: setting } });
  test.each(filePairs("POST").map((pair) => ({ name: nameOf(pair), pair })))(
    `$name — a second time: ${status}, and the file is attached once`,
    async ({ pair }) => {
      const path = await pair.prepare(send);
      const body = { data: { type: pair.expected.type, attributes: { file_id: freshId() } } };
      expect((await send({ method: "POST", path, body })).status).toBe(201);
      expect((await send({ method: "POST", path, body })).status).toBe(status);
      const draftId = Number(path.split("/")[3]);
      expect(
        sandbox()
          .state()
          .attachments.filter((held) => held.draftId === draftId),
      ).toHaveLength(1);
    },
  );

  test(`POST /api/drafts/:draft_id/product_files — a second time ${setting === "accepted" ? "sets" : "keeps"} the attributes`, async () => {
    const draftId = freshId();
    const attach = (format: string) =>
      send({
        method: "POST",
        path: `/api/drafts/${draftId}/product_files`,
        body: { data: { type: "product_file", attributes: { file_id: 5, file_format: format } } },
      });
    await attach("fbx");
    await attach("obj");
    const held = sandbox()
      .state()
      .attachments.find((attachment) => attachment.draftId === draftId);
    expect(held?.attributes).toEqual({ file_format: setting === "accepted" ? "obj" : "fbx" });
  });
});

describe("errors=problem", () => {
  const { send } = useSandbox({ behavior: { errors: "problem" } });

  test("POST /api/drafts/:draft_id/product_files — problem+json with one pointer per error", async () => {
    const body = { data: { type: "product_file", attributes: { file_id: "5", is_native: 1 } } };
    const response = await send({ method: "POST", path: "/api/drafts/5/product_files", body });
    expect(response.status).toBe(422);
    expect(response.headers["content-type"]).toBe("application/problem+json");
    expect(response.json).toMatchObject({
      type: "about:blank",
      title: "Unprocessable Entity",
      status: 422,
      code: "wrong-type",
      errors: [{ pointer: "#/data/attributes/file_id" }, { pointer: "#/data/attributes/is_native" }],
    });
  });

  test.each([
    { method: "GET", path: "/api/products/abc", status: 400 },
    { method: "GET", path: "/api/uploads/nothing", status: 404 },
    { method: "GET", path: "/nothing", status: 404 },
    { method: "GET", path: "/api/products", status: 405 },
  ])("$method $path — $status as problem+json", async ({ method, path, status }) => {
    const response = await send({ method, path });
    expect(response.headers["content-type"]).toBe("application/problem+json");
    expect(response.json).toMatchObject({ status });
  });
});

describe("mediaTypes=strict", () => {
  const { send } = useSandbox({ behavior: { mediaTypes: "strict" } });
  const withBody = PAIRS.filter((pair) => pair.example !== undefined);

  test.each(withBody.map((pair) => ({ name: nameOf(pair), pair })))(
    "$name — Content-Type with a parameter: 415; without a parameter it works",
    async ({ pair }) => {
      const request = async (type: string) =>
        send({
          method: pair.method,
          path: await pair.prepare(send),
          body: pair.example,
          headers: { "content-type": type },
        });
      expect((await request(`${JSON_API}; charset=utf-8`)).status).toBe(415);
      expect((await request(JSON_API)).status).toBe(pair.expected.status);
    },
  );

  test.each(PAIRS.map((pair) => ({ name: nameOf(pair), pair })))(
    "$name — Accept with more than the version: 406; with only the version it works",
    async ({ pair }) => {
      const request = async (more: string) =>
        send({
          method: pair.method,
          path: await pair.prepare(send),
          body: pair.example,
          headers: { accept: `${JSON_API}; com.service.api.version=1${more}` },
        });
      expect((await request("; charset=utf-8")).status).toBe(406);
      expect((await request("; q=0.5")).status).toBe(pair.expected.status);
    },
  );
});

describe("uploadsQuery=ids", () => {
  const { send } = useSandbox({ behavior: { uploadsQuery: "ids" } });
  test("GET /api/uploads — reads the ids from that parameter only", async () => {
    const body = { data: { type: "upload", attributes: { upload_key: "incoming/a" } } };
    const { id } = resourceOf(await send({ method: "POST", path: "/api/uploads", body }));
    const good = await send({ method: "GET", path: `/api/uploads?ids=${id}` });
    expect(good.json).toMatchObject({ data: [{ id }] });
    expect((await send({ method: "GET", path: `/api/uploads?filter[id]=${id}` })).status).toBe(400);
  });
});
