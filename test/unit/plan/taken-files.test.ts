import { describe, expect, test } from "vitest";
import type { DesiredAttachment } from "../../../src/model/desired.ts";
import type { Recorded, RecordedUpload } from "../../../src/model/recorded.ts";
import { excludeByPolicy } from "../../../src/plan/policy.ts";
import { checkSafety } from "../../../src/plan/safety.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wanted,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";
import { doubt, lines } from "./support.ts";

const list = "drafts/1/product_files";
const source = `${list}/source:a.glb`;
/** An upload that ended with this file. */
const upload = (name: string, sha256: string, fileId: number): RecordedUpload => ({
  uploadId: `u${fileId}`,
  uploadKey: `in/${fileId}`,
  source: name,
  sha256,
  status: "success",
  fileId,
  at: 0,
});
const keyUpload: RecordedUpload = {
  uploadId: "u1",
  uploadKey: "in/k",
  status: "success",
  fileId: 10,
  at: 0,
};
/** File 10 is recorded as the old content of a.glb. */
const old = recordedFile(1, 10, { address: source, sha256: "old", attributes: { renderer: "vray" } });
const holding = (parts: Partial<Recorded> = {}) =>
  recordedWith({ attachments: [old], uploads: [upload("b.glb", "old", 10), keyUpload], ...parts });
/** File 10, as the old content of a.glb that file 11 has replaced. */
const replaced = { sha256: "old", replacedBy: 11, formerAddress: source };
const byUploadId = wanted(1, "product_files", { by: "upload_id", uploadId: "u10" });
const byUploadKey = wanted(1, "product_files", { by: "upload_key", uploadKey: "in/k" });
const changed = wantedSource(1, "a.glb", "new");
const desired = (...attachments: DesiredAttachment[]) =>
  desiredWith({ drafts: [draftWith(1, { attachments })] });
const created = `create not_recorded ${source} [renderer]`;

