import { expect, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { workspace } from "./support.ts";

const count = 900;
const manifests = Object.fromEntries(
  Array.from({ length: count }, (_none, at) => [
    `m/${at}.yaml`,
    `draft: ${at + 1}\nproduct_files: [{ file_id: ${at + 1} }]\n`,
  ]),
);
function loadWith(script: string) {
  const threads = { script: new URL(`data:text/javascript,${encodeURIComponent(script)}`), count: 3 };
  return loadManifests({ root: workspace(manifests), patterns: ["m/*.yaml"], sources: "stat", threads });
}

test.each([
  ["ends at once", ""],
  ["fails at once", "throw new Error('broken')"],
  ["ends the process's part", "process.exit(3)"],
  ["is no script", "this is none"],
  [
    "fails at its first order",
    "(await import('node:worker_threads')).parentPort.on('message', () => { throw 1 })",
  ],
  [
    "never answers, and ends",
    "(await import('node:worker_threads')).parentPort.once('message', () => process.exit(0))",
  ],
])("what a thread leaves that %s is done by the others", async (_name, script) => {
  const { desired, diagnostics } = await loadWith(script);
  expect(diagnostics).toEqual([]);
  expect(desired.drafts.map(({ draftId }) => draftId).sort((a, b) => a - b)).toEqual(
    Array.from({ length: count }, (_none, at) => at + 1),
  );
});
