import { expect, test } from "vitest";
import { resolutionOfAll } from "../../../src/apply/resolution.ts";
import type { RecordedOperation } from "../../../src/model/recorded.ts";

const file = { draftId: 1, fileKind: "product_files", fileId: 7 } as const;

function operation(
  kind: RecordedOperation["kind"],
  attributes?: { readonly renderer: string },
): RecordedOperation {
  return {
    id: kind,
    runId: "run",
    address: "drafts/1/product_files/7",
    kind,
    method: "POST",
    path: "/api/drafts/1/product_files",
    intent: { ...file, ...(attributes === undefined ? {} : { attributes }) },
    startedAt: 0,
  };
}

test("an attachment that took effect is recorded without values, which another call may have set", () => {
  const operations = [operation("attach", { renderer: "arnold" }), operation("update", { renderer: "vray" })];
  expect(resolutionOfAll(operations, { type: "done" }, { attachments: [], now: 5 })).toMatchObject([
    { type: "settled", operationId: "update", outcome: "not_sent" },
    { type: "attached", attachment: { fileId: 7, attributes: {}, provenance: { by: "operator", at: 5 } } },
    { type: "settled", operationId: "attach", outcome: "done" },
  ]);
});

test("the file that an attachment took the place of is the rest of a replacement", () => {
  const { intent, ...attach } = operation("attach");
  expect(
    resolutionOfAll(
      [{ ...attach, intent: { ...intent, replaces: 6 } }],
      { type: "done" },
      { attachments: [], now: 5 },
    ),
  ).toMatchObject([{ type: "attached", replaces: 6 }, { type: "settled" }]);
});

test("a detach that took effect is recorded, and settles what was sent about the file", () => {
  expect(
    resolutionOfAll(
      [operation("detach"), operation("update")],
      { type: "done" },
      { attachments: [], now: 5 },
    ),
  ).toMatchObject([
    { type: "settled", operationId: "update", outcome: "not_sent" },
    { type: "detached" },
    { type: "settled", operationId: "detach", outcome: "done" },
  ]);
});
