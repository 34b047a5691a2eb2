import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { filesBelow } from "../support/source-files.ts";

const sources = filesBelow("src", ".ts");
const tests = filesBelow("test", ".ts");
const all = [...sources, ...tests];

function paths(files: readonly { path: string }[]): string[] {
  return files.map(({ path }) => path);
}

describe("house style", () => {
  test("is checked against real files", () => {
    expect(sources.length).toBeGreaterThan(60);
    expect(tests.length).toBeGreaterThan(20);
  });

  test.each([
    { name: "source files have at most 350 lines", files: sources, most: 350 },
    { name: "test files have fewer than 400 lines", files: tests, most: 399 },
  ])("$name", ({ files, most }) => {
    expect(paths(files.filter(({ text }) => text.split("\n").length - 1 > most))).toEqual([]);
  });

  test("file names are in kebab-case", () => {
    const odd = all.filter(
      ({ path }) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|config|d))?\.ts$/.test(posix.basename(path)),
    );
    expect(paths(odd)).toEqual([]);
  });

  test("there are no barrel files and no catch-all names", () => {
    const barrels = sources.filter(({ path }) => /\/index\.ts$/.test(path) && path !== "src/index.ts");
    const catchAll = all.filter(({ path }) => /\b(utils?|helpers?|common|misc)\b/.test(path));
    expect(paths([...barrels, ...catchAll])).toEqual([]);
  });

  test("there are no TODO marks and no suppressed checks", () => {
    const marks = /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|expect-error|nocheck)|eslint-disable/;
    const own = "test/structure/house-style.test.ts";
    expect(paths(all.filter(({ path, text }) => path !== own && marks.test(text)))).toEqual([]);
  });

  test("every export of a source file has a doc comment", () => {
    const bare = sources.flatMap(({ path, text }) => {
      const lines = text.split("\n");
      return lines.flatMap((line, at) => {
        if (!/^export (async )?(function|class|interface|type(?! \{)|const|abstract class)\b/.test(line))
          return [];
        const before = lines[at - 1]?.trim() ?? "";
        return before.endsWith("*/") || /^export (async )?function/.test(lines[at - 1] ?? "")
          ? []
          : [`${path}:${at + 1}`];
      });
    });
    expect(bare).toEqual([]);
  });
});
