import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { proxy, folder, run, apply } = useWorkspace({
  files: {
    "manifests/a.yaml": `draft: 1
product_files: [{ file_id: 10 }]
---
draft: 11
product_files: [{ file_id: 10 }]
---
duplicates: [{ name: dragon, product: 5 }, { name: dragon/winter, product: 6 }]
`,
  },
});

test("--target selects one duplicate and no other whose name starts with the same text", async () => {
  expect((await apply("--target", "duplicates/dragon")).code).toBe(0);
  const posts = proxy.seen.filter((line) => line.startsWith("POST"));
  expect(posts).toEqual(["POST /api/products/5/duplicate"]);
});

test("state list and history select an address and its children, not addresses with the same prefix", async () => {
  await apply();
  const listed = await run("state", "list", "drafts/1", "--json");
  expect(listed.stdout).toContain("drafts/1/product_files/10");
  expect(listed.stdout).not.toContain("drafts/11");
  const history = await run("history", "duplicates/dragon", "--json");
  expect(history.stdout).toContain('"duplicates/dragon"');
  expect(history.stdout).not.toContain("winter");
});

test.each(["state list", "history"])("%s accepts the id and the title of a draft", async (command) => {
  const manifest = "draft: 7\ntitle: Old Lighthouse\nproduct_files: [{ file_id: 10 }]\n";
  await folder.write({ "manifests/lighthouse.yaml": manifest });
  await apply();
  const shown = async (name: string) => (await run(...command.split(" "), name)).stdout;
  const byAddress = await shown("drafts/7");
  expect(byAddress).toContain("drafts/7/product_files/10");
  expect(byAddress).not.toContain("drafts/1/");
  for (const name of ["7", "Old Lighthouse", "old*"]) expect(await shown(name)).toBe(byAddress);
});

test.each(["state list", "history"])("%s rejects an invalid address", async (command) => {
  expect(await run(...command.split(" "), "drafts/1x")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"drafts/1x" is not an address'),
  });
});

test.each([
  ["an id", "11"],
  ["a title", "winter lantern"],
  ["a pattern of titles", "Winter*"],
  ["a manifest", "manifests/lantern.yaml"],
])("--target selects a draft by %s", async (_name, target) => {
  const lantern = "draft: 11\ntitle: Winter Lantern\nproduct_files: [{ file_id: 10 }]\n";
  await folder.write({
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10 }]\n",
    "manifests/lantern.yaml": lantern,
  });
  expect((await apply("--target", target)).code).toBe(0);
  expect(proxy.seen).toEqual(["POST /api/drafts/11/product_files"]);
});

test("--target without a match is an error before any call", async () => {
  const { code, stderr } = await apply("--target", "Kraken*");
  expect([code, proxy.seen]).toEqual([1, []]);
  expect(stderr).toContain('no resource matches "Kraken*"  [target-unknown]');
});
