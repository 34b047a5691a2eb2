import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Change } from "../../../src/model/change.ts";
import type { Recorded } from "../../../src/model/recorded.ts";
import { digestOf } from "../../../src/plan/digest.ts";
import { estimateCost } from "../../../src/plan/estimate.ts";
import { excludeByPolicy, type PolicyAction, policyActions } from "../../../src/plan/policy.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";
import { doubt } from "./support.ts";

const by = { by: "post", at: 0 } as const;

/** Every change: draft 1 has each change of files, 2 and 3 are published, 4 loses its protection. */
const desired = desiredWith({
  drafts: [
    draftWith(1, {
      attachments: [wantedFile(1, 1), wantedFile(1, 2, { renderer: "b" }), wantedSource(1, "a.glb", "s2")],
      publish: { revision: 1, position: 1 },
    }),
    draftWith(2, { publish: { revision: 1, position: 1 } }),
    draftWith(3, { protect: true, publish: { revision: 2, position: 1 } }),
    draftWith(4, { attachments: [wantedFile(4, 1)], publish: { revision: 1, position: 1 } }),
  ],
  duplicates: [
    { name: "of-one", product: { by: "draft", draftId: 1 }, file: "a.yaml", position: 1 },
    { name: "of-three", product: { by: "draft", draftId: 3 }, file: "a.yaml", position: 1 },
    { name: "plain", product: { by: "product_id", productId: 5 }, file: "a.yaml", position: 1 },
  ],
});
const recorded: Recorded = recordedWith({
  protectedDrafts: new Set([4]),
  attachments: [
    recordedFile(1, 2, { attributes: { renderer: "a" } }),
    recordedFile(1, 3),
    recordedFile(1, 9, { address: "drafts/1/product_files/source:a.glb", sha256: "s1" }),
  ],
  publications: [{ draftId: 3, revision: 1, productId: 30, provenance: by }],
  duplicates: [
    {
      name: "gone",
      from: { by: "product_id", productId: 1 },
      sourceProductId: 1,
      productId: 2,
      provenance: by,
    },
  ],
});
const plan = planOf(desired, recorded);
const namesOf = (changes: readonly Change[]) => changes.map(({ action, address }) => `${action} ${address}`);
const narrow = (...allowed: PolicyAction[]) => excludeByPolicy(plan, new Set(allowed));

const needed = (change: Change): PolicyAction | undefined => {
  if (change.action === "in_doubt" || change.action === "adopt") return undefined;
  if (change.action === "update" && "protect" in change.after)
    return change.after.protect ? undefined : "delete";
  return change.action;
};

describe("policy", () => {
  test("leaves the plan unchanged when it allows every action", () => {
    expect(narrow(...policyActions)).toEqual({ plan, excluded: {} });
    expect(plan.changes).toHaveLength(15);
  });

  test("excludes the other actions and their dependents, with one warning per action", () => {
    const { plan: left, excluded } = narrow("create", "update");
    expect(namesOf(left.changes)).toEqual(
      [
        "update drafts/1/product_files/2",
        "create drafts/1/product_files/1",
        "update drafts/3",
        "create drafts/4/product_files/1",
      ].sort((a, b) => ((a.split(" ")[1] ?? "") < (b.split(" ")[1] ?? "") ? -1 : 1)),
    );
    expect(excluded).toEqual({ replace: 1, delete: 2, publish: 4, duplicate: 3, forget: 1 });
    expect(left.diagnostics.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      "excluded-by-policy: 1 change is excluded: the policy does not allow forget",
      "excluded-by-policy: 1 change is excluded: the policy does not allow replace",
      "excluded-by-policy: 2 changes are excluded: the policy does not allow delete",
      "excluded-by-policy: 3 changes are excluded: the policy does not allow duplicate",
      "excluded-by-policy: 4 changes are excluded: the policy does not allow publish",
      "duplicate-forgotten: duplicates/gone is no longer declared; declared again later, it is copied a second time",
      "publish-without-files: drafts/2/product: no file is attached to draft 2 when it is published",
      "publish-without-files: drafts/3/product: no file is attached to draft 3 when it is published",
    ]);
  });

  test("publishes only drafts of which no change is excluded", () => {
    const { plan: left, excluded } = narrow("create", "update", "replace", "publish", "duplicate");
    const published = left.changes.filter(({ action }) => action === "publish");
    expect(namesOf(published)).toEqual(["publish drafts/2/product", "publish drafts/3/product"]);
    // A product that is not published yet cannot be duplicated.
    expect(namesOf(left.changes.filter(({ action }) => action === "duplicate"))).toEqual([
      "duplicate duplicates/of-three",
      "duplicate duplicates/plain",
    ]);
    expect(excluded).toEqual({ delete: 2, publish: 2, duplicate: 1, forget: 1 });
    expect(left.diagnostics.map(({ message }) => message)).toContain(
      "2 changes are excluded with a change it depends on: publish",
    );
  });

  test("keeps a protection when it does not allow deletes, and the draft's other changes", () => {
    const { plan: left } = narrow("create", "publish");
    expect(namesOf(left.changes.filter(({ address }) => address.startsWith("drafts/4")))).toEqual([
      "create drafts/4/product_files/1",
    ]);
    expect(namesOf(narrow("create", "delete").plan.changes)).toContain("update drafts/4");
  });

  test("announces no next plan for deletes whose draft keeps its protection", () => {
    const recorded = recordedWith({ attachments: [recordedFile(1, 7)], protectedDrafts: new Set([1]) });
    const plan = planOf(desiredWith({ drafts: [draftWith(1)] }), recorded);
    expect(plan.diagnostics).toMatchObject([{ code: "deletes-excluded" }]);
    const { plan: left } = excludeByPolicy(plan, new Set(["create"]));
    expect(left.diagnostics.map(({ code }) => code)).not.toContain("deletes-excluded");
    const { plan: lifting } = excludeByPolicy(plan, new Set(["delete"]));
    expect(lifting.diagnostics).toEqual(plan.diagnostics);
  });

  test("never excludes settling, adopting or protecting", () => {
    const intent = { draftId: 1, fileKind: "product_files", fileId: 1 } as const;
    const inDoubt = doubt({ address: "drafts/1/product_files/1", kind: "attach", intent });
    const known = recordedWith({
      inDoubt: [inDoubt],
      uploads: [],
      attachments: [recordedFile(2, 7, { address: "drafts/2/product_files/source:a.glb", sha256: "s1" })],
    });
    const wished = desiredWith({
      drafts: [
        draftWith(1, { protect: true, attachments: [wantedFile(1, 1)] }),
        draftWith(2, { attachments: [wantedFile(2, 7)] }),
      ],
    });
    const all = planOf(wished, known);
    expect(namesOf(all.changes)).toEqual([
      "update drafts/1",
      "in_doubt drafts/1/product_files/1",
      "adopt drafts/2/product_files/7",
    ]);
    expect(excludeByPolicy(all, new Set())).toEqual({ plan: all, excluded: {} });
  });
});

