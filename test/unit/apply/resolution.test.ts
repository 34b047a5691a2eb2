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

const known = {
  draftId: 1,
  kind: "product_files",
  fileId: 7,
  address: "drafts/1/product_files/7",
  attributes: { renderer: "arnold", file_format: "fbx" },
  provenance: { by: "post", at: 1 },
} as const;

test.each([
  ["done", { renderer: "vray", file_format: "fbx" }],
  ["not_done", { renderer: "arnold", file_format: "fbx" }],
] as const)(
  "an update that ended as %s leaves its file these values, by a person's word",
  (type, attributes) => {
    const operations = [operation("update", { renderer: "vray" })];
    const effects = resolutionOfAll(operations, { type }, { attachments: [known], now: 5 });
    expect(effects.at(-1)).toEqual({
      type: "rerecorded",
      attachment: { ...known, attributes, provenance: { by: "operator", at: 5 } },
    });
  },
);

test("an attachment that took effect is recorded with what was sent, and nothing of it is known", () => {
  const operations = [
    operation("attach", { renderer: "arnold" }),
    operation("update", { renderer: "arnold" }),
  ];
  expect(resolutionOfAll(operations, { type: "done" }, { attachments: [], now: 5 })).toMatchObject([
    { type: "attached", attachment: { attributes: { renderer: "arnold" }, provenance: { by: "operator" } } },
    { type: "settled", operationId: "attach", outcome: "done" },
    { type: "settled", operationId: "update", outcome: "not_sent" },
  ]);
});

test("a refused attachment that took effect is recorded without values, which another call has set", () => {
  const refused = { ...operation("attach", { renderer: "arnold" }), status: 409 };
  const effects = resolutionOfAll([refused], { type: "done" }, { attachments: [], now: 5 });
  expect(effects).toMatchObject([{ type: "attached", attachment: { attributes: {} } }, { type: "settled" }]);
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

const sentAs = (kind: RecordedOperation["kind"], attributes: object) => ({
  ...operation(kind),
  id: JSON.stringify(attributes),
  intent: { ...file, attributes },
});
const vray = sentAs("update", { renderer: "vray" });
const both = sentAs("update", { renderer: "vray", file_format: "obj" });
const arnold = sentAs("update", { renderer: "arnold" });

test.each([
  ["a detach and an update", "done", operation("detach"), vray],
  ["an update of other values", "done", vray, both],
  ["an update with a different value", "not_done", vray, arnold],
  ["an update of fewer values", "not_done", both, vray],
  [
    "an attachment and an update with a different value",
    "done",
    sentAs("attach", { renderer: "vray" }),
    arnold,
  ],
] as const)("one answer does not settle %s, when the latest is %s", (_what, type, latest, other) => {
  const resolve = () => resolutionOfAll([latest, other], { type }, { attachments: [known], now: 5 });
  expect(resolve).toThrow("one answer cannot settle both");
});

test.each([
  ["updates of the same value", "not_done", vray, vray],
  ["an update, and one before with a different value", "done", vray, arnold],
  ["an update, and one before of fewer values", "done", both, arnold],
  ["two detaches", "done", operation("detach"), operation("detach")],
  ["an attachment that was not made, and its check", "not_done", sentAs("attach", {}), vray],
] as const)("one answer settles %s, when the latest is %s", (_what, type, latest, other) => {
  const effects = resolutionOfAll([latest, other], { type }, { attachments: [known], now: 5 });
  expect(effects.filter((effect) => effect.type === "settled")).toHaveLength(2);
});
