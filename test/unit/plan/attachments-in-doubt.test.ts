import { expect, test } from "vitest";
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

const upload = { uploadId: "up_1", status: "success", fileId: 10, at: 0 } as const;
const file = { draftId: 1, fileKind: "product_files" } as const;
const attach = doubt({
  kind: "attach",
  address: "drafts/1/product_files/upload_id:up_1",
  intent: { ...file, fileId: 10, attributes: { renderer: "b" } },
});
const detach = doubt({
  kind: "detach",
  address: "drafts/1/product_files/10",
  intent: { ...file, fileId: 10 },
});
const byId = wantedFile(1, 10, { renderer: "c" });
const byUpload = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, { renderer: "c" });
const attachments = [recordedFile(1, 10, { attributes: { renderer: "a" } })];
const desired = (...entries: (typeof byId)[]) =>
  desiredWith({ drafts: [draftWith(1, { attachments: entries })] });
const recorded = recordedWith({ uploads: [upload], inDoubt: [attach] });

const settled = `in_doubt outcome_unknown ${attach.address}`;

test.each([
  ["declared with other values", desired(byUpload), `${settled} [renderer]`],
  ["declared by its id", desired(byId), `${settled} [renderer]`],
  ["declared by two entries", desired(byUpload, byId), `${settled} [renderer]`],
  ["not declared", desired(), `${settled} [renderer]`],
])("settles the attach in doubt of a file that is %s, and plans no other write", (_name, wanted, line) => {
  expect(lines(wanted, recorded)).toEqual([line]);
  expect(lines(wanted, recordedWith({ attachments, inDoubt: [attach] }))).toEqual([line]);
});

test.each([
  ["the values that were sent", { renderer: "b" }, ["renderer"]],
  ["another value", { renderer: "c" }, ["renderer"]],
  ["one more value", { renderer: "b", file_format: "x" }, ["file_format", "renderer"]],
  ["no value", {}, ["renderer"]],
])(
  "settles an attach in doubt whose entry has %s with what its entry has, and clears what it has not",
  (_name, values, attributes) => {
    const entry = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, values);
    const plan = planOf(desired(entry), recorded);
    expect(plan).toMatchObject({ summary: { in_doubt: 1 }, diagnostics: [] });
    expect(plan.changes).toMatchObject([{ attributes }]);
    expect(plan.changes[0]?.after).toEqual({ file_id: 10, renderer: "", ...values });
    expect(plan.changes[0]).not.toHaveProperty("check_only");
  },
);

test("what a manifest no longer has is cleared before the draft is published", () => {
  const entry = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, { file_format: "x" });
  const publish = { revision: 1, position: 1 };
  const drafts = [draftWith(1, { attachments: [entry], publish })];
  const { changes, diagnostics } = planOf(desiredWith({ drafts }), recorded);
  expect(changes).toMatchObject([
    { action: "publish" },
    { action: "in_doubt", attributes: ["file_format", "renderer"] },
  ]);
  expect(changes[1]?.after).toEqual({ file_id: 10, file_format: "x", renderer: "" });
  expect(diagnostics).toEqual([]);
});

test("an attach in doubt whose file has another entry is only checked, and the rest waits", () => {
  const plan = planOf(desired(byId), recorded);
  const after = { file_id: 10, renderer: "" };
  expect(plan.changes).toMatchObject([{ after, attributes: ["renderer"], check_only: true }]);
  expect(plan.diagnostics).toMatchObject([
    { code: "waits-for-doubt", message: expect.stringContaining("1 change waits until") },
  ]);
});

test("shows two attachments in doubt at one address, the earlier one at the path of its file", () => {
  const later = doubt({ ...attach, id: "op-2", intent: { ...file, fileId: 11 }, startedAt: 5 });
  const earlier = `in_doubt outcome_unknown drafts/1/product_files/10 [renderer]`;
  const both = [earlier, settled];
  expect(lines(desired(byUpload), recordedWith({ inDoubt: [attach, later] }))).toEqual([
    earlier,
    `${settled} [renderer]`,
  ]);
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
    "in_doubt outcome_unknown drafts/1/product_files/10 [file_format,renderer]",
  ]);
});

test("a value that was withdrawn while its update is in doubt is not set: the last confirmed one is put back", () => {
  const update = doubt({
    kind: "update",
    address: "drafts/1/product_files/10",
    intent: { ...file, fileId: 10, attributes: { renderer: "withdrawn" } },
  });
  const known = [recordedFile(1, 10, { attributes: { file_format: "x", renderer: "confirmed" } })];
  const entry = wantedFile(1, 10, { file_format: "x" });
  const { changes } = planOf(desired(entry), recordedWith({ attachments: known, inDoubt: [update] }));
  expect(changes).toMatchObject([
    { action: "in_doubt", attributes: ["file_format", "renderer"], after: { renderer: "confirmed" } },
  ]);
});

