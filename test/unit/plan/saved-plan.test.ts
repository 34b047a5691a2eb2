import { describe, expect, test } from "vitest";
import type { DraftsyncError } from "../../../src/model/errors.ts";
import { assertFresh, formatPlanFile, parsePlanFile, sourcesOf } from "../../../src/plan/saved-plan.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";

const recorded = recordedWith({
  attachments: [
    recordedFile(1, 2, { attributes: { renderer: "a" } }),
    recordedFile(1, 3),
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

/** A plan with a change of every action, a protection, and a warning. */
const plan = planOf(
  desiredWith({
    drafts: [
      draftWith(1, {
        protect: true,
        attachments: [
          wantedFile(1, 1, { is_native: true }),
          wantedFile(1, 2, { renderer: "b" }),
          wantedSource(1, "r", "new"),
          wantedSource(1, "n", "moved"),
          wantedFile(1, 8),
        ],
        publish: { revision: 2, position: 1 },
      }),
    ],
    duplicates: [{ name: "new", product: { by: "draft", draftId: 1 }, file: "a.yaml", position: 1 }],
  }),
  recorded,
  {
    diagnostics: [
      {
        severity: "warning",
        code: "w",
        message: "m",
        place: { file: "a", line: 1, column: 2 },
        excerpt: [{ line: 1, text: "x", mark: { column: 1, length: 1 } }],
      },
    ],
  },
);

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

  test("is read back as it was, and written again to the same bytes", () => {
    const bytes = formatPlanFile(plan);
    expect(parsePlanFile(bytes, "p.json")).toEqual(plan);
    expect(formatPlanFile(parsePlanFile(bytes, "p.json"))).toBe(bytes);
  });

  test("of which one character is another is refused, wherever it is", () => {
    const bytes = formatPlanFile(plan);
    const accepted = [...bytes].flatMap((char, at) => {
      if (/[\s"{}[\],:]/.test(char)) return [];
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
      bytes: formatPlanFile(plan).replace('"format_version": 1', '"format_version": 2'),
      code: "plan-version",
    },
    {
      name: "an added member",
      bytes: formatPlanFile(plan).replace('"format_version": 1', '"format_version": 1, "x": 1'),
      code: "plan-unreadable",
    },
  ])("that is $name is refused as $code", ({ bytes, code }) => {
    expect(codeOf(() => parsePlanFile(bytes, "p.json"))).toBe(code);
  });

  test.each([
    { name: "everything as it was", base: {}, code: "none" },
    { name: "the ledger written to", base: { recorded: { ...recorded, serial: 8 } }, code: "plan-stale" },
    { name: "an older ledger put back", base: { recorded: { ...recorded, serial: 6 } }, code: "plan-stale" },
    {
      name: "another ledger",
      base: { recorded: { ...recorded, lineage: "other" } },
      code: "plan-of-another-workspace",
    },
    { name: "another workspace", base: { workspace: "other" }, code: "plan-of-another-workspace" },
    { name: "another service", base: { serviceOrigin: "https://other.example.com" }, code: "plan-stale" },
  ])("with $name: $code", ({ base, code }) => {
    const now = { recorded, serviceOrigin: "https://api.example.com", workspace: "studio", ...base };
    expect(codeOf(() => assertFresh(plan, now))).toBe(code);
  });

  test("knows the local files it will upload, and only those", () => {
    expect(sourcesOf(plan)).toEqual([{ source: "r", sha256: "new" }]);
  });
});