describe("the old file of a changed source that another entry names", () => {
  const namedBy: [string, DesiredAttachment, string][] = [
    ["an upload id", byUploadId, `${list}/upload_id:u10`],
    ["an upload key", byUploadKey, `${list}/upload_key:in/k`],
    ["a source that was uploaded before", wantedSource(1, "b.glb", "old"), `${list}/source:b.glb`],
  ];

  test.each(namedBy)(
    "is taken over by %s without its values, and the new content is a new file",
    (...row) => {
      const [, entry, address] = row;
      const { changes } = planOf(desired(changed, entry), holding());
      expect(changes).toHaveLength(2);
      expect(changes).toContainEqual(expect.objectContaining({ action: "create", address: source }));
      const after = expect.objectContaining({ file_id: 10, renderer: "" });
      expect(changes).toContainEqual(expect.objectContaining({ action: "update", address, after }));
    },
  );

  test("keeps its values, and the new content gets those that are not managed, too", () => {
    const [adopt, create] = planOf(desired(changed, wantedFile(1, 10)), holding()).changes;
    expect(adopt).toMatchObject({ action: "adopt", attributes: [] });
    expect(create).toMatchObject({ action: "create", attributes: ["renderer"], after: { renderer: "vray" } });
  });

  test("stays attached when only the changed source is targeted", () => {
    expect(lines(desired(changed, byUploadId), holding(), { targets: [source] })).toEqual([created]);
  });

  test("is taken over by its file id, its values kept, also while the attach of the new content is in doubt", () => {
    const intent = { draftId: 1, fileKind: "product_files", fileId: 11, sha256: "new" } as const;
    const recorded = holding({ inDoubt: [doubt({ address: source, kind: "attach", intent })] });
    const entries = desired(changed, wantedFile(1, 10, { renderer: "rx" }));
    const { changes } = planOf(entries, recorded);
    const taking = changes.find(({ action }) => action === "update");
    expect(taking).toMatchObject({ address: `${list}/10`, before: { address: source }, takes_over: true });
  });

  test("is taken over alone, too: the values are kept for the new content", () => {
    const entries = desired(changed, byUploadId);
    const taking = { action: "update", address: `${list}/upload_id:u10`, takes_over: true };
    const alone = planOf(entries, holding(), { targets: [taking.address] });
    expect(alone).toMatchObject({ changes: [taking], diagnostics: [] });
    const { plan: left } = excludeByPolicy(planOf(entries, holding()), new Set(["update"]));
    expect(left.changes).toMatchObject([taking]);
  });

  test("is only renamed when no entry gets another file for it", () => {
    const { changes } = planOf(desired(byUploadId), holding());
    expect(changes).toMatchObject([{ action: "adopt", before: { address: source } }]);
    expect(changes[0]).not.toHaveProperty("takes_over");
  });

  test("leaves no values to an entry that names the same file", () => {
    const record = recordedFile(1, 10, { address: `${list}/upload_key:in/k` });
    const plan = planOf(desired(byUploadKey, wantedFile(1, 10)), holding({ attachments: [record] }));
    expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice" }]);
    expect(plan.changes).toMatchObject([{ action: "adopt", address: `${list}/10` }]);
    expect(plan.changes[0]).not.toHaveProperty("takes_over");
  });

  test("stays attached when the new content turns out to be the file of a third entry", () => {
    const recorded = holding({
      attachments: [old, recordedFile(1, 9)],
      uploads: [upload("a.glb", "new", 9), upload("b.glb", "old", 10)],
    });
    const plan = planOf(desired(wantedFile(1, 9), changed, byUploadId), recorded);
    expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice" }]);
    expect(plan.changes).toMatchObject([{ action: "update", address: `${list}/upload_id:u10` }]);
  });

  test("belongs to the first of two entries that name it", () => {
    const plan = planOf(desired(changed, byUploadId, byUploadKey), holding());
    expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice", address: `${list}/upload_key:in/k` }]);
    expect(plan.changes).toMatchObject([
      { action: "create", address: source },
      { action: "update", address: `${list}/upload_id:u10` },
    ]);
  });

  test("is no replacement that the protection of the draft forbids", () => {
    const recorded = holding({ protectedDrafts: new Set([1]) });
    const drafts = [draftWith(1, { attachments: [changed, byUploadId], protect: true })];
    const limits = { maxDeletes: { percent: 0, above: 0 }, removedDrafts: "refuse" } as const;
    expect(checkSafety(planOf(desiredWith({ drafts }), recorded), recorded, limits)).toEqual([]);
  });

  test("stays attached while the attach of the new content is in doubt", () => {
    const intent = { draftId: 1, fileKind: "product_files", fileId: 11, sha256: "new" } as const;
    const recorded = holding({ inDoubt: [doubt({ address: source, kind: "attach", intent })] });
    expect(lines(desired(changed, byUploadId), recorded)).toEqual([
      `in_doubt outcome_unknown ${source} [renderer]`,
      `update attributes_differ ${list}/upload_id:u10 [renderer]`,
    ]);
  });
});

test("takes over the files of three sources that exchange their contents", () => {
  const recorded = recordedWith({
    attachments: ["a", "b", "c"].map((name, at) =>
      recordedFile(1, 10 + at, { address: `${list}/source:${name}.glb`, sha256: `old ${name}` }),
    ),
    uploads: [upload("a.glb", "old b", 11), upload("b.glb", "old c", 12), upload("c.glb", "old a", 10)],
  });
  const rotated = desired(
    wantedSource(1, "a.glb", "old b"),
    wantedSource(1, "b.glb", "old c"),
    wantedSource(1, "c.glb", "old a"),
  );
  const plan = planOf(rotated, recorded);
  expect(
    plan.changes.map(({ action, before }) => [action, before && "file_id" in before && before.file_id]),
  ).toEqual([
    ["adopt", 11],
    ["adopt", 12],
    ["adopt", 10],
  ]);
});

test("a file that is put back keeps what its entry had, also beside a newer file of which no values are known", () => {
  const attributes = { renderer: "vray", file_format: "fbx" };
  const original = recordedFile(1, 10, { ...replaced, attributes });
  const newer = recordedFile(1, 11, { address: source, sha256: "new" });
  const recorded = recordedWith({ attachments: [original, newer] });
  const { changes } = planOf(desired(wantedSource(1, "a.glb", "old")), recorded);
  expect(changes).toMatchObject([
    { action: "delete", before: { file_id: 11 } },
    { action: "adopt", address: source, attributes: [] },
  ]);
});

