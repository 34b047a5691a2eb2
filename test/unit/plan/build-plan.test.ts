import { describe, expect, test } from "vitest";
import type { RecordedOperation } from "../../../src/model/recorded.ts";
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

const publish = { revision: 1, position: 1 };
const by = { by: "post", at: 0 } as const;
const endedUpload = {
  uploadId: "u1",
  uploadKey: "k",
  source: "a.glb",
  sha256: "same",
  size: 10,
  status: "success",
  fileId: 77,
  at: 0,
} as const;

function doubt(parts: Partial<RecordedOperation>): RecordedOperation {
  return {
    id: "op-1",
    runId: "run-1",
    address: "drafts/1/product",
    kind: "publish",
    method: "POST",
    path: "/api/products",
    intent: {},
    startedAt: 0,
    ...parts,
  };
}

/** `action reason address [attributes]` of every change. */
function lines(...args: Parameters<typeof planOf>): string[] {
  return planOf(...args).changes.map(({ action, reason, address, attributes }) =>
    [action, reason, address, ...(attributes.length > 0 ? [`[${attributes}]`] : [])].join(" "),
  );
}

describe("attachments", () => {
  const cases = [
    {
      name: "not recorded: created with its attributes",
      desired: wantedFile(1, 10, { file_format: "fbx", is_native: false }),
      recorded: recordedWith(),
      changes: ["create not_recorded drafts/1/product_files/10 [file_format,is_native]"],
    },
    {
      name: "recorded as desired: nothing",
      desired: wantedFile(1, 10, { file_format: "fbx" }),
      recorded: recordedWith({ attachments: [recordedFile(1, 10, { attributes: { file_format: "fbx" } })] }),
      changes: [],
    },
    {
      name: "an attribute that is left out is not compared",
      desired: wantedFile(1, 10, {}),
      recorded: recordedWith({ attachments: [recordedFile(1, 10, { attributes: { file_format: "fbx" } })] }),
      changes: [],
    },
    {
      name: "an empty text is a value",
      desired: wantedFile(1, 10, { renderer: "" }),
      recorded: recordedWith({ attachments: [recordedFile(1, 10, { attributes: { renderer: "vray" } })] }),
      changes: ["update attributes_differ drafts/1/product_files/10 [renderer]"],
    },
    {
      name: "only what differs is named",
      desired: wantedFile(1, 10, { file_format: "fbx", format_version: "2020", is_native: true }),
      recorded: recordedWith({
        attachments: [recordedFile(1, 10, { attributes: { file_format: "fbx", format_version: "2019" } })],
      }),
      changes: ["update attributes_differ drafts/1/product_files/10 [format_version,is_native]"],
    },
    {
      name: "new content of a local file: replaced",
      desired: wantedSource(1, "a.glb", "new"),
      recorded: recordedWith({
        attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "old" })],
      }),
      changes: ["replace content_changed drafts/1/product_files/source:a.glb"],
    },
    {
      name: "a former content that is still attached: taken up again, and the newer one is detached",
      desired: wantedSource(1, "a.glb", "former"),
      recorded: recordedWith({
        attachments: [
          recordedFile(1, 10, { sha256: "former" }),
          recordedFile(1, 11, { address: "drafts/1/product_files/source:a.glb", sha256: "newer" }),
        ],
      }),
      changes: [
        "delete content_changed drafts/1/product_files/11",
        "adopt renamed drafts/1/product_files/source:a.glb",
      ],
    },
    {
      name: "a local file under a new name: adopted",
      desired: wantedSource(1, "b.glb", "same"),
      recorded: recordedWith({
        attachments: [
          recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "same" }),
        ],
      }),
      changes: ["adopt renamed drafts/1/product_files/source:b.glb"],
    },
    {
      name: "an uploaded file that is now named by its id: adopted",
      desired: wantedFile(1, 10),
      recorded: recordedWith({
        attachments: [
          recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "same" }),
        ],
      }),
      changes: ["adopt renamed drafts/1/product_files/10"],
    },
    {
      name: "renamed and changed at once: updated under the new name",
      desired: wantedSource(1, "b.glb", "same", { file_format: "gltf" }),
      recorded: recordedWith({
        attachments: [
          recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "same" }),
        ],
      }),
      changes: ["update attributes_differ drafts/1/product_files/source:b.glb [file_format]"],
    },
    {
      name: "the same content in another collection is another file",
      desired: wanted(1, "promotional_files", { by: "file_id", fileId: 10 }),
      recorded: recordedWith({ attachments: [recordedFile(1, 10)] }),
      changes: [
        "delete not_in_manifest drafts/1/product_files/10",
        "create not_recorded drafts/1/promotional_files/10",
      ],
    },
    {
      name: "an attachment that may or may not be there: blocked",
      desired: wantedFile(1, 10),
      recorded: recordedWith({ inDoubt: [doubt({ kind: "attach", address: "drafts/1/product_files/10" })] }),
      changes: ["in_doubt outcome_unknown drafts/1/product_files/10"],
    },
    {
      name: "an update that may or may not have taken effect: its attributes are sent again",
      desired: wantedFile(1, 10, { file_format: "fbx", renderer: "vray" }),
      recorded: recordedWith({
        attachments: [recordedFile(1, 10, { attributes: { file_format: "fbx", renderer: "vray" } })],
        inDoubt: [
          doubt({
            kind: "update",
            address: "drafts/1/product_files/10",
            intent: { attributes: { renderer: "x" } },
          }),
        ],
      }),
      changes: ["update attributes_differ drafts/1/product_files/10 [renderer]"],
    },
    {
      name: "a detachment that may or may not have taken effect is planned again",
      desired: undefined,
      recorded: recordedWith({
        attachments: [recordedFile(1, 10)],
        inDoubt: [doubt({ kind: "detach", address: "drafts/1/product_files/10" })],
      }),
      changes: ["delete not_in_manifest drafts/1/product_files/10"],
    },
  ];
  test.each(cases)("$name", ({ desired, recorded, changes }) => {
    const drafts = [draftWith(1, { attachments: desired === undefined ? [] : [desired] })];
    expect(lines(desiredWith({ drafts }), recorded)).toEqual(changes.toSorted(byAddress));
  });

  test("an upload that ended already is not made again", () => {
    const drafts = [draftWith(1, { attachments: [wantedSource(1, "a.glb", "same")] })];
    const plan = planOf(desiredWith({ drafts }), recordedWith({ uploads: [endedUpload] }));
    expect(plan.changes[0]?.after).toMatchObject({ file_id: 77 });
    expect(plan.estimate.calls.min).toBe(1);
  });

  test("a file that was named by its id and is now named by the source it was uploaded from is adopted", () => {
    const desired = desiredWith({
      drafts: [draftWith(1, { attachments: [wantedSource(1, "a.glb", "same")] })],
    });
    const recorded = recordedWith({ uploads: [endedUpload], attachments: [recordedFile(1, 77)] });
    expect(lines(desired, recorded)).toEqual(["adopt renamed drafts/1/product_files/source:a.glb"]);
  });

  test("one that is still processed is waited for, not registered again", () => {
    const uploads = [{ uploadId: "u1", uploadKey: "in/a.mp4", status: "pending", at: 0 } as const];
    const attachment = wanted(1, "promotional_files", { by: "upload_key", uploadKey: "in/a.mp4" });
    const plan = planOf(
      desiredWith({ drafts: [draftWith(1, { attachments: [attachment] })] }),
      recordedWith({ uploads }),
    );
    expect(plan.changes[0]?.after).toEqual({ upload_key: "in/a.mp4", upload_id: "u1" });
    expect(plan.estimate.calls.min).toBe(2);
  });

  describe("a new content whose attachment is in doubt", () => {
    const address = "drafts/1/product_files/source:a.glb";
    const old = recordedFile(1, 10, { address, sha256: "old" });
    const attach = doubt({ address, kind: "attach", intent: { fileId: 11, sha256: "new" } });
    const recorded = recordedWith({ attachments: [old], inDoubt: [attach] });
    const settling = `in_doubt outcome_unknown ${address}`;
    const planned = (content: string, ...others: ReturnType<typeof wantedFile>[]) =>
      lines(
        desiredWith({
          drafts: [draftWith(1, { attachments: [wantedSource(1, "a.glb", content), ...others], publish })],
        }),
        recorded,
      );

    test("is settled, and then the former file is detached before the draft is published", () => {
      expect(planned("new")).toEqual([
        "publish not_published drafts/1/product [revision]",
        "delete content_changed drafts/1/product_files/10",
        settling,
      ]);
    });

    test("leaves the former file alone when it is for a person, or asked for by its id", () => {
      expect(planned("newer")).toEqual(["publish not_published drafts/1/product [revision]", settling]);
      expect(planned("new", wantedFile(1, 10))).not.toContain(
        "delete content_changed drafts/1/product_files/10",
      );
    });
  });

  test("two entries that are the same file are an error, and neither is planned twice", () => {
    const attachments = [wantedSource(1, "a.glb", "same"), wantedFile(1, 10)];
    const recorded = recordedWith({
      attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "same" })],
    });
    const plan = planOf(desiredWith({ drafts: [draftWith(1, { attachments })] }), recorded);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["same-file-twice"]);
    expect(plan.changes).toEqual([]);
  });
});

