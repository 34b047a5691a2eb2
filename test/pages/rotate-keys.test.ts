import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { checkPage } from "../support/page.ts";

const oldKey = "canary-key-01d0";
const newKey = "canary-key-2e35";
const validKey = "canary-key-7a11";

test("the commands of docs/guides/rotate-keys.md print what the page shows", async () => {
  const folder = await makeFolder({
    "draftsync.key": `${oldKey}\n`,
    "manifests/dragon.yaml": "draft: 48213\nproduct_files: [{ file_id: 9900011 }]\n",
  });
  onTestFinished(() => folder.dispose());
  const db = join(await makeServiceFolder(), "sandbox.db");
  let sandbox = await startSandbox({ key: oldKey, db });
  onTestFinished(() => sandbox.close());
  /** Restarts the service at the same address with another key. */
  const accept = async (key: string) => {
    const port = Number(new URL(sandbox.url).port);
    await sandbox.close();
    sandbox = await startSandbox({ key, db, port });
  };
  const addDraft = (draft: number, file: number) =>
    folder.write({ [`manifests/${draft}.yaml`]: `draft: ${draft}\nproduct_files: [{ file_id: ${file} }]\n` });
  await checkPage("docs/guides/rotate-keys.md", {
    cwd: folder.path,
    env: { NEW_KEY: newKey, VALID_KEY: validKey },
    same: { [sandbox.url]: "https://api.example.com", [folder.path]: "/home/you/studio-a" },
    before: {
      "echo draftsync.key": () => draftsync(["apply", "--auto-approve"], { cwd: folder.path }),
      'DRAFTSYNC_API_KEY="$NEW_KEY"': async () => {
        await accept(newKey);
        await addDraft(48214, 9900012);
      },
      "draftsync apply --auto-approve # exit code": async () => {
        await accept(validKey);
        await addDraft(48215, 9900013);
      },
    },
  });
  expect(
    sandbox
      .state()
      .attachments.map(({ fileId }) => fileId)
      .sort(),
  ).toEqual([9900011, 9900012, 9900013]);
});

/** A folder for the data of the service, outside the workspace. */
async function makeServiceFolder(): Promise<string> {
  const folder = await makeFolder();
  onTestFinished(() => folder.dispose());
  return folder.path;
}
