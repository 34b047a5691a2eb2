import { describe, expect, test } from "vitest";
import { holdersOf, makeUploadClaim } from "../../../src/apply/claims.ts";
import { makeClaim } from "../../../src/model/lists.ts";
import type { Recorded } from "../../../src/model/recorded.ts";
import { recordedWith } from "../../support/planning.ts";

const provenance = { by: "post", at: 0 } as const;
const recorded: Recorded = recordedWith({
  publications: [
    { draftId: 7, revision: 1, productId: 101, provenance },
    { draftId: 7, revision: 2, productId: 102, provenance },
  ],
  duplicates: [
    {
      name: "winter",
      from: { by: "product_id", productId: 71 },
      sourceProductId: 71,
      productId: 103,
      provenance,
    },
  ],
  uploads: [{ uploadId: "up-9", status: "success", fileId: 77, at: 0 }],
});

describe("the product of an answer", () => {
  test.each([
    ["the product in force of the same draft", 102, undefined],
    ["that of an earlier revision", 101, "an earlier revision of drafts/7/product"],
    ["a copy", 103, "duplicates/winter"],
    ["what a recorded copy was made of", 71, "which duplicates/winter is a copy"],
    ["what the plan copies", 72, "which duplicates/spring is a copy"],
    ["a new one", 104, undefined],
  ])("is refused unless it can be the draft's: %s", (_what, productId, holder) => {
    const copy = {
      address: "duplicates/spring",
      action: "duplicate",
      reason: "not_recorded",
      before: null,
      after: { product_id: 72 },
      attributes: ["product"],
    } as const;
    const { products } = holdersOf(recorded, { changes: [copy] });
    expect(makeClaim("drafts/7/product", products)(productId)).toBe(holder);
  });
});

describe("the upload of an answer", () => {
  test("is refused if it is known by its id, unless the answer names the object", () => {
    const claim = makeUploadClaim({ key: "in/a" }, holdersOf(recorded));
    expect(claim({ uploadId: "up-9", status: "pending", rawStatus: "queued" })).toContain("upload_id:up-9");
    expect(claim({ uploadId: "up-9", status: "pending", rawStatus: "queued", uploadKey: "in/a" })).toBe(
      undefined,
    );
    expect(claim({ uploadId: "up-10", status: "pending", rawStatus: "queued" })).toBe(undefined);
  });
});
