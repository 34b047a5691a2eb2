import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../../src/cli/config.ts";
import { DiagnosticsError } from "../../../src/cli/runtime/cli-error.ts";
import { formatDiagnostics } from "../../../src/report/diagnostic-text.ts";
import { makeFolder } from "../../support/cli.ts";

async function errorOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeFolder(files);
  onTestFinished(() => folder.dispose());
  const failed: unknown = await loadConfig({ cwd: folder.path, env: {}, flags: {} }).catch((error) => error);
  return failed instanceof DiagnosticsError ? formatDiagnostics(failed.diagnostics) : String(failed);
}

const head = "version: 1\nworkspace: w\nservice: sandbox\n";

test.each([
  "notify:\n  url: https://hooks.example/SECRET\n  urlx: 1\n",
  "notify: { url: https://hooks.example/SECRET, x: 1 }\n",
  "notify:\n  url: [https://hooks.example/SECRET]\n",
  "notify:\n  url: https://hooks.example/SECRET\nrefrsh: 1\n",
  "notify:\n  url: https://hooks.example/SECRET\n  url: b\n",
  "notify:\n  url: 'https://hooks.example/SECRET\n",
  "state: postgres://u:SECRET@h/db\nx: 1\n",
  "api_key: SECRET\n",
  "sevrice:\n  apiKey: SECRET\n",
])("shows no secret in an error of a config or its base: %j", async (text) => {
  for (const files of [
    { "draftsync.yaml": head + text },
    { "draftsync.yaml": `extends: base.yaml\n${head}`, "base.yaml": text },
  ]) {
    const shown = await errorOf(files);
    expect(shown).toMatch(/^error: /);
    expect(shown).not.toContain("SECRET");
  }
});

test("shows all other lines of an error unchanged", async () => {
  const text = "version: 1\nworkspace: w\nservice:\n  base_url: https://api.example.com\n  rat: 1\n";
  expect(await errorOf({ "draftsync.yaml": text })).toContain("4 |   base_url: https://api.example.com\n");
  const files = "service: { api_key_file: keys/studio, rat: 1 }\n";
  expect(await errorOf({ "draftsync.yaml": `version: 1\nworkspace: w\n${files}` })).toContain("keys/studio");
});
