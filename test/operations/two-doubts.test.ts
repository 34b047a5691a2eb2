import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, folder, confirmLedger, run, apply } = useWorkspace({
  files: { "a.glb": "first", "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" },
  service: { profile: "{ settle_delay: 50ms }" },
  sandbox: { uploadProcessingMs: 0 },
});
const entry = "drafts/1/product_files/source:a.glb";
const files = () => sandbox.state().attachments.map(({ fileId }) => fileId);

function manifest(...entries: string[]) {
  const list = ["{ source: ../a.glb }", "{ file_id: 1 }", ...entries].join(", ");
  return { "manifests/a.yaml": `draft: 1\nproduct_files: [${list}]\npublish: true\n` };
}

/** The source is attached, but the answer and every check of it are lost; so are those of later calls. */
async function loseAttachment() {
  await apply();
  await confirmLedger();
  proxy.choose = ({ method, path }) => {
    if (!path.includes("/product_files")) return undefined;
    return method === "POST" ? { type: "answer-lost" } : { type: "lost" };
  };
  await folder.write(manifest());
  expect((await apply()).code).toBe(4);
}

test("a file in doubt whose entry has changed since is settled before anything else of its draft", async () => {
  await loseAttachment();
  const first = files().find((id) => id !== 1);
  await folder.write({ "a.glb": "second", ...manifest(`{ file_id: ${first} }`) });
  proxy.choose = () => undefined;
  proxy.seen.length = 0;
  expect((await apply()).code).toBe(7);
  expect(proxy.seen).toEqual([`PATCH /api/drafts/1/product_files/${first}`]);
  expect((await apply()).code).toBe(0);
  expect(files().sort()).toEqual([1, first, expect.any(Number)]);
  expect(sandbox.state().products).toHaveLength(1);
});

test("a source whose uploaded file the service does not have any more is uploaded again after `state rm`", async () => {
  await apply();
  await confirmLedger();
  await folder.write(manifest());
  const headers = { "content-type": "application/vnd.api+json" };
  const body = JSON.stringify({ errors: [{ status: "422", title: "no such file" }] });
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.includes("/product_files")
      ? { type: "answer", status: 422, headers, body }
      : undefined;
  expect(await apply()).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(
      "`draftsync state rm` with the upload's address (`draftsync state list` shows it), and the next run uploads it again.",
    ),
  });
  proxy.choose = () => undefined;
  expect((await run("state", "rm", "uploads/a.glb", "--auto-approve")).code).toBe(0);
  proxy.seen.length = 0;
  expect((await apply()).code).toBe(0);
  expect(proxy.seen).toContain("POST /api/uploads");
});

test("apply, import and `state list` name the file of an entry whose attachment is in doubt", async () => {
  await loseAttachment();
  const file = files().find((id) => id !== 1);
  expect((await apply()).stderr).toContain(`draftsync resolve drafts/1/product_files/${file} --done`);
  expect((await run("state", "list")).stdout).toContain(`attach of file ${file} in doubt`);
  proxy.choose = () => undefined;
  expect(await run("import", `${entry}=1`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`is in doubt; use draftsync resolve drafts/1/product_files/${file}  [`),
  });
});

test("a file that is declared another way keeps nothing that the plan shows as deleted, nor what an update in doubt has sent", async () => {
  const list = (entries: string, rest = "") => ({
    "manifests/a.yaml": `draft: 1\nproduct_files: [${entries}]\n${rest}`,
  });
  await folder.write(list("{ source: ../a.glb, renderer: v1 }"));
  await apply();
  await confirmLedger();
  const [file] = sandbox.state().attachments;
  const sent = "renderer: v2, file_format: fbx";
  await folder.write(list(`{ source: ../a.glb, ${sent} }`));
  let calls = 0;
  proxy.choose = ({ method }) =>
    method === "PATCH" ? { type: calls++ === 0 ? "answer-lost" : "lost" } : undefined;
  expect((await apply()).code).toBe(4);
  const upload = { type: "upload", id: "u", attributes: { status: "success", file_id: file?.fileId } };
  const headers = { "content-type": "application/vnd.api+json" };
  proxy.choose = ({ method, path }) =>
    method === "POST" && path === "/api/uploads"
      ? { type: "answer", status: 201, headers, body: JSON.stringify({ data: upload }) }
      : undefined;
  await folder.write(list("{ upload_key: k }", "publish: true\n"));
  expect((await apply()).code).toBe(0);
  const { attachments, products } = sandbox.state();
  expect(attachments).toMatchObject([{ fileId: file?.fileId, attributes: { renderer: "" } }]);
  expect(attachments[0]?.attributes.file_format ?? "").toBe("");
  expect(products).toHaveLength(1);
});
