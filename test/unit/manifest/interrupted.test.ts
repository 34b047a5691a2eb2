import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSources } from "../../../src/manifest/check-sources.ts";
import { shareOut } from "../../../src/manifest/crew.ts";
import { hashFile } from "../../../src/manifest/hash-file.ts";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { SourceText } from "../../../src/manifest/source-text.ts";
import { scriptOf, workspace } from "./support.ts";

function workspaceOf(count: number): string {
  const files = Array.from({ length: count }, (_none, at) => [`${at + 1}.yaml`, `draft: ${at + 1}\n`]);
  return workspace(Object.fromEntries(files));
}

const reason = new Error("enough");

test("of few manifests the rest is not read", async () => {
  const signal = AbortSignal.abort(reason);
  const loaded = loadManifests({ root: workspaceOf(20), patterns: ["*.yaml"], sources: "stat", signal });
  await expect(loaded).rejects.toBe(reason);
});

test("of many manifests the rest is not read", async () => {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const loaded = loadManifests({ root: workspaceOf(900), patterns: ["*.yaml"], sources: "stat", signal });
  setImmediate(() => interrupt.abort(reason));
  await expect(loaded).rejects.toBe(reason);
});

test("threads that do not answer are not awaited", async () => {
  const silent = "(await import('node:worker_threads')).parentPort.on('message', () => {})";
  const interrupt = new AbortController();
  let left = 1_000 - 2 * 2 * 10;
  const shared = shareOut({
    items: Array.from({ length: 1_000 }, (_none, at) => at),
    threads: { script: scriptOf(silent), count: 2 },
    signal: interrupt.signal,
    itemsPerThread: 1,
    batch: 10,
    order: (items) => items,
    work: () => {
      left -= 1;
      // This thread has done all that the two others do not hold: after one more turn it waits for them.
      if (left === 0) setImmediate(() => setImmediate(() => interrupt.abort(reason)));
    },
    take: () => {},
  });
  await expect(shared).rejects.toBe(reason);
});

test("a source is not read to its end, and nothing is said of it", async () => {
  const root = workspace({ "a.obj": "v 0 0 0" });
  const signal = AbortSignal.abort(reason);
  await expect(hashFile(join(root, "a.obj"), signal)).rejects.toBe(reason);
  const use = { file: "a.yaml", path: "a.obj", span: [0, 0] } as const;
  const textOf = (file: string) => new SourceText(file, "");
  const checked = checkSources({ root, uses: [use], sources: "hash", textOf, signal });
  await expect(checked).rejects.toBe(reason);
});
