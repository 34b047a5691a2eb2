import { describe, expect, test } from "vitest";
import { makePalette } from "../../../src/report/palette.ts";
import { formatPlanText } from "../../../src/report/plan-text.ts";
import { viewPlan } from "../../../src/report/plan-view.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wantedFile,
} from "../../support/planning.ts";

const position = 2 ** 20;
const drafts = [
  draftWith(7, {
    title: "Sea Serpent",
    position,
    attachments: [wantedFile(7, 1), wantedFile(7, 2, { renderer: "vray" })],
    publish: { revision: 1, position },
  }),
  draftWith(48, { title: "海蛇", position, attachments: [wantedFile(48, 3)] }),
  draftWith(490, { position, attachments: [] }),
];
const duplicates = [
  { name: "copy", product: { by: "product_id", productId: 5 }, file: "manifests/a.yaml", position },
] as const;
const recorded = recordedWith({
  attachments: [recordedFile(7, 2, { attributes: { renderer: "arnold" } }), recordedFile(490, 9)],
});
const show = (options?: { summary?: boolean }, files = 0) => {
  const many = Array.from({ length: files }, (_none, at) => wantedFile(1000, at + 1));
  const more = files === 0 ? [] : [draftWith(1000, { attachments: many, position })];
  const plan = planOf(desiredWith({ drafts: [...drafts, ...more], duplicates }), recorded);
  return formatPlanText(viewPlan(plan, 0), makePalette(false), options);
};

describe("a plan summary with one line per draft", () => {
  test("has columns for address, title, counts and manifest line", () => {
    expect(show({ summary: true }).split("\n\n")[0]).toBe(
      [
        "  + drafts/48   海蛇         +1              manifests/a.yaml:1",
        "  - drafts/490               -1              manifests/a.yaml:1",
        "  ~ drafts/7    Sea Serpent  +1 ~1 !publish  manifests/a.yaml:1",
        "  ! duplicates               !duplicate",
      ].join("\n"),
    );
  });

  test("ends with the totals, the cost and what cannot be undone", () => {
    const parts = show({ summary: true }).trimEnd().split("\n\n");
    expect(parts.at(-2)).toMatch(/^Plan: .*\nCost: /);
    expect(parts.at(-1)).toMatch(/^Cannot be undone:\n/);
  });

  test.each([
    [190, false],
    [200, true],
  ])("is the default above 200 changes: with %i more changes %s", (files, isSummary) => {
    const text = show(undefined, files);
    expect(text.includes("To see every value: draftsync plan --no-summary")).toBe(isSummary);
    expect(text.includes('renderer  "arnold" → "vray"')).toBe(!isSummary);
    expect(show({ summary: false }, files)).toContain('renderer  "arnold" → "vray"');
  });
});

test("a plan summary lists the same change in ten files or more once, with a count", () => {
  const wanted = Array.from({ length: 10 }, (_none, at) => wantedFile(7, at + 1, { renderer: "karma" }));
  const others = Array.from({ length: 9 }, (_none, at) => wantedFile(8, at + 1, { file_format: "obj" }));
  const known = (draftId: number, attributes: object) =>
    wanted.map((_none, at) => recordedFile(draftId, at + 1, { attributes }));
  const plan = planOf(
    desiredWith({
      drafts: [
        draftWith(7, { attachments: wanted }),
        draftWith(8, { attachments: others.slice(0, 1), title: "Owl" }),
      ],
    }),
    recordedWith({ attachments: [...known(7, { renderer: "arnold" }), ...known(8, { file_format: "fbx" })] }),
  );
  const text = formatPlanText(viewPlan(plan, 0), makePalette(false), { summary: true });
  expect(text).toContain(
    '\n\nThe same change in many files:\n          renderer  "arnold" → "karma"  in 10 files of 1 draft\n' +
      'Other changes of such values:\n      drafts/8/product_files/1 · Owl\n          file_format  "fbx" → "obj"\n\nPlan: ',
  );
});
