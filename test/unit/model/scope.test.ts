import { describe, expect, test } from "vitest";
import { isInScope, parseScope } from "../../../src/model/scope.ts";

function selected(scope: string, addresses: readonly string[]): readonly string[] {
  const parsed = parseScope(scope);
  return parsed === undefined ? [] : addresses.filter((address) => isInScope(address, parsed));
}

const addresses = [
  "drafts/1",
  "drafts/1/product",
  "drafts/1/product_files/10",
  "drafts/1/product_files/source:files/a.glb",
  "drafts/1/product_files/source:files/a.glb/b.glb",
  "drafts/1/promotional_files/10",
  "drafts/11/product_files/10",
  "duplicates/dragon",
  "duplicates/dragon/",
  "duplicates/dragon/winter",
  "duplicates/drafts/1",
  "uploads/files/a.glb",
];

describe("scope", () => {
  test.each([
    {
      scope: "drafts/1",
      selects: [
        "drafts/1",
        "drafts/1/product",
        "drafts/1/product_files/10",
        "drafts/1/product_files/source:files/a.glb",
        "drafts/1/product_files/source:files/a.glb/b.glb",
        "drafts/1/promotional_files/10",
      ],
    },
    { scope: "drafts/1/promotional_files", selects: ["drafts/1/promotional_files/10"] },
    { scope: "drafts/11/", selects: ["drafts/11/product_files/10"] },
    { scope: "drafts/1/product_files/10", selects: ["drafts/1/product_files/10"] },
    {
      scope: "drafts/1/product_files/source:files/a.glb",
      selects: ["drafts/1/product_files/source:files/a.glb"],
    },
    { scope: "drafts/1/product_files/source:files", selects: [] },
    { scope: "drafts/1/product", selects: ["drafts/1/product"] },
    { scope: "duplicates/dragon", selects: ["duplicates/dragon"] },
    { scope: "duplicates/dragon/", selects: ["duplicates/dragon/"] },
    {
      scope: "duplicates",
      selects: ["duplicates/dragon", "duplicates/dragon/", "duplicates/dragon/winter", "duplicates/drafts/1"],
    },
    { scope: "uploads/", selects: ["uploads/files/a.glb"] },
    { scope: "drafts", selects: addresses.filter((address) => address.startsWith("drafts")) },
  ])("selects the addresses at and below $scope, not those with the same prefix", ({ scope, selects }) => {
    expect(selected(scope, addresses)).toEqual(selects);
  });

  test.each(["", "/", "draft", "drafts/01", "drafts/1/product_file", "products/1", "drafts/1/product/2"])(
    "is invalid: %j",
    (text) => {
      expect(parseScope(text)).toBeUndefined();
    },
  );
});
