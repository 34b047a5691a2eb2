import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { checkPage } from "../support/page.ts";
import { freshSchema } from "../unit/ledger/samples.ts";

const key = "canary-key-90f6";

test("the commands of docs/guides/move-to-postgres.md print what the page shows", async () => {
  const sandbox = await startSandbox({ key });
  onTestFinished(() => sandbox.close());
  const folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: studio-a\nservice: { base_url: ${sandbox.url} }\n`,
    "manifests/dragon.yaml": "draft: 48213\nproduct_files: [{ file_id: 9900011 }, { file_id: 9900012 }]\n",
  });
  onTestFinished(() => folder.dispose());
  const database = new URL(freshSchema());
  const { password } = database;
  database.password = "";
  const env = { DRAFTSYNC_API_KEY: key, PGPASSWORD: password };
  const applied = await draftsync(["apply", "--auto-approve"], { cwd: folder.path, env });
  expect(applied.code).toBe(0);
  await checkPage("docs/guides/move-to-postgres.md", {
    cwd: folder.path,
    env,
    same: {
      [sandbox.url]: "https://api.example.com",
      [database.href]: "postgres://draftsync@db.example.com/studio",
      [folder.path]: "/home/you/studio-a",
    },
    before: {
      "mkdir -p before-the-move": () =>
        folder.write({ "manifests/crane.yaml": "draft: 48214\nproduct_files: [{ file_id: 9900013 }]\n" }),
    },
  });
});
