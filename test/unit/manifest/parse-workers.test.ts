import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { complete } from "../../support/complete.ts";
import { scriptOf, workspace } from "./support.ts";

const manifest = (draft: number) => `draft: ${draft}\nproduct_files:\n  - file_id: ${draft}\n`;
const numbers = (count: number) => Array.from({ length: count }, (_none, at) => at + 1);

function workspaceOf(count: number): string {
  return workspace(Object.fromEntries(numbers(count).map((draft) => [`m/${draft}.yaml`, manifest(draft)])));
}

const patterns = ["m/*.yaml"];

async function draftsOf(loaded: ReturnType<typeof loadManifests>): Promise<readonly number[]> {
  const { desired, diagnostics } = complete(await loaded);
  expect(diagnostics).toEqual([]);
  return desired.drafts.map(({ draftId }) => draftId).sort((a, b) => a - b);
}

const failures = [
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
];

test.each(failures)("what a thread leaves that %s is done by the others", async (_name, script) => {
  const threads = { script: scriptOf(script), count: 3 };
  const loaded = loadManifests({ root: workspaceOf(900), patterns, sources: "stat", threads });
  expect(await draftsOf(loaded)).toEqual(numbers(900));
});

test("where no thread can be started, the main one does all", async () => {
  const threads = { script: new URL("http://localhost/worker.js"), count: 3 };
  const loaded = loadManifests({ root: workspaceOf(900), patterns, sources: "stat", threads });
  expect(await draftsOf(loaded)).toEqual(numbers(900));
});

describe("of many manifests that were kept", () => {
  const count = 2_600;

  /** A workspace that was loaded once, of which one manifest is another since. */
  async function changedSince() {
    const root = workspaceOf(count);
    const cache = { path: join(workspace({}), "pages"), version: "1" };
    await loadManifests({ root, patterns, sources: "stat", cache });
    writeFileSync(join(root, "m/10.yaml"), manifest(9_010));
    return { root, patterns, sources: "stat", cache } as const;
  }
  const expected = [...numbers(count).filter((draft) => draft !== 10), 9_010];

  test.each(failures)(
    "those that a thread leaves that %s are compared by the others",
    async (_name, script) => {
      const threads = { script: scriptOf(script), count: 3 };
      expect(await draftsOf(loadManifests({ ...(await changedSince()), threads }))).toEqual(expected);
    },
  );

  test.each([
    [true, numbers(count)],
    [false, expected],
  ])("a thread's word that they are as they were is %s, and taken for it", async (isAsKept, drafts) => {
    // The first ones are the thread's, that which changed among them.
    const script = scriptOf(`
      const { parentPort } = await import("node:worker_threads");
      parentPort.on("message", ({ type, files }) => {
        if (type === "compare") parentPort.postMessage(files.map(() => ${isAsKept}));
        else throw new Error("the others are left to the main one");
      });`);
    const threads = { script, count: 1 };
    expect(await draftsOf(loadManifests({ ...(await changedSince()), threads }))).toEqual(drafts);
  });
});
