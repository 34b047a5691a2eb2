import { beforeEach, expect, test } from "vitest";
import type { Fault } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";

const entry = (format: string) => `draft: 1\nproduct_files: [{ file_id: 1, file_format: ${format} }]\n`;

const { sandbox, proxy, folder, confirmLedger, apply } = useWorkspace({
  files: { "manifests/a.yaml": entry("old") },
  service: { profile: "{ settle_delay: 50ms }" },
  sandbox: { behavior: { updateStatus: 202, deleteStatus: 202 } },
});

const headers = { "content-type": "application/vnd.api+json" };
const missing = JSON.stringify({ errors: [{ status: "404", title: "Not found" }] });
const old = JSON.stringify({
  data: { type: "product_file", id: "1", attributes: { file_id: 1, file_format: "old" } },
});

const sent = (method: string) => proxy.seen.filter((line) => line.startsWith(method)).length;

beforeEach(async () => {
  await apply();
  await confirmLedger();
});

test("an update that is accepted twice with its values is done, and its draft is published", async () => {
  await folder.write({ "manifests/a.yaml": `${entry("new")}publish: true\n` });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(sent("PATCH")).toBe(2);
  expect(sandbox.state().products).toHaveLength(1);
});

test("a detachment that is accepted is done when the file is gone", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: []\npublish: true\n" });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(sent("DELETE")).toBe(2);
  expect(sandbox.state().products).toHaveLength(1);
});

test("a lost attachment is settled by updates that are accepted", async () => {
  await folder.write({ "manifests/a.yaml": `${entry("old, renderer: x }, { file_id: 2")}publish: true\n` });
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.endsWith("_files") ? { type: "answer-lost" } : undefined;
  expect(await apply()).toMatchObject({ code: 0 });
  expect(sandbox.state().attachments).toHaveLength(2);
  expect(sandbox.state().products).toHaveLength(1);
});

test.each<[string, Fault]>([
  ["names other values", { type: "answer", status: 202, headers, body: old }],
  ["has no body", { type: "answer", status: 202 }],
  ["is a server error", { type: "answer", status: 500 }],
])("an accepted update stays in doubt when the second response %s", async (_what, second) => {
  await folder.write({ "manifests/a.yaml": `${entry("new")}publish: true\n` });
  let updates = 0;
  proxy.choose = ({ method }) => {
    updates += method === "PATCH" ? 1 : 0;
    return method === "PATCH" && updates > 1 ? second : undefined;
  };
  expect((await apply()).code).toBe(4);
  expect(sandbox.state().products).toEqual([]);
});

test("one absence after an accepted update does not show that a lost attachment failed", async () => {
  await folder.write({
    "manifests/a.yaml": `${entry("old }, { file_id: 2, file_format: x")}publish: true\n`,
  });
  let updates = 0;
  proxy.choose = ({ method, path }) => {
    if (method === "POST" && path.endsWith("_files")) return { type: "answer-lost" };
    updates += method === "PATCH" ? 1 : 0;
    return updates === 2 ? { type: "answer", status: 404, headers, body: missing } : undefined;
  };
  expect((await apply()).code).toBe(4);
  expect(sent("POST /api/drafts/1/product_files")).toBe(2);
  expect(sandbox.state().products).toEqual([]);
});
