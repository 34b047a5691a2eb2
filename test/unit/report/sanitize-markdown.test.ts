import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  codeSpan,
  headOf,
  htmlCode,
  plainWords,
  tableCell,
  tailOf,
} from "../../../src/report/sanitize-markdown.ts";
import { sanitizeLine } from "../../../src/report/sanitize-text.ts";
import { hostileText } from "../../support/hostile-plans.ts";
import { render } from "../../support/rendered.ts";
import { runs } from "../../support/runs.ts";

function codesOf(markdown: string): string[] {
  return render(markdown)
    .elements.filter(({ tag }) => tag === "code")
    .map(({ text }) => text);
}

describe("untrusted text in Markdown", () => {
  test("is shown unchanged in a list, a table and a summary", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const shown = sanitizeLine(text);
        const blank = /^ *$/.test(shown);
        const one = [blank ? expect.stringMatching(/^ *$/) : shown];
        expect(codesOf(`- a ${codeSpan(text)} b`)).toEqual(one);
        expect(codesOf(`| a |\n|---|\n| x ${tableCell(codeSpan(text))} |`)).toEqual(one);
        expect(codesOf(`<details><summary>${htmlCode(text)}</summary>\n\n</details>`)).toEqual([shown]);
      }),
      runs(200),
    );
  });

  test.each([
    { text: "confirmed by POST 3 days ago; file 12, 110.7 kB (it's new)", isPlain: true },
    { text: "by @team", isPlain: false },
    { text: "see #1", isPlain: false },
    { text: "GH-1", isPlain: false },
    { text: "www.evil.example", isPlain: false },
    { text: "deadbeef12", isPlain: false },
    { text: "*bold*", isPlain: false },
  ])("needs no code span: $isPlain, for $text", ({ text, isPlain }) => {
    expect(plainWords(text)).toBe(isPlain ? text : `\`${text}\``);
  });

  test("is cut between characters", () => {
    expect([headOf("a🐉b", 2), tailOf("a🐉b", 2), codeSpan("a🐉b", 2)]).toEqual(["a", "b", "`a…`"]);
  });
});
