import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, folder, apply } = useWorkspace({
  files: {
    "manifests/a.yaml": "draft: 1\nprotect: true\nproduct_files: [{ file_id: 10 }, { file_id: 11 }]\n",
  },
});

test("an apply that lifts a protection ends with 7 while a delete and a publish wait for the next one", async () => {
  await apply("--new-ledger");
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10 }]\npublish: true\n" });
  expect(await apply()).toMatchObject({
    code: 7,
    stdout: expect.stringContaining("[deletes-excluded]"),
    stderr: expect.stringContaining("note: 1 draft has changes that wait; run apply again"),
  });
  expect(sandbox.state().products).toEqual([]);
  expect((await apply()).code).toBe(0);
  expect(sandbox.state().products).toHaveLength(1);
  expect(sandbox.state().attachments).toMatchObject([{ fileId: 10 }]);
});

test("a target that waits for the lifted protection takes it along", async () => {
  await apply("--new-ledger");
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10 }]\n" });
  const target = ["--target", "drafts/1/product_files/11"];
  expect((await apply(...target)).code).toBe(7);
  expect((await apply(...target)).code).toBe(0);
  expect(sandbox.state().attachments).toMatchObject([{ fileId: 10 }]);
});

test("a copy of the product that such a publish makes waits with it", async () => {
  const copy = "---\nduplicates: [{ name: copy, product: { draft: 1 } }]\n";
  await apply("--new-ledger");
  await folder.write({
    "manifests/a.yaml": `draft: 1\nproduct_files: [{ file_id: 10 }]\npublish: true\n${copy}`,
  });
  const first = await apply();
  expect(first).toMatchObject({ code: 7, stdout: expect.not.stringContaining("Cannot be undone") });
  expect(first.stdout).toContain("3 changes wait until the protection is lifted");
  expect(sandbox.state().products).toEqual([]);
  expect((await apply()).code).toBe(0);
  expect(sandbox.state().products).toHaveLength(2);
});
