import { chownSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { readParseCache, writeParseCache } from "../../../src/manifest/parse-cache.ts";
import { complete } from "../../support/complete.ts";
import { workspace } from "./support.ts";

const count = 200;
const numbers = Array.from({ length: count }, (_none, at) => at + 1);
const many = Object.fromEntries(numbers.map((draft) => [`m/${draft}.yaml`, manifest(draft, "fbx")]));

function manifest(draft: number, format: string): string {
  return `draft: ${draft}\nproduct_files:\n  - { file_id: ${1000 + draft}, file_format: ${format} }\n`;
}

/** A workspace of 200 manifests, loaded once with a cache. */
async function loaded() {
  const root = workspace(many);
  const path = join(workspace({}), "a/new/folder/cache");
  const load = (version = "1") =>
    loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat", cache: { path, version: () => version } });
  const first = await load();
  return { root, path, load, first };
}

const formatsOf = (loaded: Awaited<ReturnType<typeof loadManifests>>) =>
  complete(loaded).desired.drafts.map(({ attachments }) => attachments[0]?.attributes.file_format);

/** Changes the entries of a cache, so that a test sees which results come from the cache. */
async function forge(path: string, from: string, to: string): Promise<void> {
  const cache = { path, version: () => "1" };
  const entries = await readParseCache(cache, undefined);
  expect(entries.size).toBe(count);
  const files = [...entries].map(([digest, parsed]) => ({
    digest,
    parsed: JSON.parse(JSON.stringify(parsed).replaceAll(from, to)),
  }));
  await writeParseCache(cache, files, undefined);
}

test("uses the cache for unchanged manifests and parses changed ones", async () => {
  const { root, path, load, first } = await loaded();
  expect(await load()).toEqual(first);
  await forge(path, '"fbx"', '"cached"');
  expect(new Set(formatsOf(await load()))).toEqual(new Set(["cached"]));
  writeFileSync(join(root, "m/8.yaml"), manifest(8, "obj"));
  const formats = formatsOf(await load());
  expect(formats.filter((format) => format === "obj")).toHaveLength(1);
  expect(formats.filter((format) => format === "cached")).toHaveLength(count - 1);
});

test("parses a manifest whose content changed but not its size and modification time", async () => {
  const { root, path, load } = await loaded();
  await forge(path, '"fbx"', '"cached"');
  const file = join(root, "m/8.yaml");
  const { atime, mtime } = statSync(file);
  writeFileSync(file, manifest(8, "obj"));
  utimesSync(file, atime, mtime);
  expect(formatsOf(await load()).filter((format) => format === "obj")).toHaveLength(1);
});

test("uses no entry of a manifest with the same content at another path", async () => {
  const { root, load } = await loaded();
  writeFileSync(join(root, "m/8.yaml"), "draft: none\n");
  await load();
  writeFileSync(join(root, "m/other.yaml"), "draft: none\n");
  const { diagnostics } = await load();
  expect(diagnostics.map(({ place }) => place?.file)).toEqual(["m/8.yaml", "m/other.yaml"]);
});

test("does not use the cache of a different version", async () => {
  const { path, load, first } = await loaded();
  await forge(path, '"fbx"', '"cached"');
  expect(await load("2")).toEqual(first);
});

test.runIf(process.getuid?.() === 0)("does not use the cache of a different user", async () => {
  const { path, load, first } = await loaded();
  await forge(path, '"fbx"', '"cached"');
  chownSync(path, 12_345, 12_345);
  expect(await load()).toEqual(first);
});

test("reads a cache that is truncated or has a wrong byte anywhere as empty", async () => {
  const cache = { path: join(workspace({}), "cache"), version: () => "1" };
  const parsed = { drafts: [], duplicates: [], defaults: [], layouts: [], otherFiles: [], diagnostics: [] };
  const files = [
    { digest: "a", parsed },
    {
      digest: "b",
      parsed: { ...parsed, otherFiles: [{ role: "source" as const, path: "é\n", span: [1, 2] as const }] },
    },
    { parsed },
  ];
  await writeParseCache(cache, files, undefined);
  const expected = new Map(files.slice(0, 2).map(({ digest = "", parsed }) => [digest, parsed]));
  expect(await readParseCache(cache, undefined)).toEqual(expected);
  const whole = readFileSync(cache.path);
  for (let at = 0; at < whole.length; at += 1) {
    writeFileSync(cache.path, whole.subarray(0, at));
    expect((await readParseCache(cache, undefined)).size).toBe(0);
    const wrong = Buffer.from(whole);
    wrong[at] = (wrong[at] ?? 0) ^ 1;
    writeFileSync(cache.path, wrong);
    expect((await readParseCache(cache, undefined)).size).toBe(0);
  }
});

test("leaves a complete cache after several writers, readable by its owner only", async () => {
  const cache = { path: join(workspace({}), "cache"), version: () => "1" };
  const parsed = { drafts: [], duplicates: [], defaults: [], layouts: [], otherFiles: [], diagnostics: [] };
  const digests = Array.from({ length: 8 }, (_none, at) => String(at).repeat(100_000));
  await Promise.all(digests.map((digest) => writeParseCache(cache, [{ digest, parsed }], undefined)));
  const [digest] = (await readParseCache(cache, undefined)).keys();
  expect(digests).toContain(digest);
  expect(statSync(cache.path).mode & 0o777).toBe(0o600);
});

test("loads manifests although the cache cannot be written", async () => {
  const root = workspace(many);
  const cache = { path: join(root, "m/1.yaml/cache"), version: () => "1" };
  const loading = loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat", cache });
  expect(complete(await loading).desired.drafts).toHaveLength(count);
});

test("writes no cache for few manifests", async () => {
  const root = workspace({ "m/a.yaml": manifest(1, "fbx") });
  const cache = { path: join(root, "cache"), version: () => "1" };
  await loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat", cache });
  expect(() => statSync(cache.path)).toThrow("ENOENT");
});
