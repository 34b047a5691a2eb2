import { beforeEach, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, folder, confirmLedger, run, apply } = useWorkspace({
  files: { "a.glb": "first", "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" },
  service: { profile: "{ settle_delay: 50ms }" },
  sandbox: { uploadProcessingMs: 0 },
});
const manifest = (entries: string, more = "") => ({
  "manifests/a.yaml": `draft: 1\nproduct_files: [{ file_id: 1 }, ${entries}]\n${more}`,
});
const attached = () => sandbox.state().attachments.map(({ fileId, attributes }) => [fileId, attributes]);
const isFile = (path: string) => path.includes("/product_files");

/** Attaches file 2 with one renderer, and leaves the update to another one in doubt. */
async function loseUpdate() {
  await folder.write(manifest("{ file_id: 2, renderer: good }"));
  expect((await apply()).code).toBe(0);
  await folder.write(manifest("{ file_id: 2, renderer: wrong }"));
  proxy.choose = ({ method }) => (method === "PATCH" ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
}

beforeEach(async () => {
  await apply();
  await confirmLedger();
});

test("a withdrawn value of a lost attachment is cleared, whichever call attached the file", async () => {
  await folder.write(manifest("{ file_id: 2, renderer: wrong }"));
  proxy.choose = ({ path }) => (isFile(path) ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write(manifest("{ file_id: 2 }", "publish: true\n"));
  expect((await apply()).code).toBe(0);
  expect(attached()).toEqual([
    [1, {}],
    [2, { renderer: "" }],
  ]);
  expect(sandbox.state().products).toHaveLength(1);
});

test("a corrected value settles an attachment whose check was refused", async () => {
  await folder.write(manifest("{ file_id: 2, renderer: wrong }"));
  proxy.choose = ({ method, path }) => {
    if (!isFile(path)) return undefined;
    return method === "POST" ? { type: "lost" } : { type: "answer", status: 422 };
  };
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write(manifest("{ file_id: 2, renderer: right }", "publish: true\n"));
  expect((await run("plan")).stdout).toContain('renderer  "right"');
  expect((await apply()).code).toBe(0);
  expect(attached()).toContainEqual([2, { renderer: "right" }]);
  expect(sandbox.state().products).toHaveLength(1);
});

test("a withdrawn update in doubt is not sent once its list is left out, and its draft waits for a person to publish", async () => {
  await loseUpdate();
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  const resolve = "draftsync resolve drafts/1/product_files/2 --done | --not-done";
  expect(await run("plan")).toMatchObject({ stdout: expect.stringContaining(resolve) });
  expect(await apply()).toMatchObject({ code: 4, stdout: expect.stringContaining(resolve) });
  expect(sandbox.state().products).toEqual([]);
  expect(attached()).toContainEqual([2, { renderer: "good" }]);
  expect(await run("resolve", "drafts/1/product_files/2", "--done")).toMatchObject({ code: 0 });
  expect((await apply()).code).toBe(0);
  expect(sandbox.state().products).toHaveLength(1);
});

test("an update that another one settled is not said to have taken effect", async () => {
  await loseUpdate();
  await folder.write(manifest("{ file_id: 2 }"));
  expect((await apply()).code).toBe(0);
  expect(attached()).toContainEqual([2, { renderer: "good" }]);
  const { operations } = JSON.parse((await run("state", "export")).stdout);
  const updates = operations.filter(({ kind }: { kind: string }) => kind === "update");
  expect(updates).toMatchObject([{ outcome: "unknown", settled: { as: "superseded" } }, { outcome: "done" }]);
});

test("resolve takes a file by its path, and settles nothing by an entry's name", async () => {
  const entry = "drafts/1/product_files/source:a.glb";
  await folder.write(manifest("{ source: ../a.glb, file_format: a }"));
  expect((await apply()).code).toBe(0);
  const [, [old] = []] = attached();
  await folder.write({ "a.glb": "second" });
  proxy.choose = ({ method }) => (method === "DELETE" || method === "PATCH" ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  await folder.write(manifest("{ source: ../a.glb, file_format: b }"));
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  const [byOld, byNew] = [old, attached().at(-1)?.[0]].map((file) => `drafts/1/product_files/${file}`);
  for (const name of [entry, "drafts/1", "1"]) {
    expect(await run("resolve", name, "--not-done")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`In doubt: ${byOld} (DELETE), ${byNew} (PATCH).`),
    });
  }
  expect(await run("resolve", byOld ?? "", "--not-done")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`${byOld} is settled: the DELETE did not take effect`),
  });
  expect(await run("resolve", byOld ?? "", "--not-done")).toMatchObject({ code: 1 });
  expect((await run("resolve", entry, "--not-done")).code).toBe(1);
  expect(await run("resolve", byNew ?? "", "--not-done")).toMatchObject({ code: 0 });
  await folder.write(manifest("{ source: ../a.glb, file_format: b }", "publish: true\n"));
  expect((await apply()).code).toBe(0);
  expect(attached().map(([, attributes]) => attributes)).toEqual([{}, { file_format: "b" }]);
  expect(attached().map(([file]) => file)).not.toContain(old);
});

