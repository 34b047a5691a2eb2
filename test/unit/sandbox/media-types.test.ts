import { describe, expect, test } from "vitest";
import { parseAccept, parseMediaType } from "../../../src/sandbox/media-types.ts";

describe("parseMediaType", () => {
  test.each<[string, string, [string, string][]]>([
    ["application/json", "application/json", []],
    ["Application/JSON;Charset=UTF-8", "application/json", [["charset", "UTF-8"]]],
    [
      'a/b; c="d;e, \\"f\\""; g=h',
      "a/b",
      [
        ["c", 'd;e, "f"'],
        ["g", "h"],
      ],
    ],
    ["a/b ; c=", "a/b", [["c", ""]]],
  ])("parses %s", (text, name, parameters) => {
    expect(parseMediaType(text)).toEqual({ name, parameters: new Map(parameters) });
  });

  test.each(["", "json", "a/", "/b", "a/b c/d"])("rejects %j", (text) => {
    expect(parseMediaType(text)).toBeUndefined();
  });
});

describe("parseAccept", () => {
  test("splits at commas outside quotes, and omits invalid media ranges", () => {
    const names = parseAccept('a/b; c="d,e", nonsense, */*;q=0.1').map((range) => range.name);
    expect(names).toEqual(["a/b", "*/*"]);
  });
});
