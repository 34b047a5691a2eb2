import { beforeEach, describe, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const manifest = (rest = "") => ({
  "manifests/a.yaml": `draft: 1\n${rest}product_files: [{ source: ../a.glb }, { file_id: 10 }]\n`,
});
const { sandbox, proxy, folder, config, run, apply } = useWorkspace({
  files: { ...manifest(), "a.glb": "first" },
  sandbox: { uploadProcessingMs: 0 },
});
const attached = () => sandbox.state().attachments.map(({ fileId }) => fileId);
const planned = async () => JSON.parse((await run("plan", "--format", "json")).stdout);

test("an import of a recorded file by its path leaves it with its entry", async () => {
  await apply();
  const [file] = attached();
  expect(await run("import", `drafts/1/product_files/${file}`)).toMatchObject({ code: 0 });
  expect((await planned()).changes).toEqual([]);
  await folder.write({ "a.glb": "second" });
  expect((await planned()).changes).toMatchObject([{ action: "replace" }]);
});

test("a source that was renamed and taken out of the ledger is not uploaded again", async () => {
  await apply();
  const before = attached();
  await folder.write({
    "b.glb": "first",
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ source: ../b.glb }, { file_id: 10 }]\n",
  });
  expect((await apply()).code).toBe(0);
  expect((await run("state", "rm", "drafts/1", "--auto-approve")).code).toBe(0);
  expect((await apply()).code).toBe(0);
  expect(attached()).toEqual(before);
});

test("a replacement that a refused key stops after its attach has changed something", async () => {
  await apply();
  await folder.write({ "a.glb": "second" });
  const headers = { "content-type": "application/vnd.api+json" };
  const refusedKey = { type: "answer", status: 401, headers, body: '{"errors":[{"status":"401"}]}' } as const;
  proxy.choose = ({ method }) => (method === "DELETE" ? refusedKey : undefined);
  expect([(await apply()).code, attached().length]).toEqual([3, 3]);
});

test("the new file of a replacement in doubt is its entry's, and no import writes another entry for it", async () => {
  await apply();
  await folder.write({ "a.glb": "second" });
  proxy.choose = ({ method, path }) =>
    path.includes("/product_files") ? { type: method === "POST" ? "answer-lost" : "lost" } : undefined;
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  const [added] = attached().slice(-1);
  await folder.write({ "a.glb": "first" });
  const imported = await run("import", `drafts/1/product_files/${added}`, "--write", "manifests/a.yaml");
  expect(imported).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is declared already, as drafts/1/product_files/source:a.glb"),
  });
});

test("a file that is put back, too, has replaced the one that is to be detached", async () => {
  await apply();
  await folder.write({ "a.glb": "second" });
  expect((await apply("--max-calls", "3")).code).toBe(7);
  await folder.write({ "a.glb": "first" });
  proxy.choose = ({ method }) => (method === "DELETE" ? { type: "answer", status: 403 } : undefined);
  expect((await apply()).code).toBe(3);
  proxy.choose = () => undefined;
  await folder.write({ "manifests/a.yaml": "draft: 1\nprotect: true\npublish: true\n" });
  expect((await planned()).changes).toContainEqual(expect.objectContaining({ completes_replace: true }));
  expect((await apply()).code).toBe(0);
  expect(attached()).toHaveLength(2);
});

