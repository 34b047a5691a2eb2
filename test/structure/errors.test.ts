import { describe, expect, test } from "vitest";
import { parseErrorDocs } from "../../src/cli/error-docs.ts";
import { fixedExitCode } from "../../src/cli/runtime/exit-code.ts";
import { commandNames, wordsOf } from "../support/command-names.ts";
import { codesInSources, isInSources } from "../support/error-codes.ts";
import { readText } from "../support/source-files.ts";

const markdown = readText("docs/errors.md");
const uses = codesInSources();
const docs = parseErrorDocs(markdown);

describe("docs/errors.md", () => {
  test("is compared with the codes in src/", () => {
    expect(uses.length).toBeGreaterThan(400);
    for (const known of [
      "lock-held",
      "yaml-tab",
      "plan-stale",
      "ledger-busy",
      "source-missing",
      "bad-fault-rule",
      "connection-reset",
      "probe-harmless",
    ])
      expect(uses.map(({ code }) => code)).toContain(known);
  });

  test("has a section for every code in src/", () => {
    const codes = new Set(docs.map(({ code }) => code));
    const missing = uses.filter(({ code }) => !codes.has(code));
    expect(missing.map(({ code, where }) => `${code} (${where})`)).toEqual([]);
  });

  test("has no section for a code that is not in src/", () => {
    const used = new Set(uses.map(({ code }) => code));
    expect(docs.map(({ code }) => code).filter((code) => !used.has(code) && !isInSources(code))).toEqual([]);
  });

  test("has each code once, in kebab-case", () => {
    const codes = docs.map(({ code }) => code);
    expect(codes.filter((code, at) => codes.indexOf(code) !== at)).toEqual([]);
    expect(codes.filter((code) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(code))).toEqual([]);
  });

  test("has sentences in every section, and steps for every error and warning", () => {
    for (const { code, title, meaning, cure, ending } of docs) {
      expect(title, code).toMatch(/^(?:[A-Z]|`|--|draftsync ).*[^.]$/);
      for (const text of [meaning, ...cure]) {
        expect(text, code).toMatch(/[.]$/);
        expect(text, code).not.toMatch(/\]\(|(?<!`[^`]*)\*\*/);
      }
      if (ending !== "depends") expect(cure, code).not.toEqual([]);
    }
  });

  test("gives the exit codes that commands use", () => {
    const fixed = docs.flatMap(({ code, ending }) => {
      const exit = fixedExitCode(code);
      return exit === undefined ? [] : [{ code, ending, exit }];
    });
    expect(fixed.length).toBeGreaterThan(9);
    expect(fixed.filter(({ ending, exit }) => ending !== exit)).toEqual([]);
  });

  test("names commands and flags that exist", () => {
    const known = commandNames();
    const named = docs.flatMap(({ code, title, meaning, cure }) =>
      [title, meaning, ...cure].flatMap((text) =>
        [...text.matchAll(/`draftsync ([^`]*)`|(?<![\w`-])(--[a-z][a-z-]*)/g)].flatMap(([, command, flag]) =>
          wordsOf(command ?? flag ?? "").map((word) => ({ code, word })),
        ),
      ),
    );
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter(({ word }) => !known.has(word))).toEqual([]);
  });

  test("lists its areas at the top", () => {
    const areas = new Set(docs.map(({ area }) => area));
    expect([...markdown.matchAll(/^- \[(.+)\]\(#/gm)].map(([, name]) => name)).toEqual([...areas]);
  });

  test("is linked from the README", () => {
    expect(readText("README.md")).toContain("(docs/errors.md)");
  });
});
