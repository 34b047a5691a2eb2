import { describe, expect, test } from "vitest";
import type { DraftsyncError } from "../../../src/model/errors.ts";
import type { Observation, Observed, ReadResult } from "../../../src/model/observed.ts";
import type { Plan } from "../../../src/model/plan.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import { resumePlan } from "../../../src/plan/resume.ts";
import { assertDeclared, assertFresh, formatPlanFile, parsePlanFile } from "../../../src/plan/saved-plan.ts";
import { detectDrift } from "../../../src/refresh/detect-drift.ts";
import {
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

const recorded = recordedWith({
  attachments: [
    recordedFile(1, 2, { attributes: { renderer: "a" } }),
    recordedFile(1, 3),
    recordedFile(1, 6, { attributes: { renderer: "a" } }),
    recordedFile(1, 4, { address: "drafts/1/product_files/source:r", sha256: "old" }),
    recordedFile(1, 5, { address: "drafts/1/product_files/source:o", sha256: "moved" }),
  ],
  publications: [{ draftId: 1, revision: 1, productId: 9, provenance: { by: "post", at: 0 } }],
  duplicates: [
    {
      name: "old",
      from: { by: "product_id", productId: 1 },
      sourceProductId: 1,
      productId: 2,
      provenance: { by: "post", at: 0 },
    },
  ],
  inDoubt: [
    doubt({
      address: "drafts/2/product_files/8",
      kind: "attach",
      intent: { draftId: 2, fileKind: "product_files", fileId: 8 },
    }),
  ],
});

const desired = desiredWith({
  drafts: [
    draftWith(1, {
      protect: true,
      attachments: [
        wantedFile(1, 1, { is_native: true }),
        wantedFile(1, 2, { renderer: "b" }),
        wantedSource(1, "r", "new"),
        wantedSource(1, "n", "moved"),
        wantedFile(1, 9),
      ],
      publish: { revision: 2, position: 1 },
    }),
    draftWith(2, { attachments: [wantedFile(2, 8)] }),
  ],
  duplicates: [{ name: "new", product: { by: "draft", draftId: 1 }, file: "a.yaml", position: 1 }],
});

const observedAt = Date.UTC(2026, 0, 5);
const observationOf = (fileId: number, read: ReadResult<Attributes>): Observation => {
  const { draftId, kind, address } = recordedFile(1, fileId);
  return { type: "attachment", address, target: { draftId, kind, fileId }, at: observedAt, read };
};
const failure = { code: "timeout", message: "m", errors: [], stops: "operation" } as const;

/** Drift of every type, and an unreadable upload. */
const observed: Observed = {
  summary: refreshSummary({ mode: "budget", max_calls: 500, unreadable: 1 }),
  ...detectDrift({
    observations: [
      observationOf(1, { type: "present", value: { is_native: true } }),
      observationOf(2, { type: "present", value: { renderer: "c" } }),
      observationOf(6, { type: "absent" }),
      {
        type: "product",
        address: "drafts/1/product",
        productId: 9,
        at: observedAt,
        read: { type: "absent" },
      },
    ],
    desired,
    recorded,
    settleDelayMs: 0,
  }),
  unreadable: [{ address: "uploads/u-1", failure }],
};

/** A plan with a change of every action, a protection, a warning, and drift. */
const plan = planOf(desired, recorded, {
  observed,
  diagnostics: [
    {
      severity: "warning",
      code: "w",
      message: "m",
      place: { file: "a", line: 1, column: 2 },
      excerpt: [{ line: 1, text: "x", mark: { column: 1, length: 1 } }],
    },
  ],
});

const neverApplied = { runIds: new Set<string>(), operations: [] };

/** The ledger after another run changed what it records for an address. */
function changed(address: string) {
  return { ...recorded, versions: new Map([[address, { address, serial: 8, changedBy: "other" }]]) };
}

const inDoubt = {
  ...recorded,
  inDoubt: [...recorded.inDoubt, doubt({ address: "drafts/1/product_files/9", kind: "attach", id: "new" })],
};

function codeOf(action: () => unknown): string {
  try {
    action();
    return "none";
  } catch (error) {
    return error instanceof Error && "code" in error ? String((error as DraftsyncError).code) : "other";
  }
}

describe("a saved plan", () => {
  test("has a change of every action", () => {
    expect(new Set(plan.changes.map(({ action }) => action)).size).toBe(9);
  });

  test("has drift of every type, the provenance of its changes, and the refresh summary", () => {
    expect(new Set(plan.drift?.map(({ type }) => type)).size).toBe(4);
    expect(plan.refresh).toEqual(observed.summary);
    expect(plan.changes.filter((change) => change.confirmed !== undefined).length).toBeGreaterThan(2);
    expect(plan.changes.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["drifted", "found"]));
  });

  test.each([
    { name: "the drift", edit: ({ drift: _, ...rest }: Plan) => rest },
    { name: "one drift", edit: (whole: Plan) => ({ ...whole, drift: whole.drift?.slice(1) }) },
    { name: "the refresh summary", edit: ({ refresh: _, ...rest }: Plan) => rest },
    { name: "all diagnostics", edit: (whole: Plan) => ({ ...whole, diagnostics: [] }) },
  ])("is refused as altered without $name", ({ edit }) => {
    expect(codeOf(() => parsePlanFile(JSON.stringify(edit(plan)), "p.json"))).toBe("plan-altered");
  });

  test("is read back unchanged and written again to the same bytes", () => {
    const bytes = formatPlanFile(plan);
    expect(parsePlanFile(bytes, "p.json")).toEqual(plan);
    expect(formatPlanFile(parsePlanFile(bytes, "p.json"))).toBe(bytes);
  });

  test("is refused when any single character differs", () => {
    const bytes = formatPlanFile(plan);
    const accepted = [...bytes].flatMap((char, at) => {
      // Each takes a whole parse; a seventh of them meets every member.
      if (at % 7 !== 0 || /[\s"{}[\],:]/.test(char)) return [];
      const other = char === "1" ? "2" : "1";
      const edited = bytes.slice(0, at) + other + bytes.slice(at + 1);
      return codeOf(() => parsePlanFile(edited, "p.json")) === "none" ? [at] : [];
    });
    expect(accepted).toEqual([]);
  });

  test.each([
    { name: "text that is not JSON", bytes: "plan", code: "plan-unreadable" },
    { name: "an empty object", bytes: "{}", code: "plan-unreadable" },
    { name: "an array", bytes: "[]", code: "plan-unreadable" },
    {
      name: "a different version",
      bytes: formatPlanFile(plan).replace(/"format_version": \d+/, '"format_version": 999'),
      code: "plan-version",
    },
    {
      name: "an additional member",
      bytes: formatPlanFile(plan).replace(/"format_version": \d+/, '$&, "x": 1'),
      code: "plan-unreadable",
    },
  ])("is refused as $code: $name", ({ bytes, code }) => {
    expect(codeOf(() => parsePlanFile(bytes, "p.json"))).toBe(code);
  });

  test.each([
    { name: "the same ledger and service", base: {}, code: "none" },
    { name: "a different serial", base: { recorded: { ...recorded, serial: 8 } }, code: "none" },
    { name: "a ledger that changed its draft", base: { recorded: changed("drafts/1") }, code: "plan-stale" },
    { name: "a ledger that changed another draft", base: { recorded: changed("drafts/3") }, code: "none" },
    { name: "a ledger with another call in doubt", base: { recorded: inDoubt }, code: "plan-stale" },
    {
      name: "a different ledger",
      base: { recorded: { ...recorded, lineage: "other" } },
      code: "plan-of-another-workspace",
    },
    { name: "a different workspace", base: { workspace: "other" }, code: "plan-of-another-workspace" },
    { name: "a different service", base: { serviceOrigin: "https://other.example.com" }, code: "plan-stale" },
  ])("results in $code when it is applied to $name", ({ base, code }) => {
    const service = { serviceOrigin: "https://api.example.com", workspace: "studio" };
    const now = { recorded, history: neverApplied, ...service, ...base };
    expect(codeOf(() => assertFresh(plan, now))).toBe(code);
  });

  test.each([
    { productId: 5, code: "plan-stale" },
    { productId: 6, code: "none" },
  ])(
    "results in $code while a duplicate of product $productId is in doubt under an old name",
    ({ productId, code }) => {
      const product = { by: "product_id", productId: 5 } as const;
      const desired = desiredWith({ duplicates: [{ name: "new", product, file: "m.yaml", position: 1 }] });
      const copy = {
        kind: "duplicate",
        address: "duplicates/former",
        intent: { name: "former", productId },
      } as const;
      const service = { serviceOrigin: "https://api.example.com", workspace: "studio" };
      const now = { recorded: recordedWith({ inDoubt: [doubt(copy)] }), history: neverApplied, ...service };
      expect(codeOf(() => assertFresh(planOf(desired, recordedWith()), now))).toBe(code);
    },
  );

  test("results in plan-stale when a call that was under way has ended, though it changed nothing", () => {
    const intent = { draftId: 1, fileKind: "product_files", fileId: 7 } as const;
    const call = doubt({ kind: "attach", address: "drafts/1/product_files/7", intent });
    const [desired, recorded] = [desiredWith({ drafts: [draftWith(1)] }), recordedWith()];
    const inFlight = recordedWith({ inDoubt: [call] });
    const service = { serviceOrigin: "https://api.example.com", workspace: "studio" };
    const made = planOf(desired, inFlight);
    const now = { history: neverApplied, ...service };
    expect(made.changes).toMatchObject([{ action: "in_doubt", check_only: true }]);
    expect(codeOf(() => assertFresh(made, { ...now, recorded: inFlight }))).toBe("none");
    expect(codeOf(() => assertFresh(made, { ...now, recorded }))).toBe("plan-stale");
    const conflict = recordedWith({ inDoubt: [{ ...call, status: 409 }] });
    expect(codeOf(() => assertFresh(made, { ...now, recorded: conflict }))).toBe("plan-stale");
  });

  const declaring = (draft: Partial<(typeof desired)["drafts"][number]>) => ({
    ...desired,
    drafts: desired.drafts.map((each) => (each.draftId === 1 ? { ...each, ...draft } : each)),
  });
  const [first] = desired.drafts;

  test.each([
    { what: "order of entries", now: declaring({ attachments: [...(first?.attachments ?? [])].reverse() }) },
    { what: "title", now: declaring({ title: "Dragon", position: 9, file: "other.yaml" }) },
    { what: "another draft", now: { ...desired, drafts: [...desired.drafts, draftWith(99)] } },
  ])("stays fresh when the manifests change: $what", ({ now }) => {
    expect(codeOf(() => assertDeclared(plan, now))).toBe("none");
  });

  test.each([
    { what: "publish", now: declaring({ publish: { revision: 3, position: 1 } }) },
    { what: "protect", now: declaring({ protect: false }) },
    { what: "a list", now: declaring({ managed: [] }) },
    { what: "an entry", now: declaring({ attachments: first?.attachments.slice(1) ?? [] }) },
    { what: "the draft", now: { ...desired, drafts: [] } },
    { what: "a duplicate", now: { ...desired, duplicates: [] } },
  ])("results in plan-stale when the manifests change: $what", ({ now }) => {
    expect(codeOf(() => assertDeclared(plan, now))).toBe("plan-stale");
  });

  test("results in plan-source-changed when a local file that it attaches changes", () => {
    const attachments = first?.attachments.map((each) =>
      each.content?.sha256 === "new" ? { ...each, content: { sha256: "newer", size: 1 } } : each,
    );
    expect(codeOf(() => assertDeclared(plan, declaring({ attachments: attachments ?? [] })))).toBe(
      "plan-source-changed",
    );
  });
});

describe("what is left of a plan that was applied in part", () => {
  const source = "drafts/1/product_files/source:r";
  const rest = (
    of: { readonly desired: Attributes; readonly before: Attributes; readonly after: Attributes },
    kind: "update" | "attach",
  ) => {
    const isUpdate = kind === "update";
    const attachment = isUpdate ? wantedFile(1, 2, of.desired) : wantedSource(1, "r", "new", of.desired);
    const place = isUpdate ? {} : { address: source, sha256: "old" };
    const made = planOf(
      desiredWith({ drafts: [draftWith(1, { attachments: [attachment] })] }),
      recordedWith({ attachments: [recordedFile(1, 2, { ...place, attributes: of.before })] }),
    );
    const [{ address } = { address: "" }] = made.changes;
    const { finishedAt: _, ...call } = doubt({ address, kind, id: "done", intent: { fileId: 2 } });
    const resumed = resumePlan(
      made,
      recordedWith({ attachments: [recordedFile(1, 2, { ...place, attributes: of.after })] }),
      { runIds: new Set(["run"]), operations: [{ ...call, finishedAt: 1, outcome: "done", attempts: 1 }] },
    );
    return resumed.type === "fresh" ? resumed.plan.changes : resumed.type;
  };

  test.each([
    ["was not sent, because the second of its calls failed", "obj", ["file_format"]],
    ["is recorded", "fbx", undefined],
  ])("is an update of the value that %s", (_, format, attributes) => {
    const desired = { renderer: "b", file_format: "fbx" };
    const before = { renderer: "a", file_format: "fbx" };
    expect(rest({ desired, before, after: { renderer: "b", file_format: format } }, "update")).toEqual(
      attributes === undefined ? [] : [expect.objectContaining({ action: "update", attributes })],
    );
  });

  test("is an update from what is recorded by now, not from what the plan was made from", () => {
    const desired = { renderer: "b", file_format: "fbx" };
    const after = { renderer: "b", file_format: "obj" };
    expect(rest({ desired, before: { renderer: "a", file_format: "fbx" }, after }, "update")).toMatchObject([
      { before: after, attributes: ["file_format"] },
    ]);
  });

  test("sets the values of the plan where the ledger lacks what a refused call has sent", () => {
    const attachment = wantedFile(1, 2, { file_format: "fbx" });
    const made = planOf(
      desiredWith({ drafts: [draftWith(1, { attachments: [attachment] })] }),
      recordedWith({}),
    );
    const [{ address } = { address: "" }] = made.changes;
    const call = doubt({ address, kind: "attach", intent: { draftId: 1, fileId: 2 }, runId: "run" });
    const history = { runIds: new Set(["run"]), operations: [] };
    expect(resumePlan(made, recordedWith({ inDoubt: [call] }), history)).toMatchObject({
      plan: { changes: [{ action: "in_doubt", after: { file_format: "fbx" }, attributes: ["file_format"] }] },
    });
  });

  test("is no delete of the old file when the upload gave that again", () => {
    expect(rest({ desired: {}, before: {}, after: {} }, "attach")).toEqual([]);
  });
});
