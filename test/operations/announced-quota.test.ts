import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");

const { apply, config, folder, proxy } = useWorkspace({
  files: { "manifests/a.yaml": `draft: 1\nproduct_files: [${files(30)}]\n` },
  service: { concurrency: "1", profile: "{ max_wait: 1s }" },
});

test("a refresh that uses up a quota of the service is recorded, and the next run makes the changes", async () => {
  await apply();
  await folder.write({
    ...config("refresh: { attachments: probe }\n"),
    "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 1 }]\n",
  });
  let left = 10;
  proxy.choose = () => {
    left -= 1;
    return left >= 0 ? undefined : { type: "answer", status: 429, headers: { "retry-after": "4" } };
  };
  expect(await apply()).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/Checked 10 resources .*\n21 not checked, .*: interrupted; 21 left\./),
    stderr: expect.stringContaining("retry-after-too-long"),
  });
  const before = proxy.seen.length;
  left = 10;
  await expect.poll(async () => (await apply()).code, { timeout: 30_000 }).toBe(0);
  expect(proxy.seen.slice(before)).toEqual(["POST /api/drafts/2/product_files"]);
});
