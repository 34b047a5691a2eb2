import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sanitizeLine, sanitizeText } from "../../../src/report/sanitize-text.ts";

/** Characters that can mislead a terminal, a log or a reader; listed independently of the code under test. */
const active = [
  ...Array.from({ length: 32 }, (_none, code) => code),
  0x7f,
  ...Array.from({ length: 32 }, (_none, code) => 0x80 + code),
  ...[
    0x061c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0xfeff, 0xe0001,
    0xe007f,
  ],
].map((code) => String.fromCodePoint(code));

describe("sanitized text", () => {
  test.each(active.map((char) => ({ char, code: `U+${char.codePointAt(0)?.toString(16)}` })))(
    "escapes $code",
    ({ char }) => {
      expect(sanitizeLine(`a${char}b`)).not.toContain(char);
      if (char !== "\n" && char !== "\t") expect(sanitizeText(`a${char}b`)).not.toContain(char);
    },
  );

  test("escapes lone surrogates", () => {
    expect(sanitizeLine("a\ud800b")).toBe("a\\u{d800}b");
  });

  test.each([
    ['English, with "quotes" and 100 %'],
    ["Drache, geflügelt: élève"],
    ["夕暮れの海蛇"],
    ["منارةٌ بيضاء"],
    ["सफ़ेद चीनी मिट्टी"],
    ["👩‍🎨 🇫🇷 1️⃣"],
    ["می‌خواهم"],
  ])("keeps %s unchanged", (text) => {
    expect(sanitizeText(text)).toBe(text);
    expect(sanitizeLine(text)).toBe(text);
  });

  test.each([
    ["::error file=x::boom"],
    ["  ::stop-commands::x"],
    ["text ##[error]x"],
    ["##vso[task.setvariable]x"],
  ])("escapes the CI log command %s", (text) => {
    const shown = sanitizeText(`first line\n${text}`);
    expect(shown).not.toMatch(/^\s*::/m);
    expect(shown).not.toMatch(/##\w*\[/);
    expect(shown.replaceAll("\\u{3a}", ":").replaceAll("\\u{5b}", "[")).toContain(text);
  });

  test("keeps a double colon within a line", () => {
    expect(sanitizeText("std::vector")).toBe("std::vector");
  });

  test("escapes every control character in any text", () => {
    const anything = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...active)));
    fc.assert(
      fc.property(anything, (parts) => {
        const line = sanitizeLine(parts.join(""));
        expect(active.filter((char) => line.includes(char))).toEqual([]);
      }),
    );
  });
});
