import { describe, expect, test } from "vitest";
import { errorsOf, resourceOf } from "./support/call.ts";
import { freshId } from "./support/interface.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const KINDS = [
  {
    kind: "product_file" as const,
    collection: "/api/drafts/:draft_id/product_files",
    first: { file_format: "fbx", is_native: true },
    change: { file_format: "", renderer: "arnold" },
    after: {
      file_format: "",
      format_version: null,
      renderer: "arnold",
      renderer_version: null,
      is_native: true,
    },
  },
  {
    kind: "promotional_file" as const,
    collection: "/api/drafts/:draft_id/promotional_files",
    first: { description: "Hero" },
    change: { description: "Hero, lit from the left" },
    after: { description: "Hero, lit from the left" },
  },
];

const { send, sandbox } = useSandbox();

describe.each(KINDS)("$collection", ({ kind, collection, first, change, after }) => {
  const document = (attributes?: object) => ({ data: { type: kind, attributes } });
  const pathOf = (draft: number) => collection.replace(":draft_id", String(draft));

  async function attach() {
    const place = { draftId: freshId(), kind, fileId: freshId() };
    const path = pathOf(place.draftId);
    const body = document({ file_id: place.fileId, ...first });
    const response = await send({ method: "POST", path, body });
    return { place, path, response, body, one: `${path}/${place.fileId}` };
  }
  const heldAt = (draft: number) =>
    sandbox()
      .state()
      .attachments.filter((attachment) => attachment.draftId === draft)
      .map(({ draftId, kind: held, fileId, attributes }) => ({ draftId, kind: held, fileId, attributes }));

  test(`POST ${collection} — attaches and returns every field, null if it was not sent`, async () => {
    const { place, response } = await attach();
    const nothing = Object.fromEntries(Object.keys(after).map((name) => [name, null]));
    expect(response.json).toEqual({
      data: {
        type: kind,
        id: String(place.fileId),
        attributes: { file_id: place.fileId, ...nothing, ...first },
      },
    });
    expect(heldAt(place.draftId)).toEqual([{ ...place, attributes: first }]);
  });

  test(`POST ${collection} — a second time: 409, and the first attachment is unchanged`, async () => {
    const { place, path } = await attach();
    const again = await send({ method: "POST", path, body: document({ file_id: place.fileId, ...change }) });
    expect(again.status).toBe(409);
    expect(errorsOf(again)).toMatchObject([
      { code: "already-attached", source: { pointer: "/data/attributes/file_id" } },
    ]);
    expect(heldAt(place.draftId)).toEqual([{ ...place, attributes: first }]);
  });

  test(`POST ${collection} — the same file on another draft or as the other kind is a separate attachment`, async () => {
    const { place } = await attach();
    const other = kind === "product_file" ? "promotional_file" : "product_file";
    const elsewhere = await send({
      method: "POST",
      path: pathOf(freshId()),
      body: document({ file_id: place.fileId }),
    });
    const otherwise = await send({
      method: "POST",
      path: `/api/drafts/${place.draftId}/${other}s`,
      body: { data: { type: other, attributes: { file_id: place.fileId } } },
    });
    expect([elsewhere.status, otherwise.status]).toEqual([201, 201]);
  });

  test(`POST ${collection} — a file that was never uploaded: 422`, async () => {
    const body = document({ file_id: 9_000_000_001_234 });
    const response = await send({ method: "POST", path: pathOf(freshId()), body });
    expect(response.status).toBe(422);
    expect(errorsOf(response)).toMatchObject([
      { code: "no-such-file", source: { pointer: "/data/attributes/file_id" } },
    ]);
  });

  describe.each(["PATCH", "PUT"])("%s", (method) => {
    const name = `${method} ${collection}/:id`;

    test(`${name} — sets the sent attributes and keeps the others`, async () => {
      const { place, one } = await attach();
      const response = await send({ method, path: one, body: document(change) });
      expect(response.json).toEqual({
        data: { type: kind, id: String(place.fileId), attributes: { file_id: place.fileId, ...after } },
      });
      expect(heldAt(place.draftId)).toEqual([{ ...place, attributes: { ...first, ...change } }]);
    });

    test.each([
      ["no body", undefined],
      ["an empty object", {}],
      ["data without attributes", document()],
      ["empty attributes", document({})],
    ])(`${name} — %s changes nothing and returns the resource (the probe)`, async (_, body) => {
      const { place, one, response: created } = await attach();
      const response = await send({ method, path: one, body });
      expect(response.status).toBe(200);
      expect(response.json).toEqual(created.json);
      expect(heldAt(place.draftId)).toEqual([{ ...place, attributes: first }]);
    });

    test(`${name} — file_id in an update: 422`, async () => {
      const { place, one } = await attach();
      const response = await send({
        method,
        path: one,
        body: document({ ...change, file_id: place.fileId }),
      });
      expect(response.status).toBe(422);
      expect(errorsOf(response)).toMatchObject([
        { code: "unknown-field", source: { pointer: "/data/attributes/file_id" } },
      ]);
      expect(heldAt(place.draftId)).toEqual([{ ...place, attributes: first }]);
    });

    test(`${name} — a file that is not attached: 404`, async () => {
      const { path } = await attach();
      const response = await send({ method, path: `${path}/${freshId()}`, body: document(change) });
      expect(response.status).toBe(404);
      expect(errorsOf(response)).toMatchObject([{ code: "not-attached", source: { parameter: "id" } }]);
    });
  });

  test(`DELETE ${collection}/:id — detaches once and returns no body`, async () => {
    const { place, one, path, body } = await attach();
    const response = await send({ method: "DELETE", path: one });
    expect([response.status, response.text]).toEqual([204, ""]);
    expect(heldAt(place.draftId)).toEqual([]);
    expect((await send({ method: "DELETE", path: one })).status).toBe(404);
    expect((await send({ method: "POST", path, body })).status).toBe(201);
  });

  test(`PATCH ${collection}/:id — returns changes made by another client`, async () => {
    const { place, one } = await attach();
    sandbox().edit(place, change);
    expect(resourceOf(await send({ method: "PATCH", path: one })).attributes).toMatchObject(after);
    sandbox().detach(place);
    expect((await send({ method: "PATCH", path: one })).status).toBe(404);
    expect(() => sandbox().edit(place, change)).toThrow(/not attached/);
    sandbox().attach(place, first);
    expect(resourceOf(await send({ method: "PATCH", path: one })).attributes).toMatchObject(first);
    expect(() => sandbox().attach(place)).toThrow(/attached already/);
  });
});

