import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readBashLine, writeBashWord } from "../../../src/cli/completion/bash-words.ts";

const breaks = " \t\n\"'><=;|&(:";
const read = (line: string) => readBashLine(line, breaks);

describe("a bash line up to the cursor", () => {
  test.each([
    { line: "draftsync ", words: [""], kept: "", quote: "" },
    { line: "draftsync pl", words: ["pl"], kept: "", quote: "" },
    { line: "draftsync plan --format=js", words: ["plan", "--format=js"], kept: "--format=", quote: "" },
    { line: "draftsync x a/source:fi", words: ["x", "a/source:fi"], kept: "a/source:", quote: "" },
    { line: "draftsync x a\\ b\\:c", words: ["x", "a b:c"], kept: "", quote: "" },
    { line: 'draftsync "a b" "c \\"d', words: ["a b", 'c "d'], kept: "", quote: '"' },
    { line: "draftsync a:b'c d", words: ["a:bc d"], kept: "a:b", quote: "'" },
    { line: "draftsync a\\", words: ["a"], kept: "", quote: "" },
    { line: 'draftsync "a\\', words: ["a\\"], kept: "", quote: '"' },
  ])("$line", ({ line, ...rest }) => {
    expect(read(line)).toEqual(rest);
  });

  test("with a quote that was closed at the cursor is left alone", () => {
    expect(read('draftsync "a b"c')).toBeUndefined();
    expect(read('draftsync "a b" c')).toMatchObject({ words: ["a b", "c"] });
  });
});

describe("a word for readline", () => {
  test("is read by bash as exactly that word, whatever is in it", () => {
    const nasty = fc.string({
      unit: fc.constantFrom(..."ab/:=$`\"'\\!~*?[]{}()<>|&;# é日"),
      minLength: 1,
      maxLength: 8,
    });
    const lines: string[] = [];
    const wanted: string[] = [];
    for (const word of fc.sample(nasty, { numRuns: 400, seed: 7 })) {
      for (const start of ["", '"', "'"]) {
        const line = read(`draftsync ${start}`);
        const text = line === undefined ? undefined : writeBashWord(word, line);
        if (text === undefined) continue;
        lines.push(`printf '%s\\0' ${start}${text}${start}`);
        wanted.push(word);
      }
    }
    const said = execFileSync("bash", ["-c", lines.join("\n")], { encoding: "utf8", cwd: "/" });
    expect(said.split("\0").slice(0, -1)).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(800);
  });

  test("is the part behind what readline leaves as it stands", () => {
    const line = { words: [], kept: "drafts/1/product_files/source:", quote: "" } as const;
    expect(writeBashWord("drafts/1/product_files/source:a b.glb", line)).toBe("a\\ b.glb");
  });

  test("is not written inside a quote that it would end", () => {
    expect(writeBashWord("it's", { words: [], kept: "", quote: "'" })).toBeUndefined();
    expect(writeBashWord("no!", { words: [], kept: "", quote: '"' })).toBeUndefined();
  });
});
