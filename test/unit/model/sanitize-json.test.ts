import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sanitizeJson } from "../../../src/model/sanitize-json.ts";

describe("sanitizeJson", () => {
  test("writes JSON that parses to the same value and has no effect in a terminal", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\u009b31m", "\u202e", "\u2066", "\u{e0041}", "\u001b"),
    );
    const values = fc.dictionary(text, fc.array(text));
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 2), (value, indent) => {
        const json = sanitizeJson(value, indent);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(json).not.toMatch(
          /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u,
        );
        expect([...json].every((char) => char === "\n" || char >= " ")).toBe(true);
      }),
    );
  });
});