test("a text that was cleared stays cleared when the file before is put back", () => {
  const original = recordedFile(1, 10, { ...replaced, attributes: { renderer: "vray" } });
  const newer = recordedFile(1, 11, { address: source, sha256: "new", attributes: { renderer: "" } });
  const recorded = recordedWith({ attachments: [original, newer] });
  const { changes } = planOf(desired(wantedSource(1, "a.glb", "old")), recorded);
  expect(changes).toMatchObject([
    { action: "delete", before: { file_id: 11 } },
    { action: "update", address: source, after: { file_id: 10, renderer: "" }, attributes: ["renderer"] },
  ]);
});

test("a file that another one replaced has nothing of its former entry in the place of a third", () => {
  const attributes = { renderer: "vray", is_native: true };
  const marked = recordedFile(1, 10, { ...replaced, attributes });
  const other = recordedFile(1, 11, { address: source, sha256: "new" });
  const recorded = recordedWith({ attachments: [marked, other], uploads: [upload("b.glb", "old", 10)] });
  const { changes } = planOf(desired(changed, wantedSource(1, "b.glb", "old")), recorded);
  expect(changes).toMatchObject([{ action: "update", after: { renderer: "", is_native: false } }]);
});

test.each([
  ["in this plan", source],
  ["before", `${list}/source:sub/a.glb`],
])(
  "a file that another one replaced has nothing of its former entry either that was renamed %s",
  (_when, at) => {
    const marked = recordedFile(1, 10, {
      sha256: "old",
      formerAddress: source,
      attributes: { renderer: "vray" },
    });
    const other = recordedFile(1, 11, { address: at, sha256: "new", attributes: { renderer: "vray" } });
    const recorded = recordedWith({ attachments: [marked, other], uploads: [upload("b.glb", "old", 10)] });
    const renamed = wantedSource(1, "sub/a.glb", "new");
    const { changes } = planOf(desired(renamed, wantedSource(1, "b.glb", "old")), recorded);
    const cleared = {
      action: "update",
      address: `${list}/source:b.glb`,
      after: { file_id: 10, renderer: "" },
    };
    expect(changes[0]).toMatchObject(cleared);
  },
);

test("a file that is named another way keeps its values although its replacement has begun", () => {
  const marked = recordedFile(1, 10, { ...replaced, attributes: { renderer: "vray" } });
  const other = recordedFile(1, 11, { address: source, sha256: "new" });
  const recorded = recordedWith({ attachments: [marked, other], uploads: [upload("a.glb", "old", 10)] });
  const { changes } = planOf(desired(byUploadId), recorded);
  expect(changes).toMatchObject([
    { action: "delete", before: { file_id: 11 } },
    { action: "adopt", attributes: [], after: { file_id: 10 } },
  ]);
});

test("a file that its entry has again loses what another entry's update in doubt may have set", () => {
  const marked = recordedFile(1, 10, { ...replaced, attributes: { renderer: "vray" } });
  const other = recordedFile(1, 11, { address: source, sha256: "new", attributes: { renderer: "vray" } });
  const taking = doubt({
    kind: "update",
    address: `${list}/source:b.glb`,
    intent: {
      ...{ draftId: 1, fileKind: "product_files", fileId: 10, formerAddress: source },
      attributes: { renderer: "cycles", file_format: "fbx" },
    },
  });
  const recorded = recordedWith({
    attachments: [marked, other],
    uploads: [upload("a.glb", "old", 10)],
    inDoubt: [taking],
  });
  const { changes } = planOf(desired(wantedSource(1, "a.glb", "old")), recorded);
  const after = { file_id: 10, renderer: "vray", file_format: "" };
  expect(changes[1]).toMatchObject({ address: source, after });
});

