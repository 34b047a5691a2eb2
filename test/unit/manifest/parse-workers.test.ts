import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { complete } from "../../support/complete.ts";
import { workspace } from "./support.ts";

const count = 2_100;
const numbers = Array.from({ length: count }, (_none, at) => at + 1);
const many = Object.fromEntries(
  numbers.map((draft) => [`m/${draft}.yaml`, `draft: ${draft}\nproduct_files:\n  - file_id: ${draft}\n`]),
);

/** Draft ids of 2,100 manifests, parsed with workers that run the script. */
async function draftIds(script: string, signal?: AbortSignal): Promise<readonly number[]> {
  const workers = {
    script: pathToFileURL(join(workspace({ "worker.mjs": script }), "worker.mjs")),
    count: 2,
  };
  const root = workspace(many);
  const options = {
    root,
    patterns: ["m/*.yaml"],
    sources: "stat",
    workers,
    ...(signal && { signal }),
  } as const;
  const { desired, diagnostics } = complete(await loadManifests(options));
  expect(diagnostics).toEqual([]);
  return desired.drafts.map(({ draftId }) => draftId).sort((a, b) => a - b);
}

test("uses the results of the workers", async () => {
  const forged = `export default ({ files }) => files.map((file) => {
    const draft = { draftId: 10_000 + Number(file.slice(2, -5)), protect: false, managed: [], position: 1, span: [0, 0] };
    const drafts = [{ ...draft, attachments: [] }];
    const parsed = { drafts, duplicates: [], defaults: [], layouts: [], otherFiles: [], diagnostics: [] };
    return { digest: file, json: JSON.stringify(parsed) };
  });`;
  expect(await draftIds(forged)).toEqual(numbers.map((draft) => 10_000 + draft));
});

test.each([
  ["throws at its start", "throw new Error('broken');"],
  ["is not a script", "not a script"],
  ["has no task", ""],
  ["fails at its first task", "export default () => { throw new Error('broken'); };"],
])("parses every manifest in the main thread when a worker %s", async (_name, script) => {
  expect(await draftIds(script)).toEqual(numbers);
});

const silent = "export default () => new Promise(() => {});";
const reason = new Error("interrupted");

test("does not wait for workers after an interrupt", async () => {
  const interrupt = new AbortController();
  setTimeout(() => interrupt.abort(reason), 500);
  await expect(draftIds(silent, interrupt.signal)).rejects.toBe(reason);
});

test("starts no workers after an interrupt", async () => {
  await expect(draftIds(silent, AbortSignal.abort(reason))).rejects.toBe(reason);
});
