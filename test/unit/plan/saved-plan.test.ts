import { describe, expect, test } from "vitest";
import type { DraftsyncError } from "../../../src/model/errors.ts";
import type { Observation, Observed, ReadResult } from "../../../src/model/observed.ts";
import type { Plan } from "../../../src/model/plan.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import { assertFresh, formatPlanFile, parsePlanFile, sourcesOf } from "../../../src/plan/saved-plan.ts";
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
    {
      id: "op",
      runId: "r",
      address: "drafts/1/product_files/8",
      kind: "attach",
      method: "POST",
      path: "/p",
      intent: {},
      startedAt: 0,
    },
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
        wantedFile(1, 8),
        wantedFile(1, 9),
      ],
      publish: { revision: 2, position: 1 },
    }),
  ],
  duplicates: [{ name: "new", product: { by: "draft", draftId: 1 }, file: "a.yaml", position: 1 }],
});

const lookedAt = Date.UTC(2026, 0, 5);
const sighted = (fileId: number, read: ReadResult<Attributes>): Observation => {
  const { draftId, kind, address } = recordedFile(1, fileId);
  return { type: "attachment", address, target: { draftId, kind, fileId }, at: lookedAt, read };
};
const failure = { code: "timeout", message: "m", errors: [], stops: "operation" } as const;

/** A drift of every type, and something that could not be read. */
const observed: Observed = {
  summary: refreshSummary({ mode: "budget", max_calls: 500, unreadable: 1 }),
  ...detectDrift({
    observations: [
      sighted(1, { type: "present", value: { is_native: true } }),
      sighted(2, { type: "present", value: { renderer: "c" } }),
      sighted(4, { type: "unreadable", failure }),
      sighted(6, { type: "absent" }),
      {
        type: "product",
        address: "drafts/1/product",
        productId: 9,
        at: lookedAt,
        read: { type: "absent" },
      },
    ],
    desired,
    recorded,
    settleDelayMs: 0,
  }),
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

const neverApplied = { runIds: new Set<string>(), own: [], others: [] };

function without(fileId: number) {
  return { ...recorded, attachments: recorded.attachments.filter((each) => each.fileId !== fileId) };
}

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

  test("reports what was seen: drift of every type, how changes are known, and what was checked", () => {
    expect(new Set(plan.drift?.map(({ type }) => type)).size).toBe(4);
    expect(plan.refresh).toEqual(observed.summary);
    expect(plan.changes.filter((change) => change.confirmed !== undefined).length).toBeGreaterThan(2);
    expect(plan.changes.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["drifted", "found"]));
  });

  test.each([
    { name: "the drift", edit: ({ drift: _, ...rest }: Plan) => rest },
    { name: "one drift", edit: (whole: Plan) => ({ ...whole, drift: whole.drift?.slice(1) }) },
    { name: "what was checked", edit: ({ refresh: _, ...rest }: Plan) => rest },
    { name: "all diagnostics", edit: (whole: Plan) => ({ ...whole, diagnostics: [] }) },
  ])("without $name is refused as altered", ({ edit }) => {
    expect(codeOf(() => parsePlanFile(JSON.stringify(edit(plan)), "p.json"))).toBe("plan-altered");
  });

  test("is read back unchanged, and written again to the same bytes", () => {
    const bytes = formatPlanFile(plan);
    expect(parsePlanFile(bytes, "p.json")).toEqual(plan);
    expect(formatPlanFile(parsePlanFile(bytes, "p.json"))).toBe(bytes);
  });

  test("of which one character is another is refused, wherever it is", () => {
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
    { name: "no JSON", bytes: "plan", code: "plan-unreadable" },
    { name: "other JSON", bytes: "{}", code: "plan-unreadable" },
    { name: "an array", bytes: "[]", code: "plan-unreadable" },
    {
      name: "another version",
      bytes: formatPlanFile(plan).replace('"format_version": 3', '"format_version": 4'),
      code: "plan-version",
    },
    {
      name: "an added member",
      bytes: formatPlanFile(plan).replace('"format_version": 3', '"format_version": 3, "x": 1'),
      code: "plan-unreadable",
    },
  ])("that is $name is refused as $code", ({ bytes, code }) => {
    expect(codeOf(() => parsePlanFile(bytes, "p.json"))).toBe(code);
  });

  test.each([
    { name: "everything unchanged", base: {}, code: "none" },
    { name: "another serial", base: { recorded: { ...recorded, serial: 8 } }, code: "none" },
    { name: "a file of its draft gone", base: { recorded: without(3) }, code: "plan-stale" },
    {
      name: "another ledger",
      base: { recorded: { ...recorded, lineage: "other" } },
      code: "plan-of-another-workspace",
    },
    { name: "another workspace", base: { workspace: "other" }, code: "plan-of-another-workspace" },
    { name: "another service", base: { serviceOrigin: "https://other.example.com" }, code: "plan-stale" },
  ])("with $name: $code", ({ base, code }) => {
    const service = { serviceOrigin: "https://api.example.com", workspace: "studio" };
    const now = { recorded, history: neverApplied, ...service, ...base };
    expect(codeOf(() => assertFresh(plan, now))).toBe(code);
  });

  test.each([
    { productId: 5, code: "plan-stale" },
    { productId: 6, code: "none" },
  ])(
    "with a copy of product $productId in doubt under a name that it does not have: $code",
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

  test("knows the local files it will upload, and only those", () => {
    expect(sourcesOf(plan)).toEqual([{ source: "r", sha256: "new" }]);
  });
});
