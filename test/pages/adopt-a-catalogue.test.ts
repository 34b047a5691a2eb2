import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { makeFolder } from "../support/cli.ts";
import { checkPage } from "../support/page.ts";

const key = "canary-key-a0c1";
const fbx = { draftId: 48213, kind: "product_file", fileId: 9900011 } as const;
const obj = { draftId: 48213, kind: "product_file", fileId: 9900012 } as const;
const view = { draftId: 48213, kind: "promotional_file", fileId: 9900044 } as const;

test("the commands of docs/guides/adopt-a-catalogue.md print what the page shows", async () => {
  const sandbox = await startSandbox({ key });
  onTestFinished(() => sandbox.close());
  const folder = await makeFolder();
  onTestFinished(() => folder.dispose());
  sandbox.attach(fbx, { file_format: "fbx", format_version: "2019" });
  sandbox.attach(obj, { file_format: "obj" });
  sandbox.attach(view, { description: "Front view" });
  const found = sandbox.state().attachments;
  await checkPage("docs/guides/adopt-a-catalogue.md", {
    cwd: folder.path,
    env: { DRAFTSYNC_API_KEY: key },
    same: { [sandbox.url]: "https://api.example.com", [folder.path]: "/home/you/studio-a" },
    before: {
      "draftsync drift": async () => {
        expect(sandbox.state().attachments, "adopting changes nothing").toEqual(found);
        sandbox.edit(obj, { file_format: "max" });
        sandbox.detach(view);
      },
    },
  });
  const byId = (state: typeof found) => state.toSorted((a, b) => a.fileId - b.fileId);
  expect(byId(sandbox.state().attachments)).toMatchObject(
    byId(found).map(({ fileId, attributes }) => ({ fileId, attributes })),
  );
});
