import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Passing } from "../../support/faulty-proxy.ts";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

/** Texts as JSON. */
const hostile = [
  ["a NUL", '"a\\u0000b"'],
  ["half of a surrogate pair", '"a\\ud800b"'],
  ["an escape sequence", '"a\\u001b[31mb"'],
  ["a megabyte", JSON.stringify("x".repeat(1_000_000))],
] as const;

const attachment = "draft: 1\nproduct_files: [{ file_id: 10 }]\n";
const publication = "draft: 1\npublish: true\n";
const upload = "draft: 1\nproduct_files: [{ source: ../a.glb }]\n";

/** Applies a manifest while every call, or every call to `path`, gets this response. */
async function applyWith(
  manifest: string,
  response: { readonly status: number; readonly carriedOut?: boolean; readonly body: string },
  path?: string,
) {
  await world.write(manifest, { "a.glb": "content" });
  const matches = (request: Passing) =>
    path === undefined || (request.method === "POST" && request.path === path);
  world.proxy.choose = (request) => (matches(request) ? { type: "answer", ...response } : undefined);
  return (await world.apply()).totals;
}

test.each([200, 2_000, 4_000, 8_000])("records a refusal nested %i levels deep", async (levels) => {
  const body = `{"errors":[{"title":"No","meta":${"[".repeat(levels)}${"]".repeat(levels)}}]}`;
  expect(await applyWith(attachment, { status: 403, body })).toMatchObject({ failed: 1, in_doubt: 0 });
  expect((await world.ledger.load()).inDoubt).toEqual([]);
});

describe.each(hostile)("response with %s", (_name, text) => {
  test("is recorded as a refusal", async () => {
    const body = `{"errors":[{"title":${text},"code":${text},"source":{"pointer":${text}},${text}:${text}}]}`;
    expect(await applyWith(attachment, { status: 403, body })).toMatchObject({ failed: 1, in_doubt: 0 });
  });

  test("is recorded and planned for a publish in doubt", async () => {
    const body = `{"errors":[{"detail":${text}}]}`;
    expect(await applyWith(publication, { status: 500, body })).toMatchObject({ failed: 0, in_doubt: 1 });
    expect((await world.plan()).changes).toMatchObject([{ action: "in_doubt" }]);
  });

  test("is recorded as an attribute of an attachment", async () => {
    const body = `{"data":{"type":"product_file","id":"7","attributes":{"renderer":${text}}}}`;
    expect(await applyWith(attachment, { status: 201, carriedOut: true, body })).toMatchObject({ done: 1 });
    expect((await world.plan()).changes).toEqual([]);
  });

  test("is rejected as the id of an upload, and not recorded", async () => {
    const body = `{"data":{"type":"upload","id":${text},"attributes":{"status":"success","file_id":10}}}`;
    const totals = await applyWith(upload, { status: 201, body }, "/api/uploads");
    expect(totals).toMatchObject({ failed: 1, in_doubt: 0 });
    expect((await world.ledger.load()).uploads).toEqual([]);
    world.proxy.choose = () => undefined;
    expect((await world.apply()).totals).toMatchObject({ done: 1 });
  });

  test("is rejected as the key prefix of credentials, and nothing is stored", async () => {
    const attributes = `{"bucket":"b","access_key":"a","secret_key":"s","key_prefix":${text}}`;
    const body = `{"data":{"type":"upload_credential","attributes":${attributes}}}`;
    const totals = await applyWith(upload, { status: 201, body }, "/api/uploads/credentials");
    expect(totals).toMatchObject({ failed: 1, in_doubt: 0 });
    expect(new Set(world.requests())).toEqual(new Set(["POST /api/uploads/credentials"]));
  });

  test("is reported as the status and message of a failed upload", async () => {
    const body = `{"data":{"type":"upload","id":"u1","attributes":{"status":${text},"message":${text}}}}`;
    expect(await applyWith(upload, { status: 201, body }, "/api/uploads")).toMatchObject({ failed: 1 });
  });
});
