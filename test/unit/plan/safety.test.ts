import { describe, expect, test } from "vitest";
import type { Drift } from "../../../src/model/drift.ts";
import type { Observed } from "../../../src/model/observed.ts";
import { checkSafety } from "../../../src/plan/safety.ts";
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

const limits = { maxDeletes: { percent: 30, above: 10 }, removedDrafts: "delete" } as const;
const ids = (count: number) => Array.from({ length: count }, (_none, at) => at + 1);

/** A plan that keeps `kept` of `total` recorded files. */
function keeping(kept: number, total: number) {
  const recorded = recordedWith({ attachments: ids(total).map((id) => recordedFile(1, id)) });
  const drafts = [draftWith(1, { attachments: ids(kept).map((id) => wantedFile(1, id)) })];
  return { plan: planOf(desiredWith({ drafts }), recorded), recorded };
}

/** Observations: these files of draft 1 are no longer attached. */
function goneOf(fileIds: readonly number[]): Observed {
  const at = new Date(0).toISOString();
  const drift = fileIds.map((id): Drift => {
    const { address } = recordedFile(1, id);
    const confirmed = { by: "post", at } as const;
    return {
      address,
      type: "gone",
      before: { file_id: id },
      after: null,
      attributes: [],
      confirmed,
      observed_at: at,
    };
  });
  return { summary: refreshSummary(), drift, confirmations: [], unreadable: [] };
}

describe("delete limit", () => {
  test("is a share of the recorded files that are still attached", () => {
    const { plan: _, recorded } = keeping(0, 30);
    const kept = draftWith(1, { attachments: ids(18).map((id) => wantedFile(1, id + 12)) });
    const gone = goneOf(ids(1));
    const plan = planOf(desiredWith({ drafts: [kept] }), recorded, { observed: gone });
    expect(checkSafety(plan, recorded, limits)[0]?.message).toContain("11 of 29 recorded files");
  });

  test.each([
    { gone: 10, total: 10, refused: false },
    { gone: 11, total: 37, refused: false },
    { gone: 11, total: 36, refused: true },
  ])("applies to files that are gone: $gone of $total, refused: $refused", ({ gone, total, refused }) => {
    const { plan: _, recorded } = keeping(total, total);
    const kept = draftWith(1, { attachments: ids(total).map((id) => wantedFile(1, id)) });
    const plan = planOf(desiredWith({ drafts: [kept] }), recorded, { observed: goneOf(ids(gone)) });
    const refusals = checkSafety(plan, recorded, limits);
    expect(refusals.map(({ code }) => code)).toEqual(refused ? ["too-many-gone"] : []);
    if (refused) expect(refusals[0]?.message).toContain(`${gone} of ${total} recorded files`);
    const raised = { ...limits, maxDeletes: { percent: 31, above: 10 } };
    expect(checkSafety(plan, recorded, raised)).toEqual([]);
  });

  test.each([
    { kept: 90, total: 100, refused: false },
    { kept: 70, total: 100, refused: false },
    { kept: 69, total: 100, refused: true },
    { kept: 2, total: 12, refused: false },
    { kept: 1, total: 12, refused: true },
    { kept: 1, total: 11, refused: false },
  ])("applies to deletes: $kept of $total kept, refused: $refused", ({ kept, total, refused }) => {
    const { plan, recorded } = keeping(kept, total);
    const codes = checkSafety(plan, recorded, limits).map(({ code }) => code);
    expect(codes).toEqual(refused ? ["too-many-deletes"] : []);
  });

  test("states its numbers and the flag that overrides it", () => {
    const { plan, recorded } = keeping(50, 100);
    const [refusal] = checkSafety(plan, recorded, limits);
    expect(refusal?.message).toContain("50 of 100 recorded files (50.0 %)");
    expect(refusal?.message).toContain("more than 10 are only detached up to 30 %");
    expect(refusal?.hint).toContain("--max-deletes 50");
    expect(checkSafety(plan, recorded, { ...limits, maxDeletes: { percent: 50, above: 10 } })).toEqual([]);
  });
});

describe("a recorded draft that is no longer declared", () => {
  const cautious = { ...limits, removedDrafts: "refuse" } as const;
  const { recorded } = keeping(0, 3);

  test("is named, and its deletes are refused without --remove-drafts", () => {
    const plan = planOf(desiredWith(), recorded);
    expect(plan.removed_drafts).toEqual([{ address: "drafts/1", deletes: 3 }]);
    const [refusal, ...others] = checkSafety(plan, recorded, cautious);
    expect(others).toEqual([]);
    expect(refusal?.message).toContain("1 draft is no longer declared: drafts/1");
    expect(refusal?.hint).toContain("--remove-drafts");
    expect(checkSafety(plan, recorded, limits)).toEqual([]);
  });

  test("counts only the files that are still attached", () => {
    const plan = planOf(desiredWith(), recorded, { observed: goneOf([1]) });
    expect(plan.removed_drafts).toEqual([{ address: "drafts/1", deletes: 2 }]);
    const empty = planOf(desiredWith(), recorded, { observed: goneOf([1, 2, 3]) });
    expect(empty.removed_drafts).toEqual([]);
    expect(checkSafety(empty, recorded, cautious)).toEqual([]);
  });

  test("is not refused in a plan with other targets", () => {
    const other = draftWith(2, { attachments: [wantedFile(2, 5)] });
    const plan = planOf(desiredWith({ drafts: [other] }), recorded, { targets: ["drafts/2"] });
    expect(plan.removed_drafts).toEqual([]);
    expect(checkSafety(plan, recorded, cautious)).toEqual([]);
  });

  test("does not include a draft that is declared with empty lists", () => {
    const { plan } = keeping(0, 3);
    expect(plan).toMatchObject({ summary: { delete: 3 }, removed_drafts: [] });
    expect(checkSafety(plan, recorded, cautious)).toEqual([]);
  });
});

