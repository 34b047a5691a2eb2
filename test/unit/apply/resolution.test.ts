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
  const operations = [operation("attach", { renderer: "arnold" }), operation("update", { renderer: "vray" })];
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

test("one answer does not settle a detach and another call about the file", () => {
  const operations = [operation("detach"), operation("update")];
  const resolve = () => resolutionOfAll(operations, { type: "done" }, { attachments: [known], now: 5 });
  expect(resolve).toThrow("one answer cannot settle both");
});

test.each([
  ["done", { renderer: "corona" }, ["latest", "same"]],
  ["done", { renderer: "vray" }, ["latest", "other", "same"]],
  ["not_done", { renderer: "vray" }, ["latest", "same"]],
] as const)("of several updates, one that ended as %s settles %j", (type, sent, ids) => {
  const update = (id: string, attributes: object) => ({
    ...operation("update"),
    id,
    intent: { ...file, attributes },
  });
  const operations = [
    update("latest", sent),
    update("same", sent),
    update("other", sent.renderer === "corona" ? { file_format: "obj" } : { renderer: "arnold" }),
  ];
  const effects = resolutionOfAll(operations, { type }, { attachments: [known], now: 5 });
  const settled = effects.flatMap((effect) => (effect.type === "settled" ? [effect.operationId] : []));
  expect(settled.sort()).toEqual(ids);
});
