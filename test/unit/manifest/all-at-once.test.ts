import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

async function findingsOf(files: Record<string, string>): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), "draftsync-manifests-"));
  roots.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { diagnostics } = await loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat" });
  return diagnostics.map(({ code, place }) => `${place?.file}:${place?.line}:${place?.column} ${code}`);
}

test("mistakes of every kind in every file and document are reported in one go", async () => {
  const findings = await findingsOf({
    "m/a.yaml": [
      "draft: 1",
      "product_files:",
      "  - file_id: '10'",
      "  - source: ../gone.glb",
      "  - source: ../../outside.glb",
      "  - source: ../here.glb",
      "---",
      "draft: 2",
      "product_files:",
      "  - { file_id: 20, renderr: x }",
      "  - { source: gone-too.glb }",
    ].join("\n"),
    "m/b.yaml": "draft: 3\npublish: [\n",
    "m/c.yaml": "draft: 1e3\n",
    "here.glb": "content",
  });
  expect(findings).toEqual([
    "m/a.yaml:3:14 quoted-number",
    "m/a.yaml:4:13 source-missing",
    "m/a.yaml:5:13 source-outside-workspace",
    "m/a.yaml:10:20 unknown-key",
    "m/a.yaml:11:15 source-missing",
    expect.stringMatching(/^m\/b\.yaml:\d+:\d+ yaml-syntax$/),
    "m/c.yaml:1:8 ambiguous-number",
  ]);
});
