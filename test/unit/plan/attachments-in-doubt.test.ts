import { expect, test } from "vitest";
import {
  desiredWith,
  draftWith,
  recordedFile,
  recordedWith,
  wanted,
  wantedFile,
} from "../../support/planning.ts";
import { doubt, lines } from "./support.ts";

const upload = { uploadId: "up_1", status: "success", fileId: 10, at: 0 } as const;
const attach = doubt({
  kind: "attach",
  address: "drafts/1/product_files/upload_id:up_1",
  intent: { fileId: 10, attributes: { renderer: "b" } },
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
