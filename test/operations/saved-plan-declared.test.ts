import { beforeEach, describe, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const draft = "draft: 1\nproduct_files: [{ file_id: 11 }, { source: ../files/a.blend }]\n";
const other = "draft: 2\nproduct_files: [{ source: ../files/b.blend }]\n";
const { run, apply, folder, proxy, sandbox } = useWorkspace({
  files: {
    "files/a.blend": "one",
    "files/b.blend": "two",
    "manifests/a.yaml": draft,
    "manifests/b.yaml": other,
  },
});

const save = () => run("plan", "--out", "plan.json");
const published = () => sandbox.state().products.length;
const stale = { code: 6, stderr: expect.stringContaining("[plan-stale]") };

test("a publish that was taken back before it was applied is refused before any call", async () => {
  await apply();
  await folder.write({ "manifests/a.yaml": `${draft}publish: true\n` });
  await save();
  await folder.write({ "manifests/a.yaml": draft });
  expect(await apply()).toMatchObject({ code: 0 });
  const before = proxy.seen.length;
  const refused = await apply("plan.json");
  expect(refused).toMatchObject(stale);
  expect(refused.stderr).toContain("what the manifests declare for drafts/1 has changed");
  expect(proxy.seen.length).toBe(before);
  expect(published()).toBe(0);
});

test("a delete of what is declared again is refused, and what another merge declared is not undone", async () => {
  await apply();
  await folder.remove("manifests/b.yaml");
  await folder.write({ "manifests/a.yaml": `${draft}publish: true\n` });
  await save();
  await folder.write({ "manifests/b.yaml": other });
  expect(await apply("plan.json")).toMatchObject(stale);
  expect(sandbox.state().attachments).toHaveLength(3);
});

test("protect that was merged and not applied stops a delete", async () => {
  await apply();
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: []\n" });
  await save();
  await folder.write({ "manifests/a.yaml": "draft: 1\nprotect: true\nproduct_files: []\n" });
  expect(await apply("plan.json")).toMatchObject(stale);
  expect(sandbox.state().attachments).toHaveLength(3);
});

test("a local file that changed stops the publish of its draft, although the plan does not attach it", async () => {
  await apply();
  await folder.write({ "manifests/a.yaml": `${draft}publish: true\n` });
  await save();
  await folder.write({ "files/a.blend": "three" });
  expect(await apply("plan.json")).toMatchObject(stale);
  expect(published()).toBe(0);
});

describe("a copy of a draft that is to be published again", () => {
  const copy = "---\nduplicates: [{ name: copy, product: { draft: 1 } }]\n";
  const revision = (number: number) => `${draft}publish: { revision: ${number} }\n`;
  const copies = () => proxy.seen.filter((line) => line.endsWith("/duplicate"));

  beforeEach(async () => {
    await folder.write({ "manifests/a.yaml": revision(1) });
    expect(await apply("--new-ledger")).toMatchObject({ code: 0 });
  });

  test("is refused when the plan was made before that was declared", async () => {
    await folder.write({ "manifests/a.yaml": revision(1) + copy });
    await save();
    await folder.write({ "manifests/a.yaml": revision(2) + copy });
    expect(await apply("plan.json")).toMatchObject(stale);
    expect(copies()).toEqual([]);
  });

  test.each(["lowered", "taken away"])(
    "waits while the publish is in doubt whose revision is %s",
    async (how) => {
      await folder.write({ "manifests/a.yaml": revision(2) });
      proxy.choose = ({ method, path }) =>
        method === "POST" && path === "/api/products" ? { type: "answer-lost" } : undefined;
      expect(await apply()).toMatchObject({ code: 4 });
      proxy.choose = () => undefined;
      await folder.write({ "manifests/a.yaml": (how === "lowered" ? revision(1) : draft) + copy });
      expect(await apply()).toMatchObject({ code: 4 });
      expect(copies()).toEqual([]);
      const product = sandbox.state().products.at(-1)?.id;
      await run("resolve", "drafts/1/product", "--product-id", String(product));
      expect(await apply()).toMatchObject({ code: 0 });
      expect(copies()).toEqual([`POST /api/products/${product}/duplicate`]);
    },
  );

  test("is refused when it was made under its old name since", async () => {
    await folder.write({ "manifests/a.yaml": revision(1) + copy.replace("copy", "renamed") });
    await save();
    await folder.write({ "manifests/a.yaml": revision(1) + copy });
    expect(await apply()).toMatchObject({ code: 0 });
    await folder.write({ "manifests/a.yaml": revision(1) + copy.replace("copy", "renamed") });
    expect(await apply("plan.json")).toMatchObject(stale);
    expect(copies()).toHaveLength(1);
  });

  test("is refused when its plan was made before the publish was lost, and taken back", async () => {
    await folder.write({ "manifests/a.yaml": revision(1) + copy });
    await save();
    await folder.write({ "manifests/a.yaml": revision(2) });
    proxy.choose = ({ method, path }) =>
      method === "POST" && path === "/api/products" ? { type: "answer-lost" } : undefined;
    expect(await apply()).toMatchObject({ code: 4 });
    proxy.choose = () => undefined;
    await folder.write({ "manifests/a.yaml": revision(1) + copy });
    expect(await apply("plan.json")).toMatchObject(stale);
    expect(copies()).toEqual([]);
  });

  test("is made beside a doubt about another copy, also alone and from a saved plan", async () => {
    await folder.write({ "manifests/a.yaml": revision(1) + copy.replace("copy", "other") });
    proxy.choose = ({ path }) => (path.endsWith("/duplicate") ? { type: "answer-lost" } : undefined);
    expect(await apply()).toMatchObject({ code: 4 });
    proxy.choose = () => undefined;
    const both =
      "---\nduplicates: [{ name: other, product: { draft: 1 } }, { name: copy, product: { draft: 1 } }]\n";
    await folder.write({ "manifests/a.yaml": revision(1) + both });
    await run("plan", "--out", "plan.json", "--target", "duplicates/copy");
    expect(await apply("plan.json")).toMatchObject({ code: 0 });
    expect(copies()).toHaveLength(2);
  });

  test("waits while the publish is in doubt, however often the plan is applied", async () => {
    await folder.write({ "manifests/a.yaml": revision(2) + copy });
    proxy.choose = ({ method, path }) =>
      method === "POST" && path === "/api/products" ? { type: "answer-lost" } : undefined;
    expect(await apply()).toMatchObject({ code: 4 });
    await save();
    for (const _run of [1, 2, 3]) expect(await apply("plan.json")).toMatchObject({ code: 4 });
    expect(copies()).toEqual([]);
    const product = sandbox.state().products.at(-1)?.id;
    expect(await run("resolve", "drafts/1/product", "--product-id", String(product))).toMatchObject({
      code: 0,
    });
    expect(await apply("plan.json")).toMatchObject(stale);
    proxy.choose = () => undefined;
    expect(await apply()).toMatchObject({ code: 0 });
    expect(copies()).toEqual([`POST /api/products/${product}/duplicate`]);
  });
});

test("a title, a comment and whatever belongs to other drafts may change", async () => {
  await save();
  await apply("--target", "drafts/2");
  await folder.write({
    "manifests/a.yaml": `# about the dragon\ntitle: Dragon\n${draft}`,
    "manifests/b.yaml": `${other}publish: true\n`,
  });
  await run("plan", "--out", "plan.json", "--target", "drafts/1");
  await folder.write({ "manifests/a.yaml": draft, "manifests/c.yaml": "draft: 3\n" });
  await folder.remove("files/b.blend");
  expect(await apply("plan.json")).toMatchObject({ code: 0 });
});

test("a plan that was applied completely has nothing to do, whatever the manifests declare by now", async () => {
  await save();
  expect(await apply("plan.json")).toMatchObject({ code: 0 });
  await folder.write({ "manifests/a.yaml": `${draft}publish: true\n` });
  const again = await apply("plan.json");
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout + again.stderr).toContain("Nothing to do");
});

