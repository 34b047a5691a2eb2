import { describe, expect, test } from "vitest";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wanted,
  wantedFile,
} from "../../support/planning.ts";
import { doubt, lines } from "./support.ts";

const upload = { uploadId: "up_1", status: "success", fileId: 10, at: 0 } as const;
const file = { draftId: 1, fileKind: "product_files" } as const;
const attach = doubt({
  kind: "attach",
  address: "drafts/1/product_files/upload_id:up_1",
  intent: { ...file, fileId: 10, attributes: { renderer: "b" } },
});
const byId = wantedFile(1, 10, { renderer: "c" });
const byUpload = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, { renderer: "c" });
const attachments = [recordedFile(1, 10, { attributes: { renderer: "a" } })];
const desired = (...entries: (typeof byId)[]) =>
  desiredWith({ drafts: [draftWith(1, { attachments: entries })] });
const recorded = recordedWith({ uploads: [upload], inDoubt: [attach] });

test("settles an attach in doubt at the entry that now declares its file, and plans no other write", () => {
  const settled = ["in_doubt outcome_unknown drafts/1/product_files/10"];
  expect(lines(desired(byId), recordedWith({ attachments, inDoubt: [attach] }))).toEqual(settled);
  expect(lines(desired(byId), recordedWith({ inDoubt: [attach] }))).toEqual(settled);
});

test("settles an attach in doubt at the first of two entries that declare its file", () => {
  expect(lines(desired(byUpload, byId), recorded)).toEqual([
    "in_doubt outcome_unknown drafts/1/product_files/10",
  ]);
});

test("settles an attach in doubt at its own address when its entry still declares the file", () => {
  expect(lines(desired(byUpload), recorded)).toEqual([`in_doubt outcome_unknown ${attach.address}`]);
});

describe("two attachments in doubt at one address", () => {
  const later = doubt({ ...attach, id: "op-2", intent: { ...file, fileId: 11 }, startedAt: 5 });
  const inDoubt = [attach, later];
  const source = {
    id: "op-2",
    address: "drafts/1/product_files/source:a.glb",
    kind: "attach",
    startedAt: 5,
  } as const;

  test("are both settled, the earlier one at the path of its file", () => {
    const both = [
      `in_doubt outcome_unknown drafts/1/product_files/10`,
      `in_doubt outcome_unknown ${attach.address}`,
    ];
    expect(lines(desired(byUpload), recordedWith({ inDoubt }))).toEqual(both);
    expect(lines(desired(), recordedWith({ inDoubt: [later, attach] }))).toEqual(both);
  });

  test("are settled at the entries that name their files", () => {
    const attachOfSource = doubt({ ...attach, ...source, id: "op-1", startedAt: 0 });
    const attachAgain = doubt({ ...source, intent: { ...file, fileId: 11 } });
    expect(
      lines(desired(byUpload), recordedWith({ uploads: [upload], inDoubt: [attachOfSource, attachAgain] })),
    ).toEqual([`in_doubt outcome_unknown ${source.address}`, `in_doubt outcome_unknown ${attach.address}`]);
  });
});

test.each([
  { replaces: 10, completes: true },
  { replaces: undefined, completes: false },
])(
  "the file at an address in doubt is the rest of a replacement by $replaces alone",
  ({ replaces, completes }) => {
    const recordedThere = recordedFile(1, 10, { address: attach.address });
    const intent = { ...file, fileId: 12, ...(replaces === undefined ? {} : { replaces }) };
    const plan = planOf(
      desired(byUpload),
      recordedWith({
        uploads: [{ ...upload, fileId: 12 }],
        attachments: [recordedThere],
        inDoubt: [doubt({ ...attach, intent })],
      }),
    );
    const removal = plan.changes.find(({ action }) => action === "delete");
    expect(removal).toMatchObject({ address: "drafts/1/product_files/10" });
    expect(removal && "completes_replace" in removal).toBe(completes);
  },
);

test("an update names no recorded value that a lost update may have changed", () => {
  const update = doubt({
    kind: "update",
    address: "drafts/1/product_files/10",
    intent: { fileId: 10, attributes: { renderer: "b" } },
  });
  const known = [recordedFile(1, 10, { attributes: { renderer: "a", file_format: "x" } })];
  const [change] = planOf(
    desired(wantedFile(1, 10, { file_format: "y" })),
    recordedWith({ attachments: known, inDoubt: [update] }),
  ).changes;
  expect(change).toMatchObject({ action: "update", before: { file_id: 10, file_format: "x" } });
  expect(change?.before).not.toHaveProperty("renderer");
});

test("a file that is named another way is settled while an update of it is in doubt", () => {
  const update = doubt({
    kind: "update",
    address: attach.address,
    intent: { ...file, fileId: 10, attributes: { renderer: "b" } },
  });
  const known = [recordedFile(1, 10, { address: attach.address, attributes: { file_format: "x" } })];
  const entry = wantedFile(1, 10, { file_format: "x" });
  expect(lines(desired(entry), recordedWith({ attachments: known, inDoubt: [update] }))).toEqual([
    "in_doubt outcome_unknown drafts/1/product_files/10",
  ]);
});

test("an update in doubt of a list that is left out is sent again with the same values", () => {
  const update = doubt({
    kind: "update",
    address: "drafts/1/product_files/10",
    intent: { ...file, fileId: 10, attributes: { renderer: "b" } },
  });
  const known = [recordedFile(1, 10, { attributes: { renderer: "a", file_format: "x" } })];
  const leftOut = desiredWith({ drafts: [draftWith(1, { managed: [] })] });
  const [change] = planOf(leftOut, recordedWith({ attachments: known, inDoubt: [update] })).changes;
  expect(change).toMatchObject({ action: "in_doubt", undeclared: "left_out" });
  expect(change?.after).toEqual({ file_id: 10, renderer: "b" });
});