test("refuses to remove an undeclared duplicate from the ledger without --remove-drafts", () => {
  const copy = {
    name: "copy",
    from: { by: "product_id", productId: 5 },
    sourceProductId: 5,
    productId: 6,
    provenance: { by: "post", at: 1 },
  } as const;
  const recorded = recordedWith({ duplicates: [copy] });
  const plan = planOf(desiredWith(), recorded);
  expect(checkSafety(plan, recorded, { ...limits, removedDrafts: "refuse" })).toMatchObject([
    { code: "removed-duplicates", message: expect.stringContaining("duplicates/copy is no longer declared") },
  ]);
  expect(checkSafety(plan, recorded, limits)).toEqual([]);
});

describe("a protected draft", () => {
  const attachments = [
    recordedFile(1, 1),
    recordedFile(1, 2, { address: "drafts/1/product_files/source:a", sha256: "old" }),
  ];
  const protectedDrafts = new Set([1]);

  test.each([
    { name: "a delete", wish: [wantedSource(1, "a", "old")], refused: ["drafts/1/product_files/1"] },
    {
      name: "a replace",
      wish: [wantedFile(1, 1), wantedSource(1, "a", "new")],
      refused: ["drafts/1/product_files/source:a"],
    },
    {
      name: "a create",
      wish: [wantedFile(1, 1), wantedSource(1, "a", "old"), wantedFile(1, 3)],
      refused: [],
    },
  ])("has these addresses refused for $name: $refused", ({ wish, refused }) => {
    const recorded = recordedWith({ attachments, protectedDrafts });
    const plan = planOf(
      desiredWith({ drafts: [draftWith(1, { protect: true, attachments: wish })] }),
      recorded,
    );
    expect(checkSafety(plan, recorded, limits).map(({ address }) => address)).toEqual(refused);
  });

  test("is protected in the plan that protects it first", () => {
    const recorded = recordedWith({ attachments });
    const plan = planOf(
      desiredWith({ drafts: [draftWith(1, { protect: true, attachments: [wantedFile(1, 1)] })] }),
      recorded,
    );
    expect(checkSafety(plan, recorded, limits).map(({ code }) => code)).toEqual(["draft-protected"]);
  });

  test("stays protected when its document is removed", () => {
    const recorded = recordedWith({ attachments, protectedDrafts });
    const plan = planOf(
      desiredWith({ drafts: [draftWith(2, { attachments: [wantedFile(2, 1)] })] }),
      recorded,
    );
    expect(checkSafety(plan, recorded, limits)).toMatchObject([
      { code: "draft-protected", hint: expect.stringContaining("draftsync state rm drafts/1") },
    ]);
  });

  test("loses its protection first, and its deletes and publish follow in the next plan", () => {
    const drafts = [draftWith(1, { attachments: [wantedFile(1, 1)], publish: { revision: 1, position: 1 } })];
    const recorded = recordedWith({ attachments, protectedDrafts });
    const plan = planOf(desiredWith({ drafts }), recorded);
    expect(plan.changes.map(({ action, reason }) => `${action} ${reason}`)).toEqual(["update unprotect"]);
    expect(plan.diagnostics.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      "deletes-excluded: draft 1 is still protected in the ledger: 2 changes wait until the protection is lifted",
    ]);
    expect(checkSafety(plan, recorded, limits)).toEqual([]);
    const next = planOf(desiredWith({ drafts }), recordedWith({ attachments }));
    expect(next.summary).toEqual({ delete: 1, publish: 1, noop: 1 });
  });
});

