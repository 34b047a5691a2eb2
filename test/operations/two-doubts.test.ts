import { beforeEach, describe, expect, test } from "vitest";
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

describe("two attachments in doubt of one entry", () => {
  let first: number;

  beforeEach(async () => {
    await loseAttachment();
    first = files().find((id) => id !== 1) ?? 0;
    // The file in doubt gets an entry of its own for a while, and the source another content.
    await folder.write({ "a.glb": "second", ...manifest(`{ file_id: ${first} }`) });
    expect((await apply()).code).toBe(4);
    await folder.write(manifest());
    proxy.choose = () => undefined;
  });

  test("are both settled before the draft is published", async () => {
    const plan = (await run("plan")).stdout;
    expect(plan).toContain(`? product_files/${first}`);
    expect(plan).toContain("? product_files/source:a.glb");
    expect(await apply()).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`drafts/1/product_files/${first} is attached after all`),
    });
    expect(sandbox.state().products).toEqual([]);
    expect((await apply()).code).toBe(0);
    expect(files()).not.toContain(first);
    expect(sandbox.state().products).toHaveLength(1);
  });

  test("are resolved one by one", async () => {
    await expect.poll(async () => (await run("resolve", entry, "--done")).code).toBe(0);
    expect((await run("plan")).stdout).toContain("1 in doubt");
    expect((await run("resolve", `drafts/1/product_files/${first}`, "--done")).code).toBe(0);
    expect((await apply()).code).toBe(0);
    expect(files()).not.toContain(first);
    expect(sandbox.state().products).toHaveLength(1);
  });
});

test("import refuses another file for an entry whose attachment is in doubt", async () => {
  await loseAttachment();
  proxy.choose = () => undefined;
  expect(await run("import", `${entry}=1`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is in doubt; use draftsync resolve"),
  });
});

test("resolve accepts the entry at which the plan shows a file in doubt", async () => {
  await loseAttachment();
  proxy.choose = () => undefined;
  const { uploads } = JSON.parse((await run("state", "export")).stdout);
  const id = uploads[0]?.upload_id;
  await folder.write({
    "manifests/a.yaml": `draft: 1\nproduct_files: [{ upload_id: ${id} }, { file_id: 1 }]\n`,
  });
  const shown = `drafts/1/product_files/upload_id:${id}`;
  expect((await run("plan")).stdout).toContain(`? product_files/upload_id:${id}`);
  expect(await run("resolve", shown, "--done")).toMatchObject({ code: 0 });
  expect((await run("plan")).stdout).not.toContain("in doubt");
});