test("files that change places leave each entry its values that are not managed any more", () => {
  const other = recordedFile(1, 11, {
    address: `${list}/source:b.glb`,
    sha256: "new",
    attributes: { renderer: "cycles", file_format: "fbx", is_native: true },
  });
  const recorded = recordedWith({
    attachments: [old, other],
    uploads: [upload("a.glb", "new", 11), upload("b.glb", "old", 10)],
  });
  const { changes } = planOf(desired(changed, wantedSource(1, "b.glb", "old")), recorded);
  expect(changes).toMatchObject([
    {
      action: "update",
      address: source,
      after: { file_id: 11, renderer: "vray", file_format: "", is_native: false },
    },
    {
      action: "update",
      address: `${list}/source:b.glb`,
      after: { file_id: 10, renderer: "cycles", file_format: "fbx", is_native: true },
    },
  ]);
});

describe("an entry whose values are kept", () => {
  const replacedByOther = { sha256: "old", formerAddress: `${list}/source:b.glb` };
  const keptValues = new Map([[source, { renderer: "vray", file_format: "" }]]);

  test("gets them with a new file, but for empty ones", () => {
    const recorded = recordedWith({ keptValues });
    const { changes } = planOf(desired(changed), recorded);
    expect(changes).toMatchObject([
      { action: "create", attributes: ["renderer"], after: { renderer: "vray" } },
    ]);
  });

  test("gets them with a file that was another's, whose values are cleared", () => {
    const attributes = { file_format: "fbx", is_native: true };
    const recorded = recordedWith({
      keptValues,
      attachments: [recordedFile(1, 11, { attributes })],
      uploads: [upload("a.glb", "new", 11)],
    });
    const after = { file_id: 11, renderer: "vray", file_format: "", is_native: false };
    expect(planOf(desired(changed), recorded).changes).toMatchObject([{ action: "update", after }]);
  });

  test("has them set again when the takeover of its file was lost and withdrawn", () => {
    const own = recordedFile(1, 10, { address: source, sha256: "new", attributes: { renderer: "rx" } });
    const { changes } = planOf(desired(changed), recordedWith({ keptValues, attachments: [own] }));
    const attributes = ["file_format", "renderer"];
    expect(changes).toMatchObject([
      { action: "update", attributes, after: { file_id: 10, renderer: "vray" } },
    ]);
  });

  test("is recorded without a call when it has them and its file", () => {
    const attributes = { renderer: "vray", file_format: "" };
    const own = recordedFile(1, 10, { address: source, sha256: "new", attributes });
    const { changes } = planOf(desired(changed), recordedWith({ keptValues, attachments: [own] }));
    expect(changes).toMatchObject([{ action: "adopt", address: source }]);
    expect(planOf(desired(changed), recordedWith({ attachments: [own] })).changes).toEqual([]);
  });

  test("leaves the file attached that it is to get when its list is left out by then", () => {
    const attachments = [recordedFile(1, 10, { ...replacedByOther, attributes: { renderer: "rx" } })];
    const drafts = [draftWith(1, { managed: [] })];
    const plan = planOf(desiredWith({ drafts }), recordedWith({ keptValues, attachments }));
    expect(plan).toMatchObject({ changes: [], unmanaged: [{ files: 1 }] });
  });

  test("does not wait for a file that it has, nor for empty values, when its list is left out by then", () => {
    const publish = { revision: 1, position: 1 };
    const left = desiredWith({ drafts: [draftWith(1, { managed: [], publish })] });
    const own = recordedFile(1, 10, { address: source });
    expect(planOf(left, recordedWith({ keptValues })).summary).toEqual({});
    const plan = planOf(left, recordedWith({ keptValues, attachments: [own] }));
    expect(plan).toMatchObject({ summary: { publish: 1 }, diagnostics: [] });
    const empty = recordedWith({ keptValues: new Map([[source, { file_format: "" }]]) });
    expect(planOf(left, empty).summary).toEqual({ publish: 1 });
  });

  test("gets what the manifest says by now", () => {
    const entry = wantedSource(1, "a.glb", "new", { renderer: "cycles" });
    const { changes } = planOf(desired(entry), recordedWith({ keptValues }));
    expect(changes).toMatchObject([{ after: { renderer: "cycles" } }]);
  });
});
