import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");

const { apply, arrivals, config, folder, proxy } = useWorkspace({
  files: { "manifests/a.yaml": `draft: 1\nproduct_files: [${files(30)}]\n` },
  service: { concurrency: "1" },
});

test("a refresh leaves half of a quota that the service announces to the changes", async () => {
  await apply();
  await folder.write({
    ...config("refresh: { attachments: probe }\n"),
    "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 1 }]\n",
  });
  arrivals.length = 0;
  const headers = { "RateLimit-Policy": '"hour";q=10;w=3600' };
  proxy.choose = ({ method, path }) =>
    method === "PATCH" && path.startsWith("/api/drafts/1/")
      ? { type: "answer", status: 204, headers }
      : undefined;
  const before = proxy.seen.length;
  expect(await apply()).toMatchObject({ code: 0 });
  const calls = proxy.seen.slice(before);
  expect(calls.filter((line) => line.startsWith("PATCH"))).toHaveLength(5);
  expect(calls.at(-1)).toBe("POST /api/drafts/2/product_files");
});