describe("a draft with an attach in doubt", () => {
  const address = "drafts/1/product_files/source:c.glb";
  const intent = { draftId: 1, fileKind: "product_files", fileId: 9, attributes: {}, sha256: "old" } as const;
  const attach = doubt({ address, kind: "attach", intent });
  const a = recordedFile(1, 1, { address: "drafts/1/product_files/source:a.glb", sha256: "new" });
  const recorded = recordedWith({ attachments: [a], inDoubt: [attach] });
  const publish = { revision: 1, position: 1 };
  const duplicates = [copyOf(1)];

  test.each([
    ["a different content", [wantedSource(1, "c.glb", "other")]],
    ["the content of a renamed file", [wantedSource(1, "c.glb", "new")]],
  ])(
    "detaches, publishes and duplicates nothing before it is settled if its entry has %s",
    (_name, attachments) => {
      const drafts = [draftWith(1, { attachments, publish })];
      const plan = planOf(desiredWith({ drafts, duplicates }), recorded);
      expect(plan.changes.map(({ action }) => action)).toEqual(["in_doubt"]);
      expect(plan.diagnostics).toMatchObject([{ code: "waits-for-doubt", severity: "warning" }]);
    },
  );

  test("counts the changes that wait until it is settled, whatever its draft still needs", () => {
    const earlier = recordedFile(1, 2, { address, sha256: "first" });
    const drafts = [draftWith(1, { attachments: [wantedSource(1, "d.glb", "new")] })];
    const plan = planOf(desiredWith({ drafts }), recordedWith({ attachments: [earlier], inDoubt: [attach] }));
    expect(plan.changes.map(({ action }) => action)).toEqual(["in_doubt"]);
    expect(plan.diagnostics).toMatchObject([
      {
        code: "waits-for-doubt",
        message: `draft 1: 3 changes wait until ${address} is no longer in doubt`,
      },
    ]);
  });

  test("names its draft as one that is no longer declared", () => {
    const attachments = [recordedFile(1, 2, { address: "drafts/1/product_files/2" })];
    const { changes, diagnostics } = planOf(
      desiredWith({ drafts: [] }),
      recordedWith({ attachments, inDoubt: [attach] }),
    );
    expect(changes.map(({ action }) => action)).toEqual(["in_doubt"]);
    expect(diagnostics).toMatchObject([
      {
        code: "waits-for-doubt",
        message: `draft 1, which is no longer declared: 2 changes wait until ${address} is no longer in doubt`,
      },
    ]);
  });

  test("is published in the same plan if its files are as desired once it is settled as sent", () => {
    const attachments = [wantedSource(1, "c.glb", "old"), wantedSource(1, "a.glb", "new")];
    const drafts = [draftWith(1, { attachments, publish })];
    const plan = planOf(desiredWith({ drafts, duplicates }), recorded);
    expect(plan.summary).toEqual({ in_doubt: 1, publish: 1, duplicate: 1, noop: 1 });
    expect(plan.diagnostics).toEqual([]);
  });

  test.each([
    ["attached", [wantedSource(1, "a.glb", "new"), wantedSource(1, "b.glb", "new")], "create"],
    ["updated", [wantedSource(1, "a.glb", "new", { renderer: "vray" })], "update"],
  ])("is published in the same plan when another file is only %s", (_name, others, action) => {
    const drafts = [draftWith(1, { attachments: [wantedSource(1, "c.glb", "old"), ...others], publish })];
    const plan = planOf(desiredWith({ drafts }), recorded);
    expect(new Set(plan.changes.map((change) => change.action))).toEqual(
      new Set(["in_doubt", action, "publish"]),
    );
    expect(plan.diagnostics).toEqual([]);
  });

  test("is settled, and its other changes wait, when only these are targeted", () => {
    const drafts = [draftWith(1, { attachments: [wantedSource(1, "c.glb", "old")], publish })];
    const plan = planOf(desiredWith({ drafts }), recorded, { targets: [a.address] });
    expect(plan.changes).toMatchObject([{ action: "in_doubt", address }]);
  });

  test("has its warning, and no error, when only a change that waits is targeted", () => {
    const drafts = [draftWith(1, { attachments: [wantedSource(1, "b.glb", "old")], publish })];
    for (const target of ["drafts/1/product_files/source:b.glb", "drafts/1/product"]) {
      const { diagnostics } = planOf(desiredWith({ drafts }), recorded, { targets: [target] });
      expect(diagnostics).toMatchObject([{ code: "waits-for-doubt", address: "drafts/1" }]);
    }
  });

  test("names the same file in doubt whatever their order in the ledger", () => {
    const other = doubt({
      ...attach,
      id: "op-2",
      address: "drafts/1/product_files/8",
      intent: { ...intent, fileId: 8 },
    });
    const messages = [
      [attach, other],
      [other, attach],
    ].map((inDoubt) =>
      planOf(desiredWith({ drafts: [draftWith(1)] }), recordedWith({ inDoubt })).diagnostics.map(
        ({ message }) => message,
      ),
    );
    expect(messages[0]).toEqual([expect.stringContaining("until drafts/1/product_files/8 is")]);
    expect(messages[1]).toEqual(messages[0]);
  });
});

test("applies a new protection to targets within the draft", () => {
  const { recorded } = keeping(2, 2);
  const drafts = [draftWith(1, { protect: true, attachments: [wantedFile(1, 1)] })];
  for (const target of ["drafts/1/product_files", "drafts/1/product_files/2"]) {
    const plan = planOf(desiredWith({ drafts }), recorded, { targets: [target] });
    expect(plan.summary).toMatchObject({ update: 1, delete: 1 });
    expect(checkSafety(plan, recorded, limits)).toMatchObject([{ code: "draft-protected" }]);
  }
  const other = planOf(desiredWith({ drafts }), recorded, { targets: ["drafts/1/product_files/1"] });
  expect(other.changes).toMatchObject([{ address: "drafts/1", after: { protect: true } }]);
});
