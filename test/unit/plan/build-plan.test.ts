import { describe, expect, test } from "vitest";
import {
  copyOf,
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wantedFile,
} from "../../support/planning.ts";
import { doubt, lines } from "./support.ts";

const publish = { revision: 1, position: 1 };
const by = { by: "post", at: 0 } as const;
describe("publications", () => {
  const published = (revision: number) => [{ draftId: 1, revision, productId: 900, provenance: by }];
  test.each([
    {
      name: "not published yet",
      wish: 1,
      recorded: recordedWith(),
      changes: ["publish not_published drafts/1/product [revision]"],
      codes: ["publish-without-files"],
    },
    {
      name: "published",
      wish: 1,
      recorded: recordedWith({ publications: published(1) }),
      changes: [],
      codes: [],
    },
    {
      name: "raised",
      wish: 2,
      recorded: recordedWith({ publications: published(1) }),
      changes: ["publish revision_raised drafts/1/product [revision]"],
      codes: ["publish-without-files"],
    },
    {
      name: "lowered",
      wish: 1,
      recorded: recordedWith({ publications: published(2) }),
      changes: [],
      codes: ["revision-lowered"],
    },
    {
      name: "taken away",
      wish: 0,
      recorded: recordedWith({ publications: published(1) }),
      changes: [],
      codes: ["publish-removed"],
    },
    {
      name: "in doubt",
      wish: 1,
      recorded: recordedWith({ inDoubt: [doubt({})] }),
      changes: ["in_doubt outcome_unknown drafts/1/product"],
      codes: [],
    },
  ])("$name", ({ wish, recorded, changes, codes }) => {
    const drafts = [draftWith(1, wish === 0 ? {} : { publish: { revision: wish, position: 1 } })];
    const plan = planOf(desiredWith({ drafts }), recorded);
    expect(lines(desiredWith({ drafts }), recorded)).toEqual(changes);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(codes);
  });

  test.each([
    { name: "a declared file", attachments: [wantedFile(1, 10)], recorded: recordedWith() },
    {
      name: "a recorded file of a list that is left out",
      managed: ["promotional_files"] as const,
      recorded: recordedWith({ attachments: [recordedFile(1, 10)] }),
    },
  ])("publishes a draft with $name without a warning", ({ recorded, attachments = [], managed }) => {
    const draft = draftWith(1, { publish, attachments, ...(managed === undefined ? {} : { managed }) });
    expect(planOf(desiredWith({ drafts: [draft] }), recorded).diagnostics).toEqual([]);
  });

  test("a draft that no manifest names any more keeps its publication, so that it is not published twice", () => {
    expect(planOf(desiredWith(), recordedWith({ publications: published(1) })).changes).toEqual([]);
  });
});

