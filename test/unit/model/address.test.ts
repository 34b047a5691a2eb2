import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Address } from "../../../src/model/address.ts";
import { formatAddress, parseAddress, parseId } from "../../../src/model/address.ts";

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const name = fc.string({ unit: "grapheme", minLength: 1 });

const refs = fc.oneof(
  fc.record({ by: fc.constant("file_id" as const), fileId: id }),
  fc.record({ by: fc.constant("source" as const), source: name }),
  fc.record({ by: fc.constant("upload_id" as const), uploadId: name }),
  fc.record({ by: fc.constant("upload_key" as const), uploadKey: name }),
);

const addresses: fc.Arbitrary<Address> = fc.oneof(
  fc.record({ type: fc.constant("draft" as const), draftId: id }),
  fc.record({ type: fc.constant("publication" as const), draftId: id }),
  fc.record({ type: fc.constant("duplicate" as const), name: name.map((each) => each.normalize("NFC")) }),
  fc.record({ type: fc.constant("upload" as const), source: name }),
  fc.record({
    type: fc.constant("attachment" as const),
    draftId: id,
    kind: fc.constantFrom("product_files" as const, "promotional_files" as const),
    ref: refs,
  }),
);

describe("address", () => {
  test("normalizes the name of a duplicate to NFC", () => {
    const address = parseAddress(`duplicates/${"Drâché".normalize("NFD")}`);
    expect(address).toEqual({ type: "duplicate", name: "Drâché".normalize("NFC") });
  });

  test("is parsed back to the same value", () => {
    fc.assert(
      fc.property(addresses, (address) => {
        expect(parseAddress(formatAddress(address))).toEqual(address);
      }),
    );
  });

  test.each([
    ["drafts/48213/product_files/9900011"],
    ["drafts/48213/promotional_files/upload_key:incoming/turntable.mp4"],
    ["drafts/48213/product_files/source:files/dragon.blend"],
    ["drafts/48213/product"],
    ["duplicates/dragon-winter"],
    ["uploads/files/dragon.blend"],
  ])("is valid: %s", (text) => {
    const address = parseAddress(text);
    expect(address && formatAddress(address)).toBe(text);
  });

  test.each([
    [""],
    ["drafts"],
    ["drafts/"],
    ["drafts/048213"],
    ["drafts/1/product/2"],
    ["drafts/1/product_files"],
    ["drafts/1/product_files/"],
    ["drafts/1/product_files/007"],
    ["drafts/1/product_files/source:"],
    ["drafts/1/product_files/url:x"],
    ["drafts/1/other_files/2"],
    ["products/1"],
  ])("is invalid: %j", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe("id", () => {
  test.each([
    ["1", 1],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ])("is valid: %s", (text, value) => expect(parseId(text)).toBe(value));

  test.each([
    ["0"],
    ["01"],
    ["-1"],
    ["1.0"],
    ["1e3"],
    ["0x10"],
    [" 1"],
    ["9007199254740992"],
    ["9007199254740993"],
    ["99999999999999999"],
  ])("is invalid: %j", (text) => expect(parseId(text)).toBeUndefined());
});
