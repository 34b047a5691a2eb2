import { describe, expect, test } from "vitest";
import { DraftsyncError } from "../../../src/model/errors.ts";
import { formatDiagnostics, formatError } from "../../../src/report/diagnostic-text.ts";
import { makePalette } from "../../../src/report/palette.ts";

const plain = makePalette(false);

describe("a diagnostic", () => {
  test("shows location, line, mark and hint", () => {
    const text = formatDiagnostics(
      [
        {
          severity: "error",
          code: "unquoted-text",
          message: "format_version must be text",
          hint: 'quote it: "2020"',
          place: { file: "manifests/a.yaml", line: 12, column: 19 },
          excerpt: [{ line: 12, text: "  format_version: 2020", mark: { column: 19, length: 4 } }],
        },
      ],
      plain,
    );
    expect(text).toBe(`error: format_version must be text  [unquoted-text]
  --> manifests/a.yaml:12:19
   |
12 |   format_version: 2020
   |                   ^^^^
  hint: quote it: "2020"`);
  });

  test.each([
    { name: "wide characters", text: "海蛇: x", column: 5, lead: 6 },
    { name: "combining characters", text: "e\u0301: x", column: 5, lead: 3 },
    { name: "escaped characters", text: "\u001b: x", column: 4, lead: 8 },
  ])("has its mark below the marked text: $name", ({ text, column, lead }) => {
    const excerpt = [{ line: 1, text, mark: { column, length: 1 } }];
    const shown = formatDiagnostics([{ severity: "warning", code: "c", message: "m", excerpt }], plain);
    expect(shown.split("\n").at(-1)).toBe(`  | ${" ".repeat(lead)}^`);
  });

  test("shows its address unless the message contains it", () => {
    const shown = (message: string) =>
      formatDiagnostics([{ severity: "info", code: "c", message, address: "drafts/1" }], plain);
    expect(shown("something")).toContain("--> drafts/1");
    expect(shown("drafts/1 is odd")).not.toContain("-->");
  });
});

describe("an error", () => {
  test("shows its request, code and hint, with control characters escaped", () => {
    const error = new DraftsyncError("it said \u001b[31mno", {
      code: "server-error",
      hint: "Try later.",
      request: { method: "GET", url: "https://api.example.com/\u202e" },
    });
    expect(formatError(error, plain)).toBe(
      "error: it said \\u{1b}[31mno  [server-error]\n  --> GET https://api.example.com/\\u{202e}\n  hint: Try later.",
    );
  });
});
