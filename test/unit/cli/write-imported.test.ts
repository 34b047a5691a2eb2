import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../../src/cli/config.ts";
import { importedDrafts, writeImported } from "../../../src/cli/runtime/write-imported.ts";
import { makeTerminal } from "../../../src/cli/terminal/terminal.ts";
import { type Folder, makeFolder } from "../../support/cli.ts";
import { desiredWith, draftWith, recordedFile, recordedWith } from "../../support/planning.ts";
import { doubtOf } from "../refresh/support.ts";

const file = "manifests/a.yaml";
const env = {};
const { signal } = new AbortController();
const terminal = makeTerminal(env);

async function makeWorkspace(text?: string): Promise<Folder> {
  const folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    ...(text === undefined ? {} : { [file]: text }),
  });
  onTestFinished(() => folder.dispose());
  return folder;
}

async function write(folder: Folder, record: () => Promise<void>): Promise<void> {
  const config = await loadConfig({ cwd: folder.path, env, flags: {} });
  const drafts = [draftWith(2, { managed: [], publish: { revision: 1, position: 0 }, file })];
  await writeImported({ env, signal, terminal }, config, { file, drafts, record });
}

test("writes a publish into the manifest after the ledger has the product", async () => {
  const folder = await makeWorkspace("draft: 1\n");
  let before = "";
  await write(folder, async () => {
    before = await folder.read(file);
  });
  expect(before).toBe("draft: 1\n---\ndraft: 2\n");
  expect(await folder.read(file)).toBe("draft: 1\n---\ndraft: 2\npublish: true\n");
});

test("keeps the entries when the ledger fails: a plan would delete what it has recorded all the same", async () => {
  const folder = await makeWorkspace("# Ours.\ndraft: 1\n");
  const failed = write(folder, () => Promise.reject(new Error("disk full")));
  await expect(failed).rejects.toThrow("disk full");
  expect(await folder.read(file)).toBe("# Ours.\ndraft: 1\n---\ndraft: 2\n");
  await write(folder, () => Promise.resolve());
  expect(await folder.read(file)).toBe("# Ours.\ndraft: 1\n---\ndraft: 2\npublish: true\n");
});

test("keeps the protection of a draft whose document was lost", () => {
  const effects = [{ type: "attached", attachment: recordedFile(1, 14) }] as const;
  const recorded = recordedWith({ protectedDrafts: new Set([1]) });
  const drafts = importedDrafts({ effects, recorded, declared: desiredWith() }, file);
  expect(drafts).toMatchObject([{ draftId: 1, protect: true }]);
});

test("adds recorded and in-doubt files to a list that no manifest has, but for what was imported", () => {
  const imported = recordedFile(1, 14, { attributes: { renderer: "vray" } });
  const doubt = doubtOf("attach", [1, 13], { id: "lost" });
  const recorded = recordedWith({
    attachments: [recordedFile(1, 12), recordedFile(1, 14, { attributes: { renderer: "cycles" } })],
    inDoubt: [{ ...doubt, intent: { ...doubt.intent, attributes: { renderer: "arnold" } } }],
  });
  const effects = [{ type: "attached", attachment: imported }] as const;
  const [draft] = importedDrafts({ effects, recorded, declared: desiredWith() }, file);
  const written = draft?.attachments.map(({ address, attributes }) => [address.ref, attributes]);
  expect(written).toEqual([
    [{ by: "file_id", fileId: 14 }, { renderer: "vray" }],
    [{ by: "file_id", fileId: 12 }, {}],
    [{ by: "file_id", fileId: 13 }, { renderer: "arnold" }],
  ]);
});
