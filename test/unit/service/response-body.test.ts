import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeRedactor } from "../../../src/service/redact.ts";
import { readResponseBody } from "../../../src/service/response-body.ts";

const redactor = makeRedactor("secret-key");
const read = (text: string) =>
  readResponseBody({ status: 200, header: () => undefined, body: Buffer.from(text) }, redactor);

const tooDeep = { type: "unreadable", problem: "its body has more than 100 levels" };

/** Nested lists (true) and objects (false) around an inner text. */
function nested(levels: number, bits: readonly boolean[], inner: string): string {
  const kinds = Array.from({ length: levels }, (_, at) => bits[at % bits.length] === true);
  const open = kinds.map((isList) => (isList ? "[" : '{"a":')).join("");
  const close = kinds
    .map((isList) => (isList ? "]" : "}"))
    .reverse()
    .join("");
  return open + inner + close;
}

describe("readResponseBody", () => {
  test("reads a document of lists and objects up to a hundred levels deep", () => {
    const bits = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
    const inner = fc.constantFrom("0", "[]", "{}", JSON.stringify("x".repeat(500)));
    fc.assert(
      fc.property(fc.integer({ min: 97, max: 104 }), bits, inner, (levels, kinds, innermost) => {
        const text = nested(levels, kinds, innermost);
        const depth = levels + (innermost === "[]" || innermost === "{}" ? 1 : 0);
        expect(read(text)).toEqual(
          depth > 100
            ? tooDeep
            : { type: "json", document: JSON.parse(text) as unknown, isJsonApi: false, isProblem: false },
        );
      }),
    );
  });

  test("finds one deep member among shallow ones", () => {
    const deep = nested(100, [false], "0");
    expect(read(`{"a":[1,2,3],"b":{"c":[]},"d":${deep},"e":1}`)).toEqual(tooDeep);
    expect(read(`[${nested(99, [true], "0")},1]`)).toMatchObject({ type: "json" });
  });

  test("ignores a byte order mark before the document", () => {
    expect(read('\ufeff{"a":"\ufeff"}')).toMatchObject({ type: "json", document: { a: "\ufeff" } });
  });
});
