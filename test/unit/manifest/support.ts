import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { chooseDocument } from "../../../src/manifest/manifest-schema.ts";
import { readYaml } from "../../../src/manifest/read-yaml.ts";
import type { Diagnostic } from "../../../src/model/diagnostic.ts";

/** A folder with the given files, by relative path; it is removed when the test has finished. */
export function workspace(files: Readonly<Record<string, string | Uint8Array>>): string {
  const root = mkdtempSync(join(tmpdir(), "draftsync-manifest-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
  }
  return root;
}

/** Loads every YAML file of a workspace that is made of the given files. */
export function load(
  files: Readonly<Record<string, string | Uint8Array>>,
  sources: "hash" | "stat" = "stat",
) {
  return loadManifests({ root: workspace(files), patterns: ["**/*.yaml"], sources });
}

/** The diagnostics of one manifest, read without other files. */
export function read(text: string | Uint8Array): readonly Diagnostic[] {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const reading = readYaml({ file: "m.yaml", bytes, schema: chooseDocument });
  return reading.ok ? [] : reading.errors;
}

/** A short form of a diagnostic, with the text that its excerpt marks: `1:8 quoted-number «"48213"»`. */
export function brief(diagnostic: Diagnostic): string {
  const { place, code, excerpt } = diagnostic;
  const line = excerpt?.find((each) => each.mark !== undefined);
  const from = (line?.mark?.column ?? 1) - 1;
  const marked = line?.text.slice(from, from + (line.mark?.length ?? 0));
  if (line !== undefined && line.line !== place?.line)
    return `excerpt of line ${line.line} at ${place?.line}`;
  return `${place?.line}:${place?.column} ${code}${marked === undefined ? "" : ` «${marked}»`}`;
}

/** The short form of each diagnostic. */
export function briefs(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(brief);
}

/** The short form of each diagnostic after its file. */
export function briefsWithFile(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map((each) => `${each.place?.file ?? "-"}:${brief(each)}`);
}
