import { expect, test } from "vitest";
import { adoptionEffects } from "../../../src/refresh/adopt.ts";
import { detectDrift } from "../../../src/refresh/detect-drift.ts";
import { desiredWith, draftWith, recordedFile, recordedWith, wantedFile } from "../../support/planning.ts";
import { doubtOf } from "./support.ts";

const attributes = { renderer: "vray", file_format: "fbx" };
const target = { draftId: 1, kind: "product_files", fileId: 7 } as const;
const address = "drafts/1/product_files/7";
const attach = doubtOf("attach", [1, 7], {
  intent: { draftId: 1, fileKind: "product_files", fileId: 7, attributes },
});
const desired = desiredWith({
  drafts: [draftWith(1, { attachments: [wantedFile(1, 7, { renderer: "vray" })] })],
});
const silent = { type: "attachment", address, target, at: 5, read: { type: "present", value: {} } } as const;

const update = doubtOf("update", [1, 7], {
  intent: { ...attach.intent, attributes: { renderer: "arnold" } },
});

test.each([
  ["a lost attachment has sent", [attach], attributes, "operator"],
  ["a lost update has changed since", [attach, update], { ...attributes, renderer: "" }, "operator"],
  ["was sent with an attachment that was refused", [{ ...attach, status: 409 }], {}, "import"],
])("of a silent answer, what %s is not confirmed", (_name, inDoubt, values, by) => {
  const recorded = recordedWith({ inDoubt });
  const effects = adoptionEffects({ observations: [silent], desired, recorded, fileIdOf: () => undefined });
  expect(effects[0]).toMatchObject({ type: "attached", attachment: { provenance: { by } } });
  expect(effects[0]).toHaveProperty("attachment.attributes", values);
});

test("what a person said of a file stays so after a silent answer", () => {
  const stated = recordedFile(1, 7, { attributes, provenance: { by: "operator", at: 0 } });
  const recorded = recordedWith({ attachments: [stated] });
  const effects = adoptionEffects({ observations: [silent], desired, recorded, fileIdOf: () => undefined });
  expect(effects[0]).toMatchObject({ attachment: { attributes, provenance: { by: "operator" } } });
});

test("a file that has what an update in doubt sent is of that entry, and nothing is kept for it any more", () => {
  const [taker, former] = [
    "drafts/1/product_files/source:b.glb",
    "drafts/1/product_files/source:a.glb",
  ] as const;
  const intent = {
    draftId: 1,
    fileKind: "product_files",
    fileId: 7,
    attributes,
    formerAddress: former,
  } as const;
  const update = doubtOf("update", [1, 7], { address: taker, intent });
  const recorded = recordedWith({
    attachments: [recordedFile(1, 7, { address: former })],
    inDoubt: [update],
  });
  const adopt = (value: object) =>
    adoptionEffects({
      observations: [{ ...silent, address: taker, read: { type: "present", value } }],
      desired: desiredWith({ drafts: [] }),
      recorded,
      fileIdOf: () => undefined,
    });
  expect(adopt(attributes)).toMatchObject([
    { type: "attached", attachment: { address: taker, attributes } },
    { type: "values_forgotten", address: taker },
  ]);
  expect(adopt({ ...attributes, renderer: "x" })).toHaveLength(1);
});

test.each([
  [attributes, true],
  [{ ...attributes, renderer: "x" }, false],
])(
  "an attachment in doubt that is seen with %s releases what was kept for its entry: %s",
  (value, isReleased) => {
    const recorded = recordedWith({ inDoubt: [attach] });
    const seen = { ...silent, read: { type: "present", value } } as const;
    const input = { observations: [seen], desired, recorded };
    const adopted = adoptionEffects({ ...input, fileIdOf: () => undefined });
    expect(adopted.some(({ type }) => type === "values_forgotten")).toBe(isReleased);
    const { confirmations } = detectDrift({ ...input, settleDelayMs: 0 });
    expect(confirmations.some(({ type }) => type === "values_forgotten")).toBe(isReleased);
  },
);
