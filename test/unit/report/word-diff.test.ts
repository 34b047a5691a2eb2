import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffWords, splitLines } from "../../../src/report/word-diff.ts";

const side = (segments: ReturnType<typeof diffWords>, omitted: "added" | "removed") =>
  segments
    .filter(({ op }) => op !== omitted)
    .map(({ text }) => text)
    .join("");

describe("text comparison", () => {
  test("reproduces both texts", () => {
    const words = fc
      .array(fc.constantFrom("a", "dragon", " ", "\n", "海蛇", "منارة", ",", ""))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(words, words, (before, after) => {
        const segments = diffWords(before, after);
        expect(side(segments, "added")).toBe(before);
        expect(side(segments, "removed")).toBe(after);
      }),
    );
  });

  test.each([
    { before: "lit from the left.", after: "lit from the right.", changed: ["-left", "+right"] },
    { before: "静かに姿を現す", after: "静かに姿を隠す", changed: ["-現す", "+隠す"] },
    { before: "منارة حمراء", after: "منارة بيضاء", changed: ["-حمراء", "+بيضاء"] },
    { before: "", after: "new", changed: ["+new"] },
    { before: "same", after: "same", changed: [] },
  ])("marks whole words from $before to $after", ({ before, after, changed }) => {
    const marks = { added: "+", removed: "-", same: "" };
    const found = diffWords(before, after).filter(({ op }) => op !== "same");
    expect(found.map(({ op, text }) => `${marks[op]}${text}`)).toEqual(changed);
  });

  test("shows long texts whole", () => {
    const long = "word ".repeat(30_000);
    expect(diffWords(long, `${long}!`).map(({ op }) => op)).toEqual(["removed", "added"]);
  });

  test("shows texts with little in common whole", () => {
    const words = (name: string) => Array.from({ length: 5_000 }, (_none, at) => `${name}${at}`).join(" ");
    expect(diffWords(words("a"), words("b")).map(({ op }) => op)).toEqual(["removed", "added"]);
    const one = words("a").replace("a2500 ", "b2500 ");
    expect(diffWords(words("a"), one).map(({ op }) => op)).toEqual(["same", "removed", "added", "same"]);
  });

  test("splits into lines without loss", () => {
    const lines = splitLines(diffWords("one\ntwo\n\nthree", "one\n2\n\nthree\nfour"));
    const shown = lines.map((line) => line.map(({ text }) => text).join("|"));
    expect(shown).toEqual(["one", "two|2", "", "three", "four"]);
  });
});