describe("sandbox with a list of drafts and files", () => {
  const { send: ask } = useSandbox({ drafts: [48213], files: [9900011] });
  const rows = KINDS.flatMap(({ kind, collection }) => [
    { kind, name: `POST ${collection}`, method: "POST", tail: "", body: { file_id: 9900011 } },
    { kind, name: `PATCH ${collection}/:id`, method: "PATCH", tail: "/9900011", body: {} },
    { kind, name: `PUT ${collection}/:id`, method: "PUT", tail: "/9900011", body: {} },
    { kind, name: `DELETE ${collection}/:id`, method: "DELETE", tail: "/9900011", body: undefined },
  ]);

  test.each(rows)(
    "$name — an unlisted draft: 404; a listed draft works",
    async ({ kind, method, tail, body }) => {
      const document = body && { data: { type: kind, attributes: body } };
      const at = (draft: number) =>
        ask({ method, path: `/api/drafts/${draft}/${kind}s${tail}`, body: document });
      const unknown = await at(48214);
      expect(unknown.status).toBe(404);
      expect(errorsOf(unknown)).toMatchObject([{ code: "no-such-draft", source: { parameter: "draft_id" } }]);
      expect((await at(48213)).status).toBeLessThan(300);
    },
  );

  test.each(KINDS)("POST $collection — an unlisted file: 422", async ({ kind }) => {
    const body = { data: { type: kind, attributes: { file_id: 9900012 } } };
    expect((await ask({ method: "POST", path: `/api/drafts/48213/${kind}s`, body })).status).toBe(422);
  });
});