test("a plan without changes does not say that all is up to date once others have changed the ledger", async () => {
  await apply("--target", "drafts/2");
  await folder.remove("manifests/a.yaml");
  await save();
  expect((await apply("plan.json")).stdout).toContain("Everything is up to date.");
  await folder.write({ "manifests/a.yaml": draft });
  await apply();
  await folder.remove("manifests/a.yaml");
  const { code, stdout, stderr } = await apply("plan.json");
  expect([code, stdout + stderr]).toEqual([
    0,
    expect.stringContaining("this plan has no changes. The ledger has changed"),
  ]);
  expect(stdout + stderr).not.toContain("up to date");
});

test("a manifest that cannot be read refuses the plan", async () => {
  await save();
  await folder.write({ "manifests/a.yaml": "draft: [" });
  expect(await apply("plan.json")).toMatchObject({ code: 1 });
  expect(sandbox.state().attachments).toEqual([]);
});

test("a copy of the same product under another name refuses a plan for a copy, and the message says why", async () => {
  const copiesOf = (...names: string[]) =>
    folder.write({
      "manifests/c.yaml": `duplicates:\n${names.map((name) => `  - { name: ${name}, product: { draft: 1 } }\n`).join("")}`,
    });
  await folder.write({ "manifests/a.yaml": `${draft}publish: true\n` });
  await apply();
  await copiesOf("c2");
  await save();
  await copiesOf("c2", "c9");
  expect(await apply("--target", "duplicates/c9")).toMatchObject({ code: 0 });
  const refused = await apply("plan.json");
  expect(refused).toMatchObject(stale);
  expect(refused.stderr).toContain(
    "the product of duplicates/c2 may have been copied under another name since the plan was made",
  );
  expect(sandbox.state().products).toHaveLength(2);
});
