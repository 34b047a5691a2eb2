import { expect, test } from "vitest";
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

const settled = `in_doubt outcome_unknown ${attach.address}`;

test.each([
  ["is declared as it was sent", desired(byUpload)],
  ["is declared by its id", desired(byId)],
  ["is declared by two entries", desired(byUpload, byId)],
  ["is not declared", desired()],
])("settles the attach in doubt of a file that %s, and plans no other write to its list", (_name, wanted) => {
  expect(lines(wanted, recorded)).toEqual([settled]);
  expect(lines(wanted, recordedWith({ attachments, inDoubt: [attach] }))).toEqual([settled]);
});

test("compares an attach in doubt as if it had taken effect as sent", () => {
  const sent = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, { renderer: "b" });
  const asSent = planOf(desired(sent), recorded);
  expect(asSent).toMatchObject({ summary: { in_doubt: 1 }, diagnostics: [] });
  expect(asSent.changes[0]).toMatchObject({ after: { file_id: 10, renderer: "b" } });
  expect(asSent.changes[0]).not.toHaveProperty("check_only");
  const other = planOf(desired(byUpload), recorded);
  expect(other.changes).toMatchObject([{ after: { file_id: 10, renderer: "b" }, check_only: true }]);
  expect(other.diagnostics).toMatchObject([
    { code: "waits-for-doubt", message: expect.stringContaining("1 change waits until") },
  ]);
});

test("shows two attachments in doubt at one address, the earlier one at the path of its file", () => {
  const later = doubt({ ...attach, id: "op-2", intent: { ...file, fileId: 11 }, startedAt: 5 });
  const both = [`in_doubt outcome_unknown drafts/1/product_files/10`, settled];
  expect(lines(desired(byUpload), recordedWith({ inDoubt: [attach, later] }))).toEqual(both);
  expect(lines(desired(), recordedWith({ inDoubt: [later, attach] }))).toEqual(both);
});

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
  expect(change).toMatchObject({ action: "in_doubt", check_only: true });
  expect(change?.after).toEqual({ file_id: 10, renderer: "b" });
});

test("a detach in doubt of a list that is left out is checked, and no attribute is set", () => {
  const detach = doubt({
    kind: "detach",
    address: "drafts/1/product_files/10",
    intent: { ...file, fileId: 10 },
  });
  const leftOut = desiredWith({ drafts: [draftWith(1, { managed: [] })] });
  const [change] = planOf(leftOut, recordedWith({ attachments, inDoubt: [detach] })).changes;
  expect(change).toMatchObject({ action: "in_doubt", after: { file_id: 10 }, check_only: true });
  expect(change?.after).not.toHaveProperty("renderer");
});
