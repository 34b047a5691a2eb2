import { describe, expect, test } from "vitest";
import {
  copyOf,
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  refreshSummary,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";
import { doubt } from "./support.ts";

const publish = { revision: 1, position: 1 };
const by = { by: "post", at: 0 } as const;

describe("publications", () => {
  const published = (revision: number) =>
    recordedWith({ publications: [{ draftId: 1, revision, productId: 900, provenance: by }] });
  test.each([
    { name: "a declared file", attachments: [wantedFile(1, 10)], recorded: recordedWith() },
    {
      name: "a recorded file in an unmanaged list",
      managed: ["promotional_files"] as const,
      recorded: recordedWith({ attachments: [recordedFile(1, 10)] }),
    },
  ])("publishes a draft with $name without a warning", ({ recorded, attachments = [], managed }) => {
    const draft = draftWith(1, { publish, attachments, ...(managed === undefined ? {} : { managed }) });
    expect(planOf(desiredWith({ drafts: [draft] }), recorded).diagnostics).toEqual([]);
  });

  test("keeps the publication of a draft that is no longer declared", () => {
    expect(planOf(desiredWith(), published(1)).changes).toEqual([]);
  });
});

describe("duplicates", () => {
  const wish = (product: { by: "product_id"; productId: number } | { by: "draft"; draftId: number }) =>
    desiredWith({ duplicates: [{ name: "winter", product, file: "m.yaml", position: 1 }] });
  test("makes no copy while a call in doubt under a removed name may have made it", () => {
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
  test("says how a copy without a name becomes that of an entry, whose copy waits for it", () => {
    const copy = doubt({ kind: "duplicate", address: "products/5/duplicate", intent: { productId: 5 } });
    const { diagnostics } = planOf(
      wish({ by: "product_id", productId: 5 }),
      recordedWith({ inDoubt: [copy] }),
    );
    expect(diagnostics).toMatchObject([
      { hint: expect.stringContaining("draftsync import duplicates/winter=ID") },
    ]);
    expect(diagnostics[0]?.hint).not.toContain("renamed");
  });
  test.each([
    { from: { by: "draft", draftId: 1 }, product: { by: "product_id", productId: 5 } },
    { from: { by: "product_id", productId: 5 }, product: { by: "draft", draftId: 1 } },
  ] as const)(
    "names the former copy when the entry was renamed and names its product by $product.by",
    (renamed) => {
      const provenance = { by: "post", at: 0 } as const;
      const copy = { name: "old", from: renamed.from, sourceProductId: 5, productId: 6, provenance };
      const publication = { draftId: 1, revision: 1, productId: 5, provenance };
      const recorded = recordedWith({ duplicates: [copy], publications: [publication] });
      const plan = planOf(wish(renamed.product), recorded);
      expect(plan.changes).toMatchObject([
        { action: "forget" },
        { action: "duplicate", former: "duplicates/old" },
      ]);
      const hint = expect.stringContaining("`draftsync state mv duplicates/old duplicates/winter`");
      expect(plan.diagnostics).toContainEqual(expect.objectContaining({ code: "duplicate-forgotten", hint }));
    },
  );
  test("rejects a copy that was made under a name that now has a different product", () => {
    const provenance = { by: "post", at: 0 } as const;
    const from = { by: "product_id", productId: 5 } as const;
    const copy = { name: "old", from, sourceProductId: 5, productId: 6, provenance };
    const both = (old: number) => {
      const duplicates = [
        { name: "old", product: { by: "product_id", productId: old } as const, file: "m.yaml", position: 1 },
        { name: "winter", product: from, file: "m.yaml", position: 2 },
      ];
      const plan = planOf(desiredWith({ duplicates }), recordedWith({ duplicates: [copy] }));
      return [...plan.changes.map(({ action }) => action), ...plan.diagnostics.map(({ code }) => code)];
    };
    expect(both(5)).toEqual(["duplicate"]);
    expect(both(7)).toEqual(["duplicate-name-reused", "duplicate-of-another-product"]);
  });
  test("makes no copy while a call in doubt may have made it under a name that now has a different product", () => {
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
  test("rejects a duplicate of a draft that is never published", () => {
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
  test("selects everything below a draft, and no draft whose id has the same prefix", () => {
    expect(planOf(desired, recordedWith(), { targets: ["drafts/1"] }).summary).toEqual({
      create: 2,
      publish: 1,
    });
  });
  test.each([
    ["a publication without the rest of its draft", "drafts/1/product", "target-splits-draft"],
    ["a duplicate whose source would not be published", "duplicates/copy", "target-splits-draft"],
    ["an unknown address", "drafts/2", "target-unknown"],
  ])("rejects %s", (_name, target, code) => {
    const plan = planOf({ ...desired, duplicates: [copyOf(1)] }, recordedWith(), { targets: [target] });
    expect(plan.diagnostics.map((diagnostic) => diagnostic.code)).toEqual([code]);
  });
  test("ignores a slash at the end", () => {
    expect(planOf(desired, recordedWith(), { targets: ["drafts/11/"] }).summary).toEqual({ create: 1 });
  });
});

describe("a duplicate of a draft's product", () => {
  const duplicates = [copyOf(1)];
  const recorded = recordedWith({
    publications: [{ draftId: 1, revision: 1, productId: 900, provenance: by }],
  });
  test.each([
    ["copies the published product", 1, recorded, { product_id: 900, draft_id: 1 }],
    ["waits for the first publish in the same plan", 1, recordedWith(), { draft_id: 1 }],
    ["waits for the publish of a higher revision in the same plan", 2, recorded, { draft_id: 1 }],
  ])("%s", (_name, revision, given, after) => {
    const drafts = [draftWith(1, { publish: { revision, position: 1 } })];
    const plan = planOf(desiredWith({ drafts, duplicates }), given);
    expect(plan.changes.find(({ action }) => action === "duplicate")?.after).toEqual(after);
  });
});

describe("what a refresh has read", () => {
  const source = "drafts/1/product_files/source:a.glb";
  const old = recordedFile(1, 10, { address: source, sha256: "old", attributes: { renderer: "recorded" } });
  const read = { ...old, attributes: { renderer: "read" }, provenance: { by: "probe", at: 5 } } as const;
  const file = { draftId: 1, fileKind: "product_files", fileId: 10 } as const;
  const update = doubt({ kind: "update", address: source, intent: { ...file, attributes: {} } });
  test.each([
    { is: "is kept by a replacement that a plan shows", inDoubt: [], renderer: "read" },
    { is: "is left to the next apply while its file is in doubt", inDoubt: [update], renderer: "recorded" },
  ])("$is", ({ inDoubt, renderer }) => {
    const draft = draftWith(1, { attachments: [wantedSource(1, "a.glb", "new", {})] });
    const observed = {
      summary: refreshSummary(),
      drift: [],
      unreadable: [],
      confirmations: [{ type: "rerecorded", attachment: read } as const],
    };
    const { changes } = planOf(
      desiredWith({ drafts: [draft] }),
      recordedWith({ attachments: [old], inDoubt }),
      { observed },
    );
    expect(changes.find(({ action }) => action === "replace")?.after).toMatchObject({ renderer });
  });
});
