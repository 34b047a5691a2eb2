import { describe, expect, test } from "vitest";
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

const publish = { revision: 1, position: 1 };
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
            intent: { fileId: 10, attributes: { renderer: "x" } },
          }),
        ],
      }),
      changes: ["update attributes_differ drafts/1/product_files/10 [renderer]"],
    },
    {
      name: "an update in doubt of an attribute that is not managed any more is settled",
      desired: wantedFile(1, 10),
      recorded: recordedWith({
        attachments: [recordedFile(1, 10)],
        inDoubt: [
          doubt({
            kind: "update",
            address: "drafts/1/product_files/10",
            intent: { fileId: 10, attributes: { renderer: "x" } },
          }),
        ],
      }),
      changes: ["in_doubt outcome_unknown drafts/1/product_files/10"],
    },
    {
      name: "a detach in doubt of a file that is declared again is settled",
      desired: wantedFile(1, 10, { file_format: "fbx" }),
      recorded: recordedWith({
        attachments: [recordedFile(1, 10, { attributes: { file_format: "fbx" } })],
        inDoubt: [doubt({ kind: "detach", address: "drafts/1/product_files/10", intent: { fileId: 10 } })],
      }),
      changes: ["in_doubt outcome_unknown drafts/1/product_files/10"],
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
      expect(planned("newer")).toEqual([settling]);
      expect(planned("new", wantedFile(1, 10))).not.toContain(
        "delete content_changed drafts/1/product_files/10",
      );
    });
  });

  describe("two entries that turn out to be the same file", () => {
    const named = wanted(1, "product_files", { by: "upload_key", uploadKey: "in/a" });
    const upload = { uploadId: "u1", uploadKey: "in/a", status: "success", fileId: 10, at: 0 } as const;
    const histories = {
      "neither is recorded": recordedWith({ uploads: [upload] }),
      "the one by its id is recorded": recordedWith({
        uploads: [upload],
        attachments: [recordedFile(1, 10, { attributes: { renderer: "vray" } })],
      }),
      "the other is recorded": recordedWith({
        uploads: [upload],
        attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/upload_key:in/a" })],
      }),
    };

    test.each(Object.entries(histories))(
      "%s: the one by its id holds it, with a warning",
      (_name, recorded) => {
        const attachments = [named, wantedFile(1, 10, { renderer: "vray" })];
        const plan = planOf(desiredWith({ drafts: [draftWith(1, { attachments })] }), recorded);
        expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice", severity: "warning" }]);
        expect(plan.diagnostics[0]?.message).toContain("upload_key:in/a is file 10");
        expect(plan.changes.map(({ address }) => address)).toEqual(
          recorded === histories["the one by its id is recorded"] ? [] : ["drafts/1/product_files/10"],
        );
      },
    );

    test("one of them a source that was renamed: it holds the file, and nothing is written twice", () => {
      const attachments = [
        wantedSource(1, "c.glb", "old", { renderer: "p" }),
        wanted(1, "product_files", { by: "upload_key", uploadKey: "in/a" }, { renderer: "q" }),
      ];
      const recorded = recordedWith({
        uploads: [upload],
        attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "old" })],
      });
      const plan = planOf(desiredWith({ drafts: [draftWith(1, { attachments })] }), recorded);
      expect(plan.changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
        "update drafts/1/product_files/source:c.glb",
      ]);
      expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice" }]);
    });

    test("the file that the other entry named before is detached", () => {
      const attachments = [wantedSource(1, "a.glb", "new"), wantedFile(1, 10)];
      const recorded = recordedWith({
        uploads: [
          {
            uploadId: "u2",
            uploadKey: "in/b",
            source: "a.glb",
            sha256: "new",
            size: 10,
            status: "success",
            fileId: 10,
            at: 0,
          },
        ],
        attachments: [
          recordedFile(1, 10),
          recordedFile(1, 9, { address: "drafts/1/product_files/source:a.glb", sha256: "old" }),
        ],
      });
      const desired = desiredWith({ drafts: [draftWith(1, { attachments })] });
      expect(lines(desired, recorded)).toEqual([
        expect.stringContaining("delete content_changed drafts/1/product_files/source:a.glb"),
      ]);
    });

    test("the former content of a source may be kept by its id", () => {
      const attachments = [wantedSource(1, "a.glb", "new"), wantedFile(1, 10)];
      const recorded = recordedWith({
        attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "old" })],
      });
      const desired = desiredWith({ drafts: [draftWith(1, { attachments })] });
      expect(planOf(desired, recorded).diagnostics).toEqual([]);
      expect(lines(desired, recorded)).toEqual([
        "adopt renamed drafts/1/product_files/10",
        "create not_recorded drafts/1/product_files/source:a.glb",
      ]);
    });
  });

  describe("an attribute that is not managed any more", () => {
    const source = "drafts/1/product_files/source:a.glb";
    const old = recordedFile(1, 10, {
      address: source,
      sha256: "old",
      attributes: { file_format: "fbx", renderer: "vray", is_native: true },
    });
    const desired = (content: string) =>
      desiredWith({
        drafts: [draftWith(1, { attachments: [wantedSource(1, "a.glb", content, { file_format: "glb" })] })],
      });

    test("keeps its recorded value when the content is replaced", () => {
      const [change] = planOf(desired("new"), recordedWith({ attachments: [old] })).changes;
      expect(change).toMatchObject({
        action: "replace",
        attributes: ["file_format"],
        after: { file_format: "glb", renderer: "vray", is_native: true },
      });
    });

    test("keeps it when a file that is attached takes the place of the recorded one", () => {
      const former = recordedFile(1, 9, { sha256: "new", attributes: { file_format: "glb" } });
      const plan = planOf(desired("new"), recordedWith({ attachments: [former, old] }));
      expect(plan.changes.find(({ address }) => address === source)).toMatchObject({
        action: "update",
        attributes: ["renderer", "is_native"],
        after: { file_id: 9, renderer: "vray", is_native: true },
      });
    });

    test("keeps the value that an attachment in doubt was sent with", () => {
      const attach = doubt({
        address: source,
        kind: "attach",
        intent: { fileId: 11, sha256: "new", attributes: { file_format: "glb", renderer: "vray" } },
      });
      const plan = planOf(desired("new"), recordedWith({ attachments: [old], inDoubt: [attach] }));
      expect(plan.changes.find(({ address }) => address === source)?.after).toMatchObject({
        renderer: "vray",
      });
    });

    test("is not carried when an unsettled update may have changed it", () => {
      const update = doubt({
        address: source,
        kind: "update",
        intent: { fileId: old.fileId, attributes: { renderer: "x" } },
      });
      const [change] = planOf(
        desired("new"),
        recordedWith({ attachments: [old], inDoubt: [update] }),
      ).changes;
      expect(change?.after).toEqual(expect.not.objectContaining({ renderer: expect.anything() }));
    });
  });
});

function byAddress(a: string, b: string): number {
  const address = (line: string) => line.split(" ")[2] ?? "";
  return address(a) < address(b) ? -1 : 1;
}