describe("a narrowed plan", () => {
  const policies = fc.subarray([...policyActions]).map((allowed) => new Set(allowed));

  test("has only allowed changes, its own id and estimate, and counts the excluded changes", () => {
    fc.assert(
      fc.property(policies, (allowed) => {
        const { plan: left, excluded } = excludeByPolicy(plan, allowed);
        for (const change of left.changes) {
          const action = needed(change);
          expect(action === undefined || allowed.has(action), change.address).toBe(true);
        }
        const missing = Object.values(excluded).reduce((sum, count) => sum + count, 0);
        expect(left.changes.length + missing).toBe(plan.changes.length);
        const { plan_id, ...rest } = left;
        expect(plan_id).toBe(digestOf(rest));
        expect(left.estimate).toEqual(
          estimateCost(left.changes, { rate: { limit: 10, windowMs: 1000 }, uploadsPerRead: 50 }),
        );
        const { noop: _unchanged, ...summary } = left.summary;
        expect(Object.values(summary).reduce((sum, count) => sum + count, 0)).toBe(left.changes.length);
        expect(excludeByPolicy(left, allowed).plan.changes).toEqual(left.changes);
      }),
    );
  });

  test("publishes and duplicates a draft only with all of its other changes", () => {
    fc.assert(
      fc.property(policies, (allowed) => {
        const left = new Set(namesOf(excludeByPolicy(plan, allowed).plan.changes));
        const missing = plan.changes.filter((change) => !left.has(`${change.action} ${change.address}`));
        for (const id of [1, 2, 3, 4]) {
          const lacks = missing.some(({ address }) => `${address}/`.startsWith(`drafts/${id}/`));
          if (left.has(`publish drafts/${id}/product`)) expect(lacks).toBe(false);
        }
        if (left.has("duplicate duplicates/of-one")) expect(left).toContain("publish drafts/1/product");
      }),
    );
  });

  test("detaches nothing from a draft that still lacks a file", () => {
    fc.assert(
      fc.property(policies, (allowed) => {
        const left = new Set(namesOf(excludeByPolicy(plan, allowed).plan.changes));
        if (!left.has("create drafts/1/product_files/1") || !left.has("update drafts/1/product_files/2")) {
          expect([...left].filter((name) => /^(delete|replace) drafts\/1\//.test(name))).toEqual([]);
        }
      }),
    );
  });
});

test("never takes away what is in doubt, whatever else of no draft is excluded", () => {
  const copy = doubt({ kind: "duplicate", address: "duplicates/a", intent: { name: "a", productId: 5 } });
  const wish = (name: string, productId: number) =>
    ({ name, product: { by: "product_id", productId }, file: "a.yaml", position: 1 }) as const;
  const both = planOf(
    desiredWith({ duplicates: [wish("a", 5), wish("b", 6)] }),
    recordedWith({ inDoubt: [copy] }),
  );
  const narrowed = excludeByPolicy(both, new Set<PolicyAction>(["create"]));
  expect(namesOf(narrowed.plan.changes)).toEqual(["in_doubt duplicates/a"]);
});
