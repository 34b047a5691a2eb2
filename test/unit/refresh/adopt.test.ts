import { expect, test } from "vitest";
import { adoptionEffects } from "../../../src/refresh/adopt.ts";
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

test.each([
  ["went with a lost attachment", attach, { file_format: "fbx" }],
  ["was sent with one that was refused", { ...attach, status: 409 }, {}],
])("of a silent answer, a value in no manifest that %s is recorded accordingly", (_name, doubt, known) => {
  const recorded = recordedWith({ inDoubt: [doubt] });
  const effects = adoptionEffects({ observations: [silent], desired, recorded, fileIdOf: () => undefined });
  expect(effects[0]).toMatchObject({ type: "attached" });
  expect(effects[0]).toHaveProperty("attachment.attributes", known);
});

test("of a silent answer, what a person said is recorded only where no manifest has it", () => {
  const stated = recordedFile(1, 7, { attributes, provenance: { by: "operator", at: 0 } });
  const recorded = recordedWith({ attachments: [stated] });
  const effects = adoptionEffects({ observations: [silent], desired, recorded, fileIdOf: () => undefined });
  expect(effects[0]).toHaveProperty("attachment.attributes", { file_format: "fbx" });
});