test("a detach in doubt of a file that is named again is settled with the values of its entry alone", () => {
  const [change] = planOf(
    desired(wantedFile(1, 10)),
    recordedWith({ attachments, inDoubt: [detach] }),
  ).changes;
  expect(change).toMatchObject({ action: "in_doubt", attributes: [] });
  expect(change?.after).toEqual({ file_id: 10 });
});

test("a value that was sent is cleared while no manifest declares the draft", () => {
  const [change] = planOf(desiredWith({}), recordedWith({ inDoubt: [attach] })).changes;
  expect(change).toMatchObject({ action: "in_doubt", check_only: true });
  expect(change?.after).toEqual({ file_id: 10, renderer: "" });
});

test.each(["attach", "update", "detach"] as const)(
  "leaves an %s in doubt of a list that is left out to a person, and goes on with other files",
  (kind) => {
    const inDoubt = [doubt({ ...detach, kind, intent: { ...detach.intent, attributes: { renderer: "b" } } })];
    const publish = { revision: 1, position: 1 };
    const pictures = [wanted(1, "promotional_files", { by: "file_id", fileId: 20 })];
    const leftOut = desiredWith({
      drafts: [draftWith(1, { managed: ["promotional_files"], attachments: pictures, publish })],
    });
    const plan = planOf(leftOut, recordedWith({ attachments, inDoubt }));
    expect(plan.changes).toMatchObject([
      { action: "publish" },
      { action: "in_doubt", address: detach.address, after: null },
      { action: "create", address: "drafts/1/promotional_files/20" },
    ]);
    expect(plan.diagnostics).toEqual([]);
    expect(plan.unmanaged).toEqual([]);
  },
);

test("the old file of a replacement in doubt is adopted by an entry that names it by now", () => {
  const address = "drafts/1/product_files/source:a.glb";
  const old = recordedFile(1, 9, { address, sha256: "old" });
  const replacing = doubt({
    kind: "attach",
    address,
    intent: { ...file, fileId: 10, sha256: "new", replaces: 9 },
  });
  const entries = [wantedSource(1, "a.glb", "new"), wantedFile(1, 9)];
  const plan = planOf(desired(...entries), recordedWith({ attachments: [old], inDoubt: [replacing] }));
  expect(plan.changes.map(({ action }) => action)).toEqual(["adopt", "in_doubt"]);
  expect(plan.diagnostics).toEqual([]);
});

test("shows a detach in doubt at the path of its file when its entry has an attachment in doubt", () => {
  const address = "drafts/1/product_files/source:a.glb";
  const old = recordedFile(1, 9, { address, sha256: "old" });
  const inDoubt = [
    doubt({ kind: "attach", address, intent: { ...file, fileId: 10, sha256: "new", replaces: 9 } }),
    doubt({ id: "op-2", kind: "detach", address, intent: { ...file, fileId: 9 } }),
  ];
  const publish = { revision: 1, position: 1 };
  const drafts = [draftWith(1, { attachments: [wantedSource(1, "a.glb", "old")], publish })];
  const plan = planOf(desiredWith({ drafts }), recordedWith({ attachments: [old], inDoubt }));
  expect(plan.changes).toMatchObject([
    { action: "in_doubt", address: "drafts/1/product_files/9", after: { file_id: 9 } },
    { action: "in_doubt", address, after: { file_id: 10 }, check_only: true },
  ]);
  expect(plan.diagnostics).toMatchObject([{ code: "waits-for-doubt" }]);
});

test("an entry that is put back after an update and a detach in doubt gets its last confirmed values", () => {
  const update = doubt({
    kind: "update",
    address: "drafts/1/product_files/10",
    intent: { ...file, fileId: 10, attributes: { renderer: "b" } },
  });
  // The format was never sent, so it is no doubt.
  const known = [recordedFile(1, 10, { attributes: { renderer: "a", file_format: "x" } })];
  const { changes } = planOf(
    desired(wantedFile(1, 10)),
    recordedWith({ attachments: known, inDoubt: [update, detach] }),
  );
  expect(changes).toMatchObject([
    { action: "in_doubt", after: { file_id: 10, renderer: "a" }, attributes: ["renderer"] },
  ]);
});

test("an attach in doubt of an entry that waited for a file is settled with all its values", () => {
  const keptValues = new Map([[attach.address, { renderer: "a", format_version: "1" }]]);
  const entry = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, { file_format: "x" });
  const sent = { file_format: "x", format_version: "1", renderer: "a" };
  const attaching = doubt({ ...attach, intent: { ...file, fileId: 10, attributes: sent } });
  const { changes } = planOf(
    desired(entry),
    recordedWith({ uploads: [upload], inDoubt: [attaching], keptValues }),
  );
  expect(changes).toMatchObject([{ action: "in_doubt", after: { file_id: 10, ...sent } }]);
  expect(changes[0]).not.toHaveProperty("check_only");
});

