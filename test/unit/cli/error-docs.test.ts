import { describe, expect, test } from "vitest";
import { parseErrorDocs } from "../../../src/cli/error-docs.ts";

const section = (text: string) => parseErrorDocs(`# Error codes\n\n## Plans\n\nAbout plans.\n\n### ${text}`);

describe("parseErrorDocs", () => {
  test("reads a section and joins wrapped lines", () => {
    const text =
      "`plan-stale`\n\n**The plan is old.** Exit code 6.\n\nIt was made\nbefore.\n\n- Plan\n  again.\n- Apply.\n";
    expect(section(text)).toEqual([
      {
        code: "plan-stale",
        area: "Plans",
        title: "The plan is old",
        meaning: "It was made before.",
        cure: ["Plan again.", "Apply."],
        ending: 6,
      },
    ]);
  });

  test.each([
    { name: "no exit code", line: "**It failed.**", ending: "depends" },
    { name: "a warning", line: "**It failed.** The command continues.", ending: "goes-on" },
    { name: "a three-digit exit code", line: "**It failed.** Exit code 130.", ending: 130 },
  ])("reads the exit code from $name", ({ line, ending }) => {
    expect(
      section(`\`a-b\`\n\n${line}\n\nWhy.\n\n### \`c\`\n\n${line}\n\nWhy.\n\n- Fix it.\n`),
    ).toMatchObject([
      { code: "a-b", cure: [], ending },
      { code: "c", cure: ["Fix it."], ending },
    ]);
  });

  test.each([
    { name: "without a title", text: "`a`\n\nWhy.\n" },
    { name: "without a meaning", text: "`a`\n\n**It failed.**\n\n- Fix it.\n" },
    { name: "with a code that is not quoted", text: "a\n\n**It failed.**\n\nWhy.\n" },
    { name: "with text after the steps", text: "`a`\n\n**It failed.**\n\nWhy.\n\n- Fix it.\n\nMore.\n" },
    { name: "with an exit code that does not exist", text: "`a`\n\n**It failed.** Exit code 9.\n\nWhy.\n" },
  ])("throws for a section $name", ({ text }) => {
    expect(() => section(text)).toThrow(/^docs\/errors\.md has a malformed /);
  });
});
