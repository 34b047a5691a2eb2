import { expect, test } from "vitest";
import { type Resolution, resolutionOfAll } from "../../../src/apply/resolution.ts";
import type { RecordedOperation } from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";

const nothing = { keptValues: new Map<string, Attributes>(), publications: [], duplicates: [] };
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
    const effects = resolutionOfAll(operations, { type }, { attachments: [known], ...nothing, now: 5 });
    expect(effects).toContainEqual({
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
  expect(
    resolutionOfAll(operations, { type: "done" }, { attachments: [], ...nothing, now: 5 }),
  ).toMatchObject([
    { type: "attached", attachment: { attributes: { renderer: "arnold" }, provenance: { by: "operator" } } },
    { type: "values_forgotten" },
    { type: "settled", operationId: "attach", outcome: "done" },
    { type: "settled", operationId: "update", outcome: "superseded" },
  ]);
});

test("an attached file has none of the values that a later call has sent otherwise", () => {
  const operations = [operation("attach", { renderer: "arnold" }), operation("update", { renderer: "" })];
  const [attached] = resolutionOfAll(
    operations,
    { type: "attached" },
    { attachments: [], ...nothing, now: 5 },
  );
  expect(attached).toMatchObject({ type: "attached", attachment: { attributes: { renderer: "" } } });
});

test.each([
  [
    "kept for its entry",
    { attachments: [], ...nothing, keptValues: new Map([[known.address, { renderer: "vray" }]]) },
  ],
  [
    "of the file that it replaces",
    { attachments: [{ ...known, fileId: 8, attributes: { renderer: "vray" } }], ...nothing },
  ],
])("an attached file has the value %s again that a later call has sent otherwise", (_what, recorded) => {
  const operations = [operation("attach", { renderer: "vray" }), operation("update", { renderer: "x" })];
  const [attached] = resolutionOfAll(operations, { type: "attached" }, { ...recorded, now: 5 });
  expect(attached).toMatchObject({ type: "attached", attachment: { attributes: { renderer: "vray" } } });
});

test("the attachment of a file that is recorded changes no value that was confirmed since", () => {
  const operations = [operation("attach", { renderer: "vray" })];
  const effects = resolutionOfAll(
    operations,
    { type: "attached" },
    { attachments: [known], ...nothing, now: 5 },
  );
  const provenance = { by: "operator", at: 5 };
  expect(effects[0]).toEqual({ type: "rerecorded", attachment: { ...known, provenance } });
});

test("what the PATCH that adopts a file has sent is cleared", () => {
  const refused = operation("attach", { renderer: "vray" });
  const adoption = { ...refused, intent: { ...refused.intent, refusedWith: 422 } };
  const [attached] = resolutionOfAll(
    [adoption],
    { type: "attached" },
    { attachments: [], ...nothing, now: 5 },
  );
  expect(attached).toMatchObject({ type: "attached", attachment: { attributes: { renderer: "" } } });
});

const lostUpdate = operation("update", { renderer: "vray" });
const lostDetach = operation("detach");

test.each<[string, RecordedOperation, Exclude<Resolution["type"], "product">, object | undefined]>([
  ["an update that took effect", lostUpdate, "done", { renderer: "vray" }],
  ["an update that did not", lostUpdate, "not_done", { renderer: "" }],
  ["an update of a file that is attached", lostUpdate, "attached", { renderer: "" }],
  ["a detach that did not take effect", lostDetach, "not_done", {}],
  ["a detach of a file that is attached", lostDetach, "attached", {}],
  ["a detach that took effect", lostDetach, "done", undefined],
  ["an update of a file that is not attached", lostUpdate, "not_attached", undefined],
])("%s records a file that the ledger lacks", (_what, call, type, attributes) => {
  const source = "drafts/1/product_files/source:a.blend";
  for (const { holder, address } of [
    { holder: [], address: source },
    { holder: [{ ...known, fileId: 8, address: source }], address: known.address },
  ]) {
    const context = { attachments: holder, ...nothing, now: 5 };
    const effects = resolutionOfAll([{ ...call, address: source }], { type }, context);
    const provenance = { by: "operator", at: 5 };
    const file = { draftId: 1, kind: "product_files", fileId: 7, address, attributes, provenance };
    expect(effects.filter((effect) => effect.type === "attached")).toEqual(
      attributes === undefined ? [] : [{ type: "attached", attachment: file }],
    );
  }
});

test("a refused attachment that took effect is recorded without values, which another call has set", () => {
  const refused = { ...operation("attach", { renderer: "arnold" }), status: 409 };
  const effects = resolutionOfAll([refused], { type: "done" }, { attachments: [], ...nothing, now: 5 });
  expect(effects).toMatchObject([{ type: "attached", attachment: { attributes: {} } }, { type: "settled" }]);
});

test("the file that an attachment took the place of is the rest of a replacement", () => {
  const { intent, ...attach } = operation("attach");
  expect(
    resolutionOfAll(
      [{ ...attach, intent: { ...intent, replaces: 6 } }],
      { type: "done" },
      { attachments: [], ...nothing, now: 5 },
    ),
  ).toMatchObject([{ type: "attached", replaces: 6 }, { type: "values_forgotten" }, { type: "settled" }]);
});

