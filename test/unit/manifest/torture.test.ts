import { expect, test } from "vitest";
import { briefs, read } from "./support.ts";

const deep = 20_000;

const nested: readonly (readonly [name: string, text: string, line: number])[] = [
  ["brackets", `draft: 1\nproduct_files: ${"[".repeat(deep)}${"]".repeat(deep)}\n`, 2],
  ["open brackets", "[".repeat(deep), 1],
  ["braces", `${"{a: ".repeat(deep)}1${"}".repeat(deep)}\n`, 1],
  ["dashes", `draft: 1\nproduct_files:\n  ${"- ".repeat(deep)}x\n`, 3],
  ["question marks", `${"? ".repeat(deep)}x\n`, 1],
  ["indentation", Array.from({ length: 1000 }, (_, level) => `${" ".repeat(level)}a:`).join("\n"), 100],
];

test.each(nested)("reports thousands of levels of %s as one error", (_name, text, line) => {
  const diagnostics = read(text);
  expect(diagnostics.map(({ code, place }) => [code, place?.line])).toEqual([["nesting-too-deep", line]]);
});

test("checks a document before one that is nested too deep", () => {
  expect(briefs(read(`draft: "1"\n---\n${"[".repeat(deep)}`))).toEqual([
    '1:8 quoted-number «"1"»',
    "3:100 nesting-too-deep «[»",
  ]);
});

test("stops an alias bomb at the alias that exceeds the limit", () => {
  const levels = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (const [index, name] of [..."bcdefghij"].entries()) {
    const alias = `*${"abcdefghi"[index]}`;
    levels.push(`${name}: &${name} [${Array.from({ length: 10 }, () => alias).join(", ")}]`);
  }
  const bombs = read(`draft: 1\n${levels.join("\n")}\n`).filter(({ code }) => code === "alias-bomb");
  expect(bombs.map(({ place }) => place?.line)).toEqual([6]);
  expect(bombs[0]?.message).toContain("100,000 values");
});

test("accepts many aliases of one text", () => {
  const entries = Array.from(
    { length: 5000 },
    (_, index) => `  - file_id: ${index + 2}\n    description: *text\n`,
  );
  const first = "  - file_id: 1\n    description: &text Turntable\n";
  expect(read(`draft: 1\npromotional_files:\n${first}${entries.join("")}`)).toEqual([]);
});

test("reports each of 20,000 unknown keys without quadratic time", () => {
  const keys = Array.from({ length: 20_000 }, (_, index) => `key${index}: 1`);
  const diagnostics = read(`draft: 1\n${keys.join("\n")}\n`);
  expect(diagnostics).toHaveLength(20_000);
  expect(diagnostics.at(-1)?.place?.line).toBe(20_001);
});

test("reports each repetition of a key that occurs thousands of times", () => {
  expect(read("draft: 1\n".repeat(10_000))).toHaveLength(9_999);
});

test("reports the first twenty syntax errors of a document", () => {
  expect(read('a: "x\n'.repeat(5000))).toHaveLength(20);
});

test("reads a mapping without changing any prototype", () => {
  read("draft: 1\n__proto__: { polluted: true }\nconstructor: { prototype: { polluted: true } }\n");
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});
