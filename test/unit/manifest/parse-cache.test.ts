import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { digestOf, readPageCache, writePageCache } from "../../../src/manifest/page-cache.ts";
import { complete } from "../../support/complete.ts";
import { workspace } from "./support.ts";

/** As many as a cache is kept for. */
const many = Object.fromEntries(
  Array.from({ length: 200 }, (_none, at) => [`m/${at}.yaml`, manifest(at + 1, "fbx")]),
);

function manifest(draft: number, format: string): string {
  return `draft: ${draft}\nproduct_files:\n  - { file_id: ${1000 + draft}, file_format: ${format} }\n`;
}

/** A workspace of 200 manifests that was loaded once, with its cache. */
async function loaded() {
  const root = workspace(many);
  const path = join(workspace({}), "below/that/is/new/pages");
  const load = (version = "1") =>
    loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat", cache: { path, version } });
  const first = await load();
  return { root, path, load, first };
}

const formatsOf = (loaded: Awaited<ReturnType<typeof loadManifests>>) =>
  complete(loaded).desired.drafts.map(({ attachments }) => attachments[0]?.attributes.file_format);

/** Has the cache say something else of a manifest, as nobody but its owner can. */
async function forge(path: string, file: string, change: (encoded: string) => string): Promise<void> {
  const pages = new Map(await readPageCache(path, "1"));
  const page = pages.get(file);
  if (page === undefined) throw new Error(`no page of ${file}`);
  const encoded = Buffer.from(change(Buffer.from(page.encoded).toString()));
  await writePageCache(path, "1", pages.set(file, { ...page, encoded }));
}

test("what is as it was comes from the run before, what changed from the file", async () => {
  const { root, path, load, first } = await loaded();
  expect(await load()).toEqual(first);
  const forged = (encoded: string) => encoded.replace('"fbx"', '"kept"');
  await forge(path, "m/7.yaml", forged);
  await forge(path, "m/8.yaml", forged);
  writeFileSync(join(root, "m/8.yaml"), manifest(9, "obj"));
  expect(new Set(formatsOf(await load()))).toEqual(new Set(["fbx", "kept", "obj"]));
  expect(formatsOf(await load()).filter((format) => format === "obj")).toHaveLength(1);
});

test("another version's pages are not used", async () => {
  const { path, load, first } = await loaded();
  await forge(path, "m/7.yaml", (encoded) => encoded.replace('"fbx"', '"kept"'));
  expect(await load("2")).toEqual(first);
});

test("a page that is none is read after all", async () => {
  const { path, load, first } = await loaded();
  for (const encoded of [
    "",
    "7",
    "[]",
    "[[[[1]]]]",
    "[[],[],[],[]]",
    '[[],[[["1",true,1,1,1,0,0],[],[],[]]],[],[],[]]',
    "[[],[[[1,true,1,1,1,0,0],[],[[1,1,0,null,null,null,null,null]],[]]],[],[],[]]",
  ]) {
    await forge(path, "m/7.yaml", () => encoded);
    expect(await load(), encoded).toEqual(first);
  }
});

test("a cache that is cut off or has a wrong byte anywhere holds nothing", async () => {
  const path = join(workspace({}), "pages");
  const pages = new Map([
    ["m/a.yaml", { digest: digestOf("a"), encoded: Buffer.from("[[],[],[],[]]") }],
    ["m/tab\t\n.yaml", { digest: digestOf("b"), encoded: Buffer.from('[[],[],[],["é"]]') }],
  ]);
  await writePageCache(path, "1", pages);
  expect(await readPageCache(path, "1")).toEqual(pages);
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at += 1) {
    writeFileSync(path, whole.subarray(0, at));
    expect(await readPageCache(path, "1")).toEqual(new Map());
    const wrong = Buffer.from(whole);
    wrong[at] = (wrong[at] ?? 0) ^ 1;
    writeFileSync(path, wrong);
    expect(await readPageCache(path, "1")).toEqual(new Map());
  }
});

test("runs at the same time leave a whole cache, which is for its owner alone", async () => {
  const path = join(workspace({}), "pages");
  const caches = Array.from({ length: 8 }, (_none, at) => {
    return new Map([["m/a.yaml", { digest: String(at), encoded: Buffer.alloc(100_000, "x") }]]);
  });
  await Promise.all(caches.map((pages) => writePageCache(path, "1", pages)));
  expect(caches).toContainEqual(await readPageCache(path, "1"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a cache that cannot be written changes nothing", async () => {
  const root = workspace(many);
  const cache = { path: join(root, "m/1.yaml/pages"), version: "1" };
  const loading = loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat", cache });
  expect(complete(await loading).desired.drafts).toHaveLength(200);
});

test("few manifests leave no cache", async () => {
  const root = workspace({ "m/a.yaml": manifest(1, "fbx") });
  const path = join(root, "pages");
  await loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat", cache: { path, version: "1" } });
  expect(() => statSync(path)).toThrow("ENOENT");
});