const sentAs = (kind: RecordedOperation["kind"], attributes: object) => ({
  ...operation(kind),
  id: JSON.stringify(attributes),
  intent: { ...file, attributes },
});
const vray = sentAs("update", { renderer: "vray" });
const both = sentAs("update", { renderer: "vray", file_format: "obj" });
const arnold = sentAs("update", { renderer: "arnold" });

const detach = operation("detach");
const attach = sentAs("attach", { renderer: "vray" });
const byAnotherEntry = { ...vray, address: "drafts/1/product_files/source:a.glb" };
const withRecord = { attachments: [known], ...nothing, now: 5 };

test.each([
  ["a detach and an update", "done", detach, vray],
  ["an attachment and a detach", "not_done", attach, detach],
  ["an update of other values", "done", vray, both],
  ["an update for another entry", "done", vray, byAnotherEntry],
  ["an update with a different value", "not_done", vray, arnold],
  ["an update of fewer values", "not_done", both, vray],
] as const)("one answer does not settle %s, when %s is said", (_what, type, shown, other) => {
  const resolve = () => resolutionOfAll([shown, other], { type }, withRecord);
  expect(resolve).toThrow("one answer cannot settle both");
});

test.each([
  ["updates of the same value", "not_done", vray, vray],
  ["an update, and one before with a different value", "done", vray, arnold],
  ["an update, and one before of fewer values", "done", both, arnold],
  ["two detaches", "done", detach, detach],
  ["an attachment, and an update with a different value", "done", attach, arnold],
  ["an attachment that was not made, and its check", "not_done", sentAs("attach", {}), vray],
  ["a detach and an update, and the file is attached", "attached", detach, vray],
  ["a detach and an update, and the file is not attached", "not_attached", detach, vray],
  ["updates for two entries", "attached", vray, byAnotherEntry],
] as const)("one answer settles %s, when %s is said", (_what, type, shown, other) => {
  const effects = resolutionOfAll([shown, other], { type }, withRecord);
  expect(effects.filter((effect) => effect.type === "settled")).toHaveLength(2);
});

test("a file that is attached after several calls has what was confirmed before, and is its entry's", () => {
  const scaled = sentAs("update", { renderer: "vray", format_version: "2" });
  for (const others of [[detach], [byAnotherEntry], []]) {
    expect(resolutionOfAll([...others, scaled], { type: "attached" }, withRecord)).toContainEqual({
      type: "rerecorded",
      attachment: {
        ...known,
        attributes: { renderer: "arnold", file_format: "fbx", format_version: "" },
        provenance: { by: "operator", at: 5 },
      },
    });
  }
});

test("a file that is not attached after several calls is forgotten", () => {
  const effects = resolutionOfAll([attach, detach, vray], { type: "not_attached" }, withRecord);
  const target = { draftId: 1, kind: "product_files", fileId: 7 };
  expect(effects).toMatchObject([
    { type: "detached", target },
    { type: "settled", outcome: "not_sent" },
    { type: "settled", outcome: "done" },
    { type: "settled", outcome: "superseded" },
  ]);
});

test.each(["publish", "upload"] as const)("whether a file is attached does not settle a %s", (kind) => {
  const { intent: _, ...rest } = operation(kind);
  const product = { ...rest, address: "drafts/1/product", intent: { draftId: 1 } };
  expect(() => resolutionOfAll([product], { type: "attached" }, withRecord)).toThrow("not a file of a draft");
});

test.each([
  ["an attachment", operation("attach", { renderer: "vray" })],
  ["an update", vray],
])("nothing is kept any more for an entry that has a file by %s that took effect", (_what, call) => {
  const context = call.kind === "attach" ? { ...withRecord, attachments: [] } : withRecord;
  expect(resolutionOfAll([call], { type: "done" }, context)).toContainEqual({
    type: "values_forgotten",
    address: known.address,
  });
  expect(resolutionOfAll([call], { type: "not_done" }, context)).not.toContainEqual(
    expect.objectContaining({ type: "values_forgotten" }),
  );
});

test("a second product of a revision or a name, made by a call of an earlier ledger, is not recorded", () => {
  const provenance = { by: "post", at: 1 } as const;
  const recorded = {
    ...nothing,
    attachments: [],
    publications: [{ draftId: 1, revision: 2, productId: 9003, provenance }],
    duplicates: [
      {
        name: "x",
        from: { by: "product_id", productId: 5 },
        sourceProductId: 5,
        productId: 9004,
        provenance,
      } as const,
    ],
    now: 5,
  };
  const publish = { ...operation("publish"), intent: { draftId: 1, revision: 2 } };
  const copy = { ...operation("duplicate"), address: "duplicates/x", intent: { name: "x", productId: 5 } };
  for (const call of [publish, copy]) {
    expect(resolutionOfAll([call], { type: "product", productId: 9002 }, recorded)).toEqual([
      { type: "settled", operationId: call.id, outcome: "done" },
    ]);
  }
});
