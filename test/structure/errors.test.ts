import { describe, expect, test } from "vitest";
import { allCodes, errorAreas, explanationOf } from "../../src/cli/explain/catalogue.ts";
import { errorsMarkdown } from "../../src/cli/explain/page-markdown.ts";
import { commandNames, wordsOf } from "../support/command-names.ts";
import { codesInSources, isInSources } from "../support/error-codes.ts";
import { readText } from "../support/source-files.ts";

const uses = codesInSources();
const pages = errorAreas.flatMap(({ pages }) => Object.entries(pages));

describe("the table of error codes", () => {
  test("is checked against real codes", () => {
    expect(uses.length).toBeGreaterThan(220);
    for (const known of [
      "lock-held",
      "yaml-tab",
      "plan-stale",
      "ledger-busy",
      "source-not-found",
      "bad-fault-rule",
    ])
      expect(uses.map(({ code }) => code)).toContain(known);
  });

  test("has every code that the sources say", () => {
    const missing = uses.filter(({ code }) => explanationOf(code) === undefined);
    expect(missing.map(({ code, where }) => `${code} (${where})`)).toEqual([]);
  });

  test("has no code that nobody says", () => {
    const said = new Set(uses.map(({ code }) => code));
    expect(allCodes().filter((code) => !said.has(code) && !isInSources(code))).toEqual([]);
  });

  test("has each code once, in kebab-case", () => {
    expect(allCodes().filter((code, at, all) => all.indexOf(code) !== at)).toEqual([]);
    expect(allCodes().filter((code) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(code))).toEqual([]);
  });

  test("says of every code what it means, and of every error what to do", () => {
    for (const [code, { title, meaning, cure, ending }] of pages) {
      expect(title, code).toMatch(/^[A-Z].*[^.]$/);
      expect(meaning, code).toMatch(/[.]$/);
      for (const step of cure) expect(step, code).toMatch(/[.]$/);
      if (typeof explanationOf(code)?.ending === "number" || ending === "goes-on")
        expect(cure, code).not.toEqual([]);
    }
  });

  test("names commands and flags that there are", () => {
    const known = commandNames();
    const named = pages.flatMap(([code, { meaning, cure }]) =>
      [meaning, ...cure].flatMap((text) =>
        [...text.matchAll(/`draftsync ([^`]*)`|(?<![\w`-])(--[a-z][a-z-]*)/g)].flatMap(([, command, flag]) =>
          wordsOf(command ?? flag ?? "").map((word) => ({ code, word })),
        ),
      ),
    );
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter(({ word }) => !known.has(word))).toEqual([]);
  });
});

describe("docs/errors.md", () => {
  test("is the table, written out", async () => {
    await expect(errorsMarkdown()).toMatchFileSnapshot("../../docs/errors.md");
  });

  test("is found from the README", () => {
    expect(readText("README.md").includes("(docs/errors.md)")).toBe(true);
  });
});
