import { join } from "node:path";
import { expect, test } from "vitest";
import { checkFiles } from "../../../src/manifest/check-files.ts";
import { hashFile } from "../../../src/manifest/hash-file.ts";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { SourceText } from "../../../src/manifest/source-text.ts";
import { workspace } from "./support.ts";

function workspaceOf(count: number): string {
  const files = Array.from({ length: count }, (_none, at) => [`${at + 1}.yaml`, `draft: ${at + 1}\n`]);
  return workspace(Object.fromEntries(files));
}

const reason = new Error("interrupted");

test("stops reading a few manifests when interrupted", async () => {
  const signal = AbortSignal.abort(reason);
  const loaded = loadManifests({ root: workspaceOf(20), patterns: ["*.yaml"], sources: "stat", signal });
  await expect(loaded).rejects.toBe(reason);
});

test("stops reading many manifests when interrupted", async () => {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const loaded = loadManifests({ root: workspaceOf(900), patterns: ["*.yaml"], sources: "stat", signal });
  setImmediate(() => interrupt.abort(reason));
  await expect(loaded).rejects.toBe(reason);
});

test("stops reading a source when interrupted, without a diagnostic", async () => {
  const root = workspace({ "a.obj": "v 0 0 0" });
  const signal = AbortSignal.abort(reason);
  await expect(hashFile(join(root, "a.obj"), signal)).rejects.toBe(reason);
  const use = { role: "source", file: "a.yaml", path: "a.obj", span: [0, 0] } as const;
  const textOf = (file: string) => new SourceText(file, "");
  const checked = checkFiles({ root, uses: [use], sources: "hash", textOf, signal });
  await expect(checked).rejects.toBe(reason);
});