function byAddress(a: string, b: string): number {
  const address = (line: string) => line.split(" ")[2] ?? "";
  return address(a) < address(b) ? -1 : 1;
}

describe("publications", () => {
  const published = (revision: number) => [{ draftId: 1, revision, productId: 900, provenance: by }];
  test.each([
    {
      name: "not published yet",
      wish: 1,
      recorded: recordedWith(),
      changes: ["publish not_published drafts/1/product [revision]"],
      codes: [],
    },
    {
      name: "published",
      wish: 1,
      recorded: recordedWith({ publications: published(1) }),
      changes: [],
      codes: [],
    },
    {
      name: "raised",
      wish: 2,
      recorded: recordedWith({ publications: published(1) }),
      changes: ["publish revision_raised drafts/1/product [revision]"],
      codes: [],
    },
    {
      name: "lowered",
      wish: 1,
      recorded: recordedWith({ publications: published(2) }),
      changes: [],
      codes: ["revision-lowered"],
    },
    {
      name: "taken away",
      wish: 0,
      recorded: recordedWith({ publications: published(1) }),
      changes: [],
      codes: ["publish-removed"],
    },
    {
      name: "in doubt",
      wish: 1,
      recorded: recordedWith({ inDoubt: [doubt({})] }),
      changes: ["in_doubt outcome_unknown drafts/1/product"],
      codes: [],
    },
  ])("$name", ({ wish, recorded, changes, codes }) => {
    const drafts = [draftWith(1, wish === 0 ? {} : { publish: { revision: wish, position: 1 } })];
    const plan = planOf(desiredWith({ drafts }), recorded);
    expect(lines(desiredWith({ drafts }), recorded)).toEqual(changes);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(codes);
  });

  test("a draft that no manifest names any more keeps its publication, so that it is not published twice", () => {
    expect(planOf(desiredWith(), recordedWith({ publications: published(1) })).changes).toEqual([]);
  });
});