test("two different calls in doubt about a file are settled by whether it is attached", async () => {
  const other = "drafts/1/product_files/2";
  await folder.write(manifest("{ file_id: 2, renderer: a }"));
  expect((await apply()).code).toBe(0);
  proxy.choose = ({ method }) => (method === "PATCH" ? { type: "answer-lost" } : undefined);
  await folder.write(manifest("{ file_id: 2, renderer: b }"));
  expect((await apply()).code).toBe(4);
  proxy.choose = ({ method }) => (method === "DELETE" ? { type: "lost" } : undefined);
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" });
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  expect(await run("resolve", other, "--done")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/DELETE .* PATCH.*--attached or --not-attached/s),
  });
  expect(await run("resolve", other, "--attached")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`${other} is settled: the file is attached`),
  });
  expect((await apply()).code).toBe(0);
  expect(attached()).toContainEqual([2, { renderer: "b" }]);
  expect(sandbox.state().products).toHaveLength(1);
});

test("a plan and `state rm` name a file in doubt by the path that resolve takes", async () => {
  await folder.write(manifest("{ source: ../a.glb }"));
  expect((await apply()).code).toBe(0);
  const [, [file] = []] = attached();
  await folder.write(manifest(`{ file_id: ${file}, renderer: b }`));
  proxy.choose = ({ method }) => (method === "PATCH" ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write({ "manifests/a.yaml": "draft: 1\n" });
  const address = "drafts/1/product_files/source:a.glb";
  const byFile = `draftsync resolve drafts/1/product_files/${file} --done`;
  expect((await run("plan")).stdout).toContain(byFile);
  expect((await run("state", "rm", address)).stderr).toContain(byFile);
  expect(await run("resolve", `drafts/1/product_files/${file}`, "--not-done")).toMatchObject({ code: 0 });
  expect((await apply()).code).toBe(0);
});

test.each([
  ["settled by apply", async () => expect((await apply()).code).toBe(0)],
  [
    "resolved",
    async () => {
      const [file] = attached().at(-1) ?? [];
      expect((await run("resolve", `drafts/1/product_files/${file}`, "--done")).code).toBe(0);
    },
  ],
])(
  "the old file of a replacement in doubt, which an entry names by now, is protected once it is %s",
  async (_how, settle) => {
    await folder.write(manifest("{ source: ../a.glb }"));
    expect((await apply()).code).toBe(0);
    const [, [old] = []] = attached();
    await folder.write({ "a.glb": "second" });
    proxy.choose = ({ method, path }) =>
      isFile(path) ? { type: method === "POST" ? "answer-lost" : "lost" } : undefined;
    expect((await apply()).code).toBe(4);
    proxy.choose = () => undefined;
    await folder.write(manifest(`{ source: ../a.glb }, { file_id: ${old} }`, "protect: true\n"));
    await settle();
    await apply();
    await folder.write(manifest("{ source: ../a.glb }", "protect: true\n"));
    expect(await apply()).toMatchObject({ code: 5, stderr: expect.stringContaining("[draft-protected]") });
    expect(attached().map(([file]) => file)).toContain(old);
  },
);

/** File 2 is attached by a ledger that is lost since, with another value than the manifest has by now. */
async function attachBefore(): Promise<void> {
  await folder.write(manifest("{ file_id: 2, renderer: theirs }"));
  expect((await apply()).code).toBe(0);
  await folder.remove(".draftsync");
  await confirmLedger();
  await folder.write(manifest("{ file_id: 2, renderer: ours }", "publish: true\n"));
}

test("resolve --done says only that a file is attached: its values are set before the publish", async () => {
  await attachBefore();
  proxy.choose = ({ method }) => (method === "PATCH" ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  for (const file of [1, 2])
    expect((await run("resolve", `drafts/1/product_files/${file}`, "--done")).code).toBe(0);
  expect((await run("resolve", "drafts/1/product", "--not-done")).code).toBe(0);
  expect((await apply()).code).toBe(0);
  expect(attached()).toContainEqual([2, { renderer: "ours" }]);
  expect(sandbox.state().products).toHaveLength(1);
});

test("an attachment in doubt of a list that is left out is settled once the list is declared again", async () => {
  await attachBefore();
  const headers = { "content-type": "application/vnd.api+json" };
  const body = JSON.stringify({ errors: [{ status: "422", title: "attached already" }] });
  proxy.choose = ({ method, path }) => {
    if (!isFile(path)) return undefined;
    return method === "POST" ? { type: "answer", status: 422, headers, body } : { type: "lost" };
  };
  expect((await apply()).code).toBe(4);
  await folder.write({ "manifests/a.yaml": "draft: 1\n" });
  proxy.choose = () => undefined;
  proxy.seen.splice(0);
  expect((await apply()).code).toBe(4);
  expect(proxy.seen).toEqual([]);
  await folder.write(manifest("{ file_id: 2, renderer: ours }"));
  expect((await apply()).code).toBe(0);
  expect(attached()).toContainEqual([2, { renderer: "ours" }]);
});

test("a lost delete that reconcile may not repeat is in doubt", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: []\n" });
  proxy.choose = ({ method }) => (method === "DELETE" ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  expect((await run("plan")).stdout).toMatch(/- product_files\/1 .*in doubt: sent/);
  proxy.choose = () => undefined;
  expect(await run("reconcile")).toMatchObject({
    code: 4,
    stdout: expect.stringContaining("draftsync resolve drafts/1/product_files/1 --attached | --not-attached"),
  });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(attached()).toEqual([]);
});

test("importing a source that has changed since does not take the old file for its new content", async () => {
  await folder.write(manifest("{ source: ../a.glb }"));
  expect((await apply()).code).toBe(0);
  await folder.write({ "a.glb": "second" });
  expect((await run("import", "drafts/1/product_files/source:a.glb")).code).toBe(0);
  expect((await run("plan")).stdout).toContain("Plan: 1 to replace.");
});

test("a response that names another value of what was not sent has all values set before the publish, and it is shown", async () => {
  await folder.write(manifest("{ file_id: 2, renderer: ours }"));
  expect((await apply()).code).toBe(0);
  await folder.write(manifest("{ file_id: 2, renderer: ours, file_format: b }", "publish: true\n"));
  const headers = { "content-type": "application/vnd.api+json" };
  const attributes = { file_id: 2, renderer: "theirs", file_format: "b" };
  const body = JSON.stringify({ data: { type: "product_file", id: "2", attributes } });
  let updates = 0;
  proxy.choose = ({ method }) => {
    if (method !== "PATCH") return undefined;
    updates += 1;
    return updates === 1 ? { type: "answer", status: 200, headers, body } : undefined;
  };
  const { code, stderr } = await apply();
  expect(code).toBe(0);
  expect(stderr).toMatch(/\[values-replaced\]\n.*product_files\/2.*: renderer "theirs" for "ours"\n/);
  expect(attached()).toContainEqual([2, { renderer: "ours", file_format: "b" }]);
  expect(sandbox.state().products).toHaveLength(1);
});

test("values that an update was refused to replace are not shown as replaced, and the next plan shows them", async () => {
  await folder.write(manifest("{ file_id: 2, renderer: ours }"));
  expect((await apply()).code).toBe(0);
  await folder.write(manifest("{ file_id: 2, renderer: ours, file_format: b }"));
  const headers = { "content-type": "application/vnd.api+json" };
  const attributes = { file_id: 2, renderer: "theirs", file_format: "b" };
  const body = JSON.stringify({ data: { type: "product_file", id: "2", attributes } });
  const refusal = JSON.stringify({ errors: [{ status: "422", title: "No" }] });
  let updates = 0;
  proxy.choose = ({ method }) => {
    if (method !== "PATCH") return undefined;
    updates += 1;
    return updates === 1
      ? { type: "answer", status: 200, headers, body }
      : { type: "answer", status: 422, headers, body: refusal };
  };
  const { code, stderr } = await apply();
  expect(code).toBe(3);
  expect(stderr).not.toContain("values-replaced");
  expect((await run("plan")).stdout).toContain(`renderer  "theirs" → "ours"`);
});

test("importing the new file of a replacement in doubt keeps the old one as the rest of it", async () => {
  await folder.write(manifest("{ source: ../a.glb }"));
  expect((await apply()).code).toBe(0);
  await folder.write({ "a.glb": "second" });
  proxy.choose = ({ method, path }) =>
    isFile(path) ? { type: method === "POST" ? "answer-lost" : "lost" } : undefined;
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  const file = attached().at(-1)?.[0];
  expect((await run("import", `drafts/1/product_files/${file}`)).code).toBe(0);
  await folder.write(manifest("{ source: ../a.glb }", "protect: true\n"));
  expect((await apply()).code).toBe(7);
  expect((await apply()).code).toBe(0);
  expect(attached().map(([id]) => id)).toEqual([1, file]);
});

test("a doubt that was not checked is still a doubt for the exit code", async () => {
  await folder.write(manifest("{ file_id: 2 }"));
  proxy.choose = ({ path }) => (isFile(path) ? { type: "lost" } : undefined);
  expect((await apply()).code).toBe(4);
  const refused = { type: "answer", status: 422 } as const;
  proxy.choose = ({ path }) => (path === "/api/uploads" ? refused : undefined);
  await folder.write(manifest("{ file_id: 2 }, { source: ../a.glb }"));
  expect(await apply()).toMatchObject({ code: 4, stderr: expect.stringContaining("1 failed, 1 skipped") });
  proxy.choose = () => undefined;
  expect((await apply()).code).toBe(0);
});