test("a replacement in doubt whose content changed again takes over all values of the old file", () => {
  const address = "drafts/1/product_files/source:a.glb";
  const attributes = { file_format: "x", renderer: "a" };
  const old = recordedFile(1, 9, { address, sha256: "old", attributes });
  const inDoubt = [
    doubt({
      kind: "attach",
      address,
      intent: { ...file, fileId: 10, sha256: "new", replaces: 9, attributes },
    }),
    doubt({ id: "op-2", kind: "update", address, intent: { ...file, fileId: 10, attributes } }),
  ];
  const entry = wantedSource(1, "a.glb", "newer", { file_format: "x" });
  const { changes } = planOf(desired(entry), recordedWith({ attachments: [old], inDoubt }));
  expect(changes[0]).toMatchObject({ address, after: { file_id: 10, ...attributes }, check_only: true });
});

test.each([
  ["an attach that was refused", { ...attach, status: 422 }, []],
  [
    "an attach that was refused, and its PATCH lost",
    { ...attach, status: 422, intent: { ...attach.intent, refusedWith: 422 } },
    ["renderer"],
  ],
])("what %s has sent is cleared only if it may have arrived", (_name, operation, attributes) => {
  const entry = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, {});
  expect(planOf(desired(entry), recordedWith({ inDoubt: [operation] })).changes).toMatchObject([
    { action: "in_doubt", attributes },
  ]);
});

test.each([
  { what: "was removed", entries: [], attributes: [] },
  {
    what: "has newer content",
    entries: [wantedSource(1, "a.glb", "newer", { file_format: "x" })],
    attributes: ["file_format", "renderer"],
  },
])(
  "the check of a refused replacement whose entry $what sets what the entry is to keep",
  ({ entries, attributes }) => {
    const address = "drafts/1/product_files/source:a.glb";
    const values = { file_format: "x", renderer: "a" };
    const old = recordedFile(1, 9, { address, sha256: "old", attributes: values });
    const intent = { ...file, fileId: 10, sha256: "new", replaces: 9, attributes: values };
    const inDoubt = [doubt({ kind: "attach", address, status: 409, intent })];
    const { changes } = planOf(desired(...entries), recordedWith({ attachments: [old], inDoubt }));
    expect(changes).toContainEqual(
      expect.objectContaining({ action: "in_doubt", check_only: true, attributes }),
    );
  },
);

test("what an attach in doubt and a later update have sent is cleared, but not in a list that is left out", () => {
  const intent = { ...file, fileId: 10, attributes: { file_format: "x" } };
  const later = doubt({ kind: "update", address: attach.address, id: "op-2", startedAt: 5, intent });
  const inDoubt = recordedWith({ uploads: [upload], inDoubt: [attach, later] });
  expect(lines(desired(), inDoubt)).toEqual([`${settled} [file_format,renderer]`]);
  const leftOut = desiredWith({ drafts: [draftWith(1, { attachments: [], managed: [] })] });
  // What `resolve` takes is the path of the file.
  expect(lines(leftOut, inDoubt)).toEqual(["in_doubt outcome_unknown drafts/1/product_files/10"]);
});

test.each(["update", "detach"] as const)(
  "a file that is not recorded is in doubt as long as an %s of it is",
  (kind) => {
    const attributes = kind === "update" ? { renderer: "b" } : {};
    const operation = doubt({ kind, address: attach.address, intent: { ...file, fileId: 10, attributes } });
    const names = kind === "update" ? " [renderer]" : "";
    expect(lines(desired(), recordedWith({ inDoubt: [operation] }))).toEqual([`${settled}${names}`]);
    const byEntry = planOf(desired(byUpload), recordedWith({ uploads: [upload], inDoubt: [operation] }));
    expect(byEntry.changes).toMatchObject([{ after: { file_id: 10, renderer: "c" } }]);
    expect(byEntry.changes[0]).not.toHaveProperty("check_only");
    // Its entry has another file by now.
    const other = recordedFile(1, 11, { address: attach.address, attributes: { renderer: "c" } });
    const uploads = [{ ...upload, fileId: 11 }];
    expect(
      lines(desired(byUpload), recordedWith({ uploads, attachments: [other], inDoubt: [operation] })),
    ).toEqual([`in_doubt outcome_unknown drafts/1/product_files/10${names}`]);
  },
);

test("an attach in doubt of a file that is recorded clears no value that was confirmed since", () => {
  const known = recordedFile(1, 10, { attributes: { renderer: "seen" } });
  const entry = wanted(1, "product_files", { by: "upload_id", uploadId: "up_1" }, {});
  const recorded = recordedWith({ uploads: [upload], attachments: [known], inDoubt: [attach] });
  expect(planOf(desired(entry), recorded).changes).toMatchObject([
    { action: "in_doubt", attributes: ["renderer"], after: { renderer: "seen" } },
  ]);
});

test("the file that one in doubt replaces is not detached once the list is left out", () => {
  const old = recordedFile(1, 9, { address: attach.address });
  const replacing = doubt({ ...attach, intent: { ...attach.intent, replaces: 9 } });
  const leftOut = desiredWith({ drafts: [draftWith(1, { attachments: [], managed: [] })] });
  const plan = planOf(leftOut, recordedWith({ attachments: [old], inDoubt: [replacing] }));
  expect(plan.summary).toEqual({ in_doubt: 1 });
});