describe("duplicates", () => {
  const wish = (product: { by: "product_id"; productId: number } | { by: "draft"; draftId: number }) =>
    desiredWith({ duplicates: [{ name: "winter", product, file: "m.yaml", position: 1 }] });
  const made = [
    {
      name: "winter",
      from: { by: "product_id", productId: 5 } as const,
      sourceProductId: 5,
      productId: 6,
      provenance: by,
    },
  ];
  test("made once", () => {
    const desired = wish({ by: "product_id", productId: 5 });
    expect(lines(desired, recordedWith())).toEqual(["duplicate not_recorded duplicates/winter [product]"]);
    expect(lines(desired, recordedWith({ duplicates: made }))).toEqual([]);
  });
  test("of a different product than the one it was made from: a warning, no second copy", () => {
    const plan = planOf(wish({ by: "product_id", productId: 8 }), recordedWith({ duplicates: made }));
    expect(plan.changes).toEqual([]);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["duplicate-of-another-product"]);
  });
  test("taken away: forgotten, never deleted", () => {
    expect(lines(desiredWith(), recordedWith({ duplicates: made }))).toEqual([
      "forget not_in_manifest duplicates/winter",
    ]);
  });
  test("is not made while a call in doubt under a removed name may have made the same copy", () => {
    const renamed = (product: { by: "product_id"; productId: number }, productId: number, name = "old") => {
      const copy = doubt({ kind: "duplicate", address: `duplicates/${name}`, intent: { name, productId } });
      const plan = planOf(wish(product), recordedWith({ inDoubt: [copy] }));
      return [...plan.changes.map(({ action }) => action), ...plan.diagnostics.map(({ code }) => code)];
    };
    const product = { by: "product_id", productId: 5 } as const;
    expect(renamed(product, 5)).toEqual(["in_doubt", "duplicate-in-doubt-renamed"]);
    expect(renamed(product, 8)).toEqual(["in_doubt", "duplicate"]);
    expect(renamed(product, 5, "winter")).toEqual(["in_doubt"]);
  });
  test("is not made while a call in doubt may have made it under a name that now stands for a different product", () => {
    const intent = { name: "old", productId: 5 };
    const copy = doubt({ kind: "duplicate", address: "duplicates/old", intent });
    const both = (old: number) => {
      const products = { winter: 5, old };
      const duplicates = Object.entries(products).map(([name, productId]) => ({
        name,
        product: { by: "product_id", productId } as const,
        file: "m.yaml",
        position: 1,
      }));
      return planOf(desiredWith({ duplicates }), recordedWith({ inDoubt: [copy] })).changes;
    };
    expect(both(7).map(({ action }) => action)).toEqual(["in_doubt"]);
    expect(both(5).map(({ action }) => action)).toEqual(["in_doubt", "duplicate"]);
  });
  test("of a draft that is published in the same plan", () => {
    const desired = { ...wish({ by: "draft", draftId: 1 }), drafts: [draftWith(1, { publish })] };
    const plan = planOf(desired, recordedWith());
    expect(plan.changes.find(({ action }) => action === "duplicate")?.after).toEqual({ draft_id: 1 });
  });
  test("of a draft that is never published: an error", () => {
    const plan = planOf(wish({ by: "draft", draftId: 1 }), recordedWith());
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["duplicate-of-unpublished-draft"]);
  });
});

describe("targets", () => {
  const desired = desiredWith({
    drafts: [
      draftWith(1, { attachments: [wantedFile(1, 10), wantedFile(1, 11)], publish }),
      draftWith(11, { attachments: [wantedFile(11, 10)] }),
    ],
  });
  test("a draft takes everything below it, and nothing whose id only begins alike", () => {
    expect(planOf(desired, recordedWith(), { targets: ["drafts/1"] }).summary).toEqual({
      create: 2,
      publish: 1,
    });
  });
  test("a publication without the rest of its draft is an error", () => {
    const plan = planOf(desired, recordedWith(), { targets: ["drafts/1/product"] });
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["target-splits-draft"]);
  });
  test("a copy of a product that would not be published is an error", () => {
    const plan = planOf({ ...desired, duplicates: [copyOf(1)] }, recordedWith(), {
      targets: ["duplicates/copy"],
    });
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["target-splits-draft"]);
  });
  test("a slash at the end is no matter", () => {
    expect(planOf(desired, recordedWith(), { targets: ["drafts/11/"] }).summary).toEqual({ create: 1 });
  });
  test("an address that nothing is at is an error", () => {
    const plan = planOf(desired, recordedWith(), { targets: ["drafts/2"] });
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["target-unknown"]);
  });
});

describe("a copy of a draft's product", () => {
  const duplicates = [copyOf(1)];
  const recorded = recordedWith({
    publications: [{ draftId: 1, revision: 1, productId: 900, provenance: by }],
  });
  test.each([
    ["is made of the product in force", 1, { product_id: 900, draft_id: 1 }],
    ["waits for the product that the same plan publishes", 2, { draft_id: 1 }],
  ])("%s", (_name, revision, after) => {
    const drafts = [draftWith(1, { publish: { revision, position: 1 } })];
    const plan = planOf(desiredWith({ drafts, duplicates }), recorded);
    expect(plan.changes.find(({ action }) => action === "duplicate")?.after).toEqual(after);
  });
});