describe("duplicates", () => {
  const wish = (product: { by: "product_id"; productId: number } | { by: "draft"; draftId: number }) =>
    desiredWith({ duplicates: [{ name: "winter", product, file: "m.yaml", position: 1 }] });
  const made = [
    {
      name: "winter",
      from: { by: "product_id", productId: 5 } as const,
      sourceProductId: 5,
      productId: 6,
      provenance: by,
    },
  ];
  test("made once", () => {
    const desired = wish({ by: "product_id", productId: 5 });
    expect(lines(desired, recordedWith())).toEqual(["duplicate not_recorded duplicates/winter [product]"]);
    expect(lines(desired, recordedWith({ duplicates: made }))).toEqual([]);
  });
  test("of another product than the one it was made from: a warning, no second copy", () => {
    const plan = planOf(wish({ by: "product_id", productId: 8 }), recordedWith({ duplicates: made }));
    expect(plan.changes).toEqual([]);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["duplicate-of-another-product"]);
  });
  test("taken away: forgotten, never deleted", () => {
    expect(lines(desiredWith(), recordedWith({ duplicates: made }))).toEqual([
      "forget not_in_manifest duplicates/winter",
    ]);
  });
  test("of a draft that is published in the same plan", () => {
    const desired = { ...wish({ by: "draft", draftId: 1 }), drafts: [draftWith(1, { publish })] };
    const plan = planOf(desired, recordedWith());
    expect(plan.changes.find(({ action }) => action === "duplicate")?.after).toEqual({ draft_id: 1 });
  });
  test("of a draft that is never published: an error", () => {
    const plan = planOf(wish({ by: "draft", draftId: 1 }), recordedWith());
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["duplicate-of-unpublished-draft"]);
  });
});

describe("targets", () => {
  const desired = desiredWith({
    drafts: [
      draftWith(1, { attachments: [wantedFile(1, 10), wantedFile(1, 11)], publish }),
      draftWith(11, { attachments: [wantedFile(11, 10)] }),
    ],
  });
  test("a draft takes everything below it, and nothing whose id only begins alike", () => {
    expect(planOf(desired, recordedWith(), { targets: ["drafts/1"] }).summary).toEqual({
      create: 2,
      publish: 1,
    });
  });
  test("a publication without the rest of its draft is an error", () => {
    const plan = planOf(desired, recordedWith(), { targets: ["drafts/1/product"] });
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["target-splits-draft"]);
  });
  test("a copy of a product that would not be published is an error", () => {
    const duplicates = [
      { name: "copy", product: { by: "draft", draftId: 1 } as const, file: "a.yaml", position: 1 },
    ];
    const plan = planOf({ ...desired, duplicates }, recordedWith(), { targets: ["duplicates/copy"] });
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["target-splits-draft"]);
  });
  test("a slash at the end is no matter", () => {
    expect(planOf(desired, recordedWith(), { targets: ["drafts/11/"] }).summary).toEqual({ create: 1 });
  });
  test("an address that nothing is at is an error", () => {
    const plan = planOf(desired, recordedWith(), { targets: ["drafts/2"] });
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["target-unknown"]);
  });
});
