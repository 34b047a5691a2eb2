import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const list = (...keys: string[]) =>
  `draft: 1\nproduct_files: [${keys.map((key) => `{ upload_key: ${key}, renderer: r${key} }`).join(", ")}]\n`;
const { sandbox, proxy, folder, confirmLedger, run, apply } = useWorkspace({
  files: { "manifests/a.yaml": list("a") },
});

test("a continued plan attaches no uploaded file that another entry has, and publishes nothing", async () => {
  // The service has every key as the same file.
  proxy.choose = ({ method, path, body }) => {
    if (method !== "POST" || path !== "/api/uploads") return undefined;
    const { upload_key } = JSON.parse(body).data.attributes;
    const data = {
      id: `u-${upload_key}`,
      type: "upload",
      attributes: { upload_key, status: "success", file_id: 50 },
    };
    const headers = { "content-type": "application/vnd.api+json" };
    return { type: "answer", status: 201, headers, body: JSON.stringify({ data }) };
  };
  await apply();
  await confirmLedger();
  await folder.write({ "manifests/a.yaml": `${list("a", "b")}publish: true\n` });
  await run("plan", "--out", "plan.json");
  expect((await apply("plan.json", "--max-calls", "1")).code).toBe(7);
  expect(await apply("plan.json")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("[same-file-attached]"),
  });
  expect(sandbox.state().products).toEqual([]);
  expect(sandbox.state().attachments).toMatchObject([{ fileId: 50, attributes: { renderer: "ra" } }]);
});
