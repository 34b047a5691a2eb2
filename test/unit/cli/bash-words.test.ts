import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readBashLine, writeBashWord } from "../../../src/cli/completion/bash-words.ts";

const breaks = " \t\n\"'><=;|&(:";
const read = (line: string) => readBashLine(line, breaks);

describe("readBashLine", () => {
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
  ])("splits $line", ({ line, ...rest }) => {
    expect(read(line)).toEqual(rest);
  });

  test("returns nothing when the word at the cursor follows a closed quote", () => {
    expect(read('draftsync "a b"c')).toBeUndefined();
    expect(read('draftsync "a b" c')).toMatchObject({ words: ["a b", "c"] });
  });
});

describe("writeBashWord", () => {
  test("writes any word so that bash reads exactly that word", () => {
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
    const printed = execFileSync("bash", ["-c", lines.join("\n")], { encoding: "utf8", cwd: "/" });
    expect(printed.split("\0").slice(0, -1)).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(800);
  });

  test("writes only the part after the text that readline keeps", () => {
    const line = { words: [], kept: "drafts/1/product_files/source:", quote: "" } as const;
    expect(writeBashWord("drafts/1/product_files/source:a b.glb", line)).toBe("a\\ b.glb");
  });

  test("writes nothing within a quote that the word would end", () => {
    expect(writeBashWord("it's", { words: [], kept: "", quote: "'" })).toBeUndefined();
    expect(writeBashWord("no!", { words: [], kept: "", quote: '"' })).toBeUndefined();
  });
});
