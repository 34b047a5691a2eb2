import { afterEach, beforeEach, expect, test } from "vitest";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

const hostile = [
  ["a NUL", '"a\\u0000b"'],
  ["half of a surrogate pair", '"a\\ud800b"'],
  ["an escape sequence", '"a\\u001b[31mb"'],
  ["a megabyte", JSON.stringify("x".repeat(1_000_000))],
] as const;

test.each([200, 2_000, 4_000, 8_000])("records a refusal nested %i levels deep", async (levels) => {
  await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
  const body = `{"errors":[{"title":"No","meta":${"[".repeat(levels)}${"]".repeat(levels)}}]}`;
  world.proxy.choose = () => ({ type: "answer", status: 403, body });
  expect((await world.apply()).totals).toMatchObject({ failed: 1, in_doubt: 0 });
  expect((await world.ledger.load()).inDoubt).toEqual([]);
});

test.each(hostile)("records a refusal that contains %s", async (_name, text) => {
  await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
  const body = `{"errors":[{"title":${text},"code":${text},"source":{"pointer":${text}},${text}:${text}}]}`;
  world.proxy.choose = () => ({ type: "answer", status: 403, body });
  expect((await world.apply()).totals).toMatchObject({ failed: 1, in_doubt: 0 });
});

test.each(hostile)("records and plans a publish in doubt whose response contains %s", async (_name, text) => {
  await world.write("draft: 1\npublish: true\n");
  const body = `{"errors":[{"detail":${text}}]}`;
  world.proxy.choose = () => ({ type: "answer", status: 500, body });
  expect((await world.apply()).totals).toMatchObject({ failed: 0, in_doubt: 1 });
  expect((await world.plan()).changes).toMatchObject([{ action: "in_doubt" }]);
});

test.each(hostile)("records an attachment whose response has %s in an attribute", async (_name, text) => {
  await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
  const body = `{"data":{"type":"product_file","id":"7","attributes":{"renderer":${text}}}}`;
  world.proxy.choose = () => ({ type: "answer", status: 201, carriedOut: true, body });
  expect((await world.apply()).totals).toMatchObject({ done: 1 });
  expect((await world.plan()).changes).toEqual([]);
});

test.each(hostile)("rejects an upload whose id is %s, and records nothing of it", async (_name, text) => {
  await world.write("draft: 1\nproduct_files: [{ source: ../a.glb }]\n", { "a.glb": "content" });
  const body = `{"data":{"type":"upload","id":${text},"attributes":{"status":"success","file_id":10}}}`;
  world.proxy.choose = ({ method, path }) =>
    method === "POST" && path === "/api/uploads" ? { type: "answer", status: 201, body } : undefined;
  expect((await world.apply()).totals).toMatchObject({ failed: 1, in_doubt: 0 });
  expect((await world.ledger.load()).uploads).toEqual([]);
  world.proxy.choose = () => undefined;
  expect((await world.apply()).totals).toMatchObject({ done: 1 });
});

test.each(hostile)("rejects credentials whose key prefix is %s, and stores nothing", async (_name, text) => {
  await world.write("draft: 1\nproduct_files: [{ source: ../a.glb }]\n", { "a.glb": "content" });
  const attributes = `{"bucket":"b","access_key":"a","secret_key":"s","key_prefix":${text}}`;
  const body = `{"data":{"type":"upload_credential","attributes":${attributes}}}`;
  world.proxy.choose = ({ path }) =>
    path === "/api/uploads/credentials" ? { type: "answer", status: 201, body } : undefined;
  expect((await world.apply()).totals).toMatchObject({ failed: 1, in_doubt: 0 });
  expect(new Set(world.requests())).toEqual(new Set(["POST /api/uploads/credentials"]));
});

test.each(hostile)("reports a failed upload whose status and message are %s", async (_name, text) => {
  await world.write("draft: 1\nproduct_files: [{ source: ../a.glb }]\n", { "a.glb": "content" });
  const body = `{"data":{"type":"upload","id":"u1","attributes":{"status":${text},"message":${text}}}}`;
  world.proxy.choose = ({ method, path }) =>
    method === "POST" && path === "/api/uploads" ? { type: "answer", status: 201, body } : undefined;
  expect((await world.apply()).totals).toMatchObject({ failed: 1 });
});
