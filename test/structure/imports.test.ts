import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { filesBelow, readText } from "../support/source-files.ts";

/** Targets of the static and dynamic relative imports of a module, as repository paths. */
function ownImports(path: string, text: string): string[] {
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map(([, target = ""]) => posix.join(posix.dirname(path), target));
}

function folderOf(path: string): string {
  const [, folder = "", ...rest] = path.split("/");
  return rest.length === 0 ? "(entry)" : folder;
}

const imports = filesBelow("src", ".ts").flatMap(({ path, text }) =>
  ownImports(path, text).map((target) => ({ path, target, from: folderOf(path), to: folderOf(target) })),
);

/** The library and cli/ compose all parts, so they may import everything. */
const composers = new Set(["cli", "library", "(entry)"]);

/** Allowed imports of each folder, from the table in docs/architecture.md. */
const allowed: ReadonlyMap<string, readonly string[]> = new Map(
  [...readText("docs/architecture.md").matchAll(/^\| `src\/(\w+)\/` \|.*\| ([^|]+) \|$/gm)].map(
    ([, folder = "", imports = ""]) => [
      folder,
      [...imports.matchAll(/`(\w+)\/`/g)].map(([, name = ""]) => name),
    ],
  ),
);

describe("import rule", () => {
  test("is checked against real imports", () => {
    expect(imports.filter(({ to }) => to === "model").length).toBeGreaterThan(50);
    expect(imports.filter(({ from }) => from === "cli").length).toBeGreaterThan(20);
  });

  test("allows a folder only the imports in docs/architecture.md; cli/ and the library may import everything", () => {
    const folders = new Set(imports.map(({ from }) => from));
    expect([...folders].filter((folder) => folder !== "(entry)" && !allowed.has(folder))).toEqual([]);
    const broken = imports.filter(
      ({ from, to }) => from !== to && !composers.has(from) && !allowed.get(from)?.includes(to),
    );
    expect(broken.map(({ path, target }) => `${path} -> ${target}`)).toEqual([]);
  });

  test("allows only the library to import cli/", () => {
    const broken = imports.filter(({ from, to }) => to === "cli" && !composers.has(from));
    expect(broken.map(({ path, target }) => `${path} -> ${target}`)).toEqual([]);
  });

  test("allows sandbox/ to import only itself", () => {
    const broken = imports.filter(({ from, to }) => from === "sandbox" && to !== "sandbox");
    expect(broken.map(({ path, target }) => `${path} -> ${target}`)).toEqual([]);
  });

  test("requires every import to name an existing file with its extension", () => {
    const known = new Set(filesBelow("src", ".ts").map(({ path }) => path));
    expect(
      imports.filter(({ target }) => !known.has(target)).map(({ path, target }) => `${path} -> ${target}`),
    ).toEqual([]);
  });
});

describe("database drivers", () => {
  test.each([
    { driver: "libsql", adapter: "src/ledger/sqlite/" },
    { driver: "pg", adapter: "src/ledger/postgres/" },
  ])("$driver is loaded only by $adapter", ({ driver, adapter }) => {
    const importers = filesBelow("src", ".ts").filter(
      ({ path, text }) => new RegExp(`from "${driver}"`).test(text) && !path.startsWith("src/sandbox/"),
    );
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter(({ path }) => !path.startsWith(adapter)).map(({ path }) => path)).toEqual([]);
    const heavy = new Set(importers.map(({ path }) => path));
    const eager = filesBelow("src", ".ts").flatMap(({ path, text }) =>
      [...text.matchAll(/from "(\.[^"]+)"/g)]
        .map(([, target = ""]) => posix.join(posix.dirname(path), target))
        // Fleet commands always need PostgreSQL.
        .filter((target) => heavy.has(target) && !path.startsWith(adapter) && !path.startsWith("src/fleet/"))
        .map((target) => `${path} -> ${target}`),
    );
    expect(eager).toEqual([]);
  });
});

describe("conformance suite", () => {
  test("uses plain HTTP and imports nothing of the client", () => {
    const files = filesBelow("test/conformance", ".ts");
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter(({ text }) => /src\/(?!sandbox\/)/.test(text)).map(({ path }) => path)).toEqual([]);
  });
});