describe("detach of an interrupted replace", () => {
  /** Attaches the new file and fails to detach the recorded one. */
  beforeEach(async () => {
    await apply();
    await folder.write({ "a.glb": "second" });
    proxy.choose = ({ method }) => (method === "DELETE" ? { type: "answer", status: 403 } : undefined);
    expect((await apply()).code).toBe(3);
    proxy.choose = () => undefined;
    expect(attached()).toHaveLength(3);
  });

  test("is shown in the plan as the rest of the replace", async () => {
    const { changes } = await planned();
    expect(changes).toMatchObject([{ action: "delete", reason: "content_changed", completes_replace: true }]);
    expect((await apply()).code).toBe(0);
    expect(attached()).toHaveLength(2);
    expect((await planned()).changes).toEqual([]);
  });

  test("is made before a publish also where the list is left out by now", async () => {
    await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
    expect((await planned()).changes).toMatchObject([
      { action: "publish" },
      { action: "delete", completes_replace: true },
    ]);
    expect((await apply()).code).toBe(0);
    expect([attached().length, sandbox.state().products.length]).toEqual([2, 1]);
  });

  test("stays the rest of the replace when the old file is imported", async () => {
    const [, old] = (await planned()).changes[0].address.match(/(\d+)$/) ?? [];
    expect(await run("import", `drafts/1/product_files/${old}`)).toMatchObject({ code: 0 });
    expect((await planned()).changes).toMatchObject([{ action: "delete", completes_replace: true }]);
  });

  test("is made although another file of its list, which was left out, is imported into the manifest", async () => {
    const [, old] = (await planned()).changes[0].address.match(/(\d+)$/) ?? [];
    await folder.write({ "manifests/a.yaml": "draft: 1\n" });
    const imported = await run("import", "drafts/1/product_files/10", "--write", "manifests/a.yaml");
    expect(imported.code).toBe(0);
    expect(folder.read("manifests/a.yaml")).not.toContain(old);
    expect((await planned()).changes).toMatchObject([{ action: "delete", completes_replace: true }]);
  });

  test("is not blocked by protect", async () => {
    await folder.write(manifest("protect: true\n"));
    expect((await apply()).code).toBe(0);
    expect(attached()).toHaveLength(2);
    await folder.write({ "manifests/a.yaml": "draft: 2\nproduct_files: []\n" });
    expect(await apply("--remove-drafts")).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("draft 1 is protected"),
    });
    expect(attached()).toHaveLength(2);
  });

  test("does not count toward max_deletes and requires replace in the policy", async () => {
    await folder.write(config("safety: { max_deletes: { percent: 0, above: 0 } }\n"));
    const plan = await run("plan");
    expect(plan.stderr).not.toContain("refuse");
    expect((await run("reconcile")).stdout).toContain("the policy does not allow replace");
    expect(attached()).toHaveLength(3);
    expect((await apply()).code).toBe(0);
    expect(attached()).toHaveLength(2);
  });

  test("does not count toward max_deletes when a saved plan continues", async () => {
    await folder.write(config("safety: { max_deletes: { percent: 0, above: 0 } }\n"));
    await folder.write({ "a.glb": "third" });
    await run("plan", "--out", "plan.json");
    proxy.choose = ({ method }) => (method === "DELETE" ? { type: "answer", status: 403 } : undefined);
    expect((await apply("plan.json")).code).toBe(3);
    proxy.choose = () => undefined;
    expect((await apply("plan.json")).code).toBe(0);
    expect(attached()).toHaveLength(2);
  });

  test("becomes an ordinary delete once a manifest has listed the old file by id", async () => {
    const { changes } = await planned();
    const old = changes[0].before.file_id;
    const list = (...entries: string[]) => ({
      "manifests/a.yaml": `draft: 1\nproduct_files: [{ source: ../a.glb }, { file_id: 10 }, ${entries}]\n`,
    });
    await folder.write(list(`{ file_id: ${old} }`));
    expect((await planned()).changes).toMatchObject([{ action: "adopt" }]);
    expect((await apply()).code).toBe(0);
    await folder.write(manifest("protect: true\n"));
    expect((await apply()).code).toBe(5);
    expect(attached()).toHaveLength(3);
  });
});

test("a half-done replace of one entry does not exempt another entry's file from protection", async () => {
  const list = (rest = "") => ({
    "manifests/a.yaml": `draft: 1\n${rest}product_files: [{ source: ../a.glb }, { source: ../b.glb }]\n`,
  });
  await folder.write({ ...list(), "a.glb": "one", "b.glb": "two" });
  await apply();
  await folder.write({ "b.glb": "three" });
  proxy.choose = ({ method }) => (method === "DELETE" ? { type: "answer", status: 403 } : undefined);
  expect((await apply()).code).toBe(3);
  proxy.choose = () => undefined;
  const before = attached();
  await folder.write({ ...list("protect: true\n"), "a.glb": "two" });
  expect(await apply()).toMatchObject({ code: 5, stderr: expect.stringContaining("[draft-protected]") });
  expect(attached()).toEqual(before);
});

test("the old file of a half-done replace is protected once the new one is detached", async () => {
  await apply();
  await folder.write({ "a.glb": "second" });
  expect((await apply("--max-calls", "3")).code).toBe(7);
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10 }]\n" });
  expect((await apply("--target", "drafts/1/product_files/source:a.glb")).code).toBe(0);
  const left = attached();
  await folder.write({ "manifests/a.yaml": "draft: 1\nprotect: true\nproduct_files: [{ file_id: 10 }]\n" });
  expect(await apply()).toMatchObject({ code: 5, stderr: expect.stringContaining("[draft-protected]") });
  expect([left.length, attached()]).toEqual([2, left]);
});
