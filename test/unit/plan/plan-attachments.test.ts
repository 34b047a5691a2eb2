import { describe, expect, test } from "vitest";
import type { DesiredAttachment } from "../../../src/model/desired.ts";
import type { Recorded, RecordedOperation } from "../../../src/model/recorded.ts";
import { type Attributes, fileResource } from "../../../src/model/resource.ts";
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

const byId = "drafts/1/product_files/10";
const source = "drafts/1/product_files/source:a.glb";
/** File 10 of draft 1 is recorded with these attributes, and these operations are in doubt. */
const holding = (attributes: Attributes = {}, ...inDoubt: RecordedOperation[]) =>
  recordedWith({ attachments: [recordedFile(1, 10, { attributes })], inDoubt });
/** File 10 of draft 1 is recorded as a.glb with this content. */
const holdingSource = (sha256: string) =>
  recordedWith({ attachments: [recordedFile(1, 10, { address: source, sha256 })] });
const updateInDoubt = doubt({
  kind: "update",
  address: byId,
  intent: { fileId: 10, attributes: { renderer: "x" } },
});

test.each([
  ["are sent again where the manifest has them", "update", "same", { renderer: "x" }],
  ["are sent again where it has none", "update", "same", {}],
  ["go with a new content", "replace", "new", {}],
] as const)("values that a person has given %s", (_how, action, content, managed) => {
  const attributes = { renderer: "x", file_format: "fbx" };
  const provenance = { by: "operator", at: 0 } as const;
  const record = recordedFile(1, 10, { address: source, sha256: "same", attributes, provenance });
  const entry = wantedSource(1, "a.glb", content, managed);
  const desired = desiredWith({ drafts: [draftWith(1, { attachments: [entry] })] });
  const { changes } = planOf(desired, recordedWith({ attachments: [record] }));
  expect(changes).toMatchObject([{ action, after: attributes, attributes: ["file_format", "renderer"] }]);
  expect(changes).toHaveLength(1);
});

