import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { makeFolder } from "../support/cli.ts";
import { checkPage } from "../support/page.ts";

const keys = { lantern: "canary-key-1a47", harbour: "canary-key-4a2b" };

test("the commands of docs/guides/several-accounts.md print what the page shows", async () => {
  const lantern = await startSandbox({ key: keys.lantern });
  onTestFinished(() => lantern.close());
  const harbour = await startSandbox({ key: keys.harbour });
  onTestFinished(() => harbour.close());
  const folder = await makeFolder({
    "keys/lantern": keys.lantern,
    "keys/harbour": keys.harbour,
    "lantern/manifests/a.yaml": "draft: 48213\nproduct_files: [{ file_id: 9900011 }]\n",
    "harbour/manifests/a.yaml": "draft: 50100\npromotional_files: [{ file_id: 9900090 }]\n",
  });
  onTestFinished(() => folder.dispose());
  await checkPage("docs/guides/several-accounts.md", {
    cwd: folder.path,
    same: {
      [folder.path]: "/home/you/studios",
      [lantern.url]: "https://api.example.com",
      [harbour.url]: "https://api.example.com",
    },
    before: {
      // The page has one address for both accounts; in the test each account has its own sandbox.
      "for studio in": async () => {
        const config = await folder.read("harbour/draftsync.yaml");
        await folder.write({
          "harbour/draftsync.yaml": config.replace("service:\n", `service:\n  base_url: ${harbour.url}\n`),
        });
      },
    },
  });
  expect(lantern.state().attachments.map(({ draftId }) => draftId)).toEqual([48213]);
  expect(harbour.state().attachments.map(({ draftId }) => draftId)).toEqual([50100]);
});