describe("attachments", () => {
  const cases: [name: string, desired: DesiredAttachment[], recorded: Recorded, changes: string[]][] = [
    [
      "compares an empty text as a value",
      [wantedFile(1, 10, { renderer: "" })],
      holding({ renderer: "vray" }),
      [`update attributes_differ ${byId} [renderer]`],
    ],
    [
      "names only the attributes that differ",
      [wantedFile(1, 10, { file_format: "fbx", format_version: "2020", is_native: true })],
      holding({ file_format: "fbx", format_version: "2019" }),
      [`update attributes_differ ${byId} [format_version,is_native]`],
    ],
    [
      "adopts an earlier content that is still attached, and detaches the newer one",
      [wantedSource(1, "a.glb", "former")],
      recordedWith({
        attachments: [
          recordedFile(1, 10, { sha256: "former", replacedBy: 11 }),
          recordedFile(1, 11, { address: source, sha256: "newer" }),
        ],
      }),
      ["delete content_changed drafts/1/product_files/11", `adopt renamed ${source}`],
    ],
    [
      "adopts a file that is now declared by the source it was uploaded from",
      [wantedSource(1, "a.glb", "same")],
      recordedWith({ uploads: [endedUpload], attachments: [recordedFile(1, 77)] }),
      [`adopt renamed ${source}`],
    ],
    [
      "updates the file of a renamed source with new attributes at its new address",
      [wantedSource(1, "b.glb", "same", { file_format: "gltf" })],
      holdingSource("same"),
      ["update attributes_differ drafts/1/product_files/source:b.glb [file_format]"],
    ],
    [
      "treats the same file id in the other list as a different file",
      [wanted(1, "promotional_files", { by: "file_id", fileId: 10 })],
      holding(),
      [`delete not_in_manifest ${byId}`, "create not_recorded drafts/1/promotional_files/10"],
    ],
    [
      "sends the attributes of an update in doubt again",
      [wantedFile(1, 10, { file_format: "fbx", renderer: "vray" })],
      holding({ file_format: "fbx", renderer: "vray" }, updateInDoubt),
      [`update attributes_differ ${byId} [renderer]`],
    ],
    [
      "settles an update in doubt of an attribute that is no longer managed",
      [wantedFile(1, 10)],
      holding({}, updateInDoubt),
      [`in_doubt outcome_unknown ${byId} [renderer]`],
    ],
    [
      "settles a detach in doubt of a file that is declared again",
      [wantedFile(1, 10, { file_format: "fbx" })],
      holding({ file_format: "fbx" }, doubt({ kind: "detach", address: byId, intent: { fileId: 10 } })),
      [`in_doubt outcome_unknown ${byId} [file_format]`],
    ],
  ];
  test.each(cases)("%s", (_name, attachments, recorded, changes) => {
    const drafts = [draftWith(1, { attachments })];
    expect(lines(desiredWith({ drafts }), recorded)).toEqual(changes.toSorted(byAddress));
  });

  test("does not upload a source again whose upload has ended", () => {
    const drafts = [draftWith(1, { attachments: [wantedSource(1, "a.glb", "same")] })];
    const plan = planOf(desiredWith({ drafts }), recordedWith({ uploads: [endedUpload] }));
    expect(plan.changes[0]?.after).toMatchObject({ file_id: 77 });
    expect(plan.estimate.calls.min).toBe(1);
  });

  test("waits for an upload in progress and does not register it again", () => {
    const uploads = [{ uploadId: "u1", uploadKey: "in/a.mp4", status: "pending", at: 0 } as const];
    const attachment = wanted(1, "promotional_files", { by: "upload_key", uploadKey: "in/a.mp4" });
    const plan = planOf(
      desiredWith({ drafts: [draftWith(1, { attachments: [attachment] })] }),
      recordedWith({ uploads }),
    );
    expect(plan.changes[0]?.after).toEqual({ upload_key: "in/a.mp4", upload_id: "u1" });
    expect(plan.estimate.calls.min).toBe(2);
  });

  describe("a new content whose attach is in doubt", () => {
    const old = recordedFile(1, 10, { address: source, sha256: "old" });
    const intent = { draftId: 1, fileKind: "product_files", fileId: 11, sha256: "new" } as const;
    const attach = doubt({ address: source, kind: "attach", intent });
    const recorded = recordedWith({ attachments: [old], inDoubt: [attach] });
    const settling = `in_doubt outcome_unknown ${source}`;
    const planned = (content: string) =>
      lines(
        desiredWith({
          drafts: [draftWith(1, { attachments: [wantedSource(1, "a.glb", content)], publish })],
        }),
        recorded,
      );

    test.each([
      ["is declared", planned("new")],
      ["has changed again", planned("newer")],
    ])("is only settled when it %s", (_name, changes) => {
      expect(changes).toEqual([settling]);
    });
  });

  describe("two entries for the same file", () => {
    const byKey = wanted(1, "product_files", { by: "upload_key", uploadKey: "in/a" });
    const upload = { uploadId: "u1", uploadKey: "in/a", status: "success", fileId: 10, at: 0 } as const;
    const histories = {
      "neither is recorded": recordedWith({ uploads: [upload] }),
      "its entry is recorded": recordedWith({
        uploads: [upload],
        attachments: [recordedFile(1, 10, { attributes: { renderer: "vray" } })],
      }),
      "the other entry is recorded": recordedWith({
        uploads: [upload],
        attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/upload_key:in/a" })],
      }),
    };

    test.each(Object.entries(histories))(
      "are one file, at the entry with its id, with a warning: %s",
      (_name, recorded) => {
        const attachments = [byKey, wantedFile(1, 10, { renderer: "vray" })];
        const plan = planOf(desiredWith({ drafts: [draftWith(1, { attachments })] }), recorded);
        expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice", severity: "warning" }]);
        expect(plan.diagnostics[0]?.message).toContain("upload_key:in/a is file 10");
        expect(plan.changes.map(({ address }) => address)).toEqual(
          recorded === histories["its entry is recorded"] ? [] : ["drafts/1/product_files/10"],
        );
      },
    );

    test("are two files when one of them only has the content of the other's upload", () => {
      const attachments = [
        wantedSource(1, "c.glb", "old", { renderer: "p" }),
        { ...byKey, attributes: { renderer: "q" } },
      ];
      const recorded = recordedWith({
        uploads: [upload],
        attachments: [recordedFile(1, 10, { address: "drafts/1/product_files/source:a.glb", sha256: "old" })],
      });
      expect(lines(desiredWith({ drafts: [draftWith(1, { attachments })] }), recorded)).toEqual([
        "create not_recorded drafts/1/product_files/source:c.glb [renderer]",
        "update attributes_differ drafts/1/product_files/upload_key:in/a [renderer]",
      ]);
    });

    test("detach the file that the other entry had before", () => {
      const attachments = [wantedSource(1, "a.glb", "new"), wantedFile(1, 10)];
      const recorded = recordedWith({
        uploads: [{ ...endedUpload, sha256: "new", fileId: 10 }],
        attachments: [recordedFile(1, 10), recordedFile(1, 9, { address: source, sha256: "old" })],
      });
      const desired = desiredWith({ drafts: [draftWith(1, { attachments })] });
      expect(lines(desired, recorded)).toEqual([`delete content_changed ${source}`]);
    });

    test("keep the previous content of a source that is declared by its id", () => {
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

  describe("an attribute that is no longer managed", () => {
    const old = recordedFile(1, 10, {
      address: source,
      sha256: "old",
      attributes: { file_format: "fbx", renderer: "vray", is_native: true },
    });
    const desired = (content: string) =>
      desiredWith({
        drafts: [draftWith(1, { attachments: [wantedSource(1, "a.glb", content, { file_format: "glb" })] })],
      });

    const replacing = (attributes: Attributes) =>
      doubt({
        address: source,
        kind: "attach",
        intent: {
          draftId: 1,
          fileKind: "product_files",
          fileId: 11,
          sha256: "new",
          attributes,
          replaces: old.fileId,
        },
      });

    test("keeps its recorded value when the content is replaced", () => {
      const [change] = planOf(desired("new"), recordedWith({ attachments: [old] })).changes;
      expect(change).toMatchObject({
        action: "replace",
        attributes: ["file_format"],
        after: { file_format: "glb", renderer: "vray", is_native: true },
      });
    });

    test("keeps its recorded value when a file that another entry named takes the place of the recorded one", () => {
      const other = recordedFile(1, 77, { attributes: { file_format: "glb", renderer: "arnold" } });
      const recorded = recordedWith({ uploads: [endedUpload], attachments: [other, old] });
      expect(planOf(desired("same"), recorded).changes).toMatchObject([
        { action: "delete" },
        { action: "update", after: { file_id: 77, file_format: "glb", renderer: "vray", is_native: true } },
      ]);
    });

    test("keeps its recorded value when the content becomes that of a removed entry", () => {
      const other = recordedFile(1, 9, {
        address: "drafts/1/product_files/source:b.glb",
        sha256: "new",
        attributes: { renderer_version: "7" },
      });
      const plan = planOf(desired("new"), recordedWith({ attachments: [other, old] }));
      expect(plan.changes.find(({ address }) => address === source)).toMatchObject({
        action: "replace",
        after: { file_format: "glb", renderer: "vray", is_native: true },
      });
    });

    test("is not that of a new entry with the content of a file that was replaced and is still attached", () => {
      const replaced = { ...old, address: fileResource(old), replacedBy: 11 };
      const current = recordedFile(1, 11, {
        address: source,
        sha256: "new",
        attributes: { file_format: "glb" },
      });
      const attachments = [
        wantedSource(1, "a.glb", "new", { file_format: "glb" }),
        wantedSource(1, "old.glb", "old", { file_format: "max" }),
      ];
      const wish = desiredWith({ drafts: [draftWith(1, { attachments })] });
      expect(lines(wish, recordedWith({ attachments: [replaced, current] }))).toEqual([
        `delete content_changed ${fileResource(old)} [file_format,renderer,is_native]`,
        "create not_recorded drafts/1/product_files/source:old.glb [file_format]",
      ]);
    });

    test("is not kept when the service returned an empty text", () => {
      const empty = { ...old, attributes: { ...old.attributes, format_version: "" } };
      const [change] = planOf(desired("new"), recordedWith({ attachments: [empty] })).changes;
      expect(change).toMatchObject({ action: "replace", after: { renderer: "vray" } });
      expect(change?.after).not.toHaveProperty("format_version");
    });

    test("keeps the value that an attach in doubt kept", () => {
      const attach = replacing({ file_format: "glb", renderer: "vray" });
      const plan = planOf(desired("new"), recordedWith({ attachments: [old], inDoubt: [attach] }));
      expect(plan.changes.find(({ address }) => address === source)?.after).toMatchObject({
        renderer: "vray",
      });
    });

    test("keeps the confirmed value, not one that an update in doubt was to set: it was withdrawn", () => {
      const update = doubt({
        address: source,
        kind: "update",
        intent: { fileId: old.fileId, attributes: { renderer: "x" } },
      });
      const [change] = planOf(
        desired("new"),
        recordedWith({ attachments: [old], inDoubt: [update] }),
      ).changes;
      expect(change?.after).toMatchObject({ file_format: "glb", renderer: "vray", is_native: true });
    });

    test("is sent with a file that is put back while its detach is in doubt", () => {
      const path = fileResource(old);
      const replaced = { ...old, address: path, sha256: "new", replacedBy: 11 };
      const current = recordedFile(1, 11, { address: source, sha256: "old", attributes: old.attributes });
      const detach = doubt({
        address: path,
        kind: "detach",
        intent: { draftId: 1, fileKind: "product_files", fileId: old.fileId },
      });
      const recorded = recordedWith({ attachments: [replaced, current], inDoubt: [detach] });
      expect(planOf(desired("new"), recorded).changes).toMatchObject([
        {
          action: "in_doubt",
          attributes: ["file_format", "renderer", "is_native"],
          after: { file_id: old.fileId, file_format: "glb", renderer: "vray", is_native: true },
        },
      ]);
    });

    test("is the confirmed one, not one that was sent with an attach in doubt: it was withdrawn", () => {
      const attach = replacing({ file_format: "glb", renderer: "x" });
      const plan = planOf(desired("new"), recordedWith({ attachments: [old], inDoubt: [attach] }));
      const after = { file_format: "glb", renderer: "vray", is_native: true };
      expect(plan.changes.find(({ address }) => address === source)?.after).toMatchObject(after);
    });

    test("is that of the file in between when a replaced file is put back before its detach", () => {
      const replaced = { ...old, address: fileResource(old), sha256: "new", replacedBy: 11 };
      const attributes = { ...old.attributes, renderer: "x" };
      const current = recordedFile(1, 11, { address: source, sha256: "old", attributes });
      const plan = planOf(desired("new"), recordedWith({ attachments: [replaced, current] }));
      expect(plan.changes).toMatchObject([
        { action: "delete", before: { file_id: 11 } },
        { action: "update", attributes: ["file_format", "renderer"], after: { renderer: "x" } },
      ]);
    });

    test("is set by the check of a replacement in doubt whose content changed again", () => {
      const attach = replacing({ file_format: "glb", renderer: "vray" });
      const plan = planOf(desired("newest"), recordedWith({ attachments: [old], inDoubt: [attach] }));
      expect(plan.changes).toMatchObject([
        {
          check_only: true,
          attributes: ["file_format", "renderer", "is_native"],
          after: { file_id: 11, file_format: "glb", renderer: "vray", is_native: true },
        },
      ]);
    });
  });
});

function byAddress(a: string, b: string): number {
  const address = (line: string) => line.split(" ")[2] ?? "";
  return address(a) < address(b) ? -1 : 1;
}
