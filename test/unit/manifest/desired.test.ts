import { expect, test } from "vitest";
import { formatAddress } from "../../../src/model/address.ts";
import { formatLocation, locationAt, positionAt } from "../../../src/model/source-location.ts";
import { complete } from "../../support/complete.ts";
import { load } from "./support.ts";

const manifest = `# The dragon
draft: 48213
protect: true
product_files:
  - file_id: 9900011
    file_format: fbx
    format_version: "2020"
    renderer: &renderer arnold
    renderer_version: "7.2"
    is_native: false
  - source: ../files/dragon.blend
    renderer: *renderer
    is_native: true
promotional_files:
  - { upload_key: in/turntable.mp4, description: "" }
  - upload_id: u-1
    description: |
      Three-quarter hero render.
publish: { revision: 2 }
---
draft: 48214
publish: true
---
draft: 48215
publish: false
---
duplicates:
  - name: dragon-winter
    product: 771200
  - { name: dragon summer, product: { draft: 48213 } }
`;

test("reads a manifest into drafts and duplicates with the position of every value", async () => {
  const loaded = await load({ "m/a.yaml": manifest, "files/dragon.blend": "mesh" }, "hash");
  const { desired, diagnostics, files } = complete(loaded);
  expect(diagnostics).toEqual([]);
  expect(files).toEqual(["m/a.yaml"]);
  const [dragon, second, third] = desired.drafts;
  const at = (position = 0) => formatLocation(locationAt("m/a.yaml", position)).slice("m/a.yaml:".length);

  expect(dragon).toMatchObject({ draftId: 48213, protect: true, file: "m/a.yaml", publish: { revision: 2 } });
  expect(at(dragon?.position)).toBe("2:8");
  expect(at(dragon?.publish?.position)).toBe("19:10");
  expect(dragon?.attachments.map(({ address }) => formatAddress(address))).toEqual([
    "drafts/48213/product_files/9900011",
    "drafts/48213/product_files/source:files/dragon.blend",
    "drafts/48213/promotional_files/upload_key:in/turntable.mp4",
    "drafts/48213/promotional_files/upload_id:u-1",
  ]);
  expect(dragon?.attachments.map(({ attributes }) => attributes)).toEqual([
    {
      file_format: "fbx",
      format_version: "2020",
      renderer: "arnold",
      renderer_version: "7.2",
      is_native: false,
    },
    { renderer: "arnold", is_native: true },
    { description: "" },
    { description: "Three-quarter hero render.\n" },
  ]);
  expect(dragon?.attachments.map(({ position }) => at(position))).toEqual(["5:5", "11:5", "15:5", "16:5"]);
  const [first, source] = dragon?.attachments ?? [];
  const positions = Object.entries(first?.layout ?? {}).map(
    ([name, offset]) => `${name} ${at(positionAt(first?.position ?? 0, offset))}`,
  );
  expect(positions).toEqual([
    "ref 5:14",
    "file_format 6:18",
    "format_version 7:21",
    "renderer 8:25",
    "renderer_version 9:23",
    "is_native 10:16",
  ]);
  expect(at(positionAt(source?.position ?? 0, source?.layout.renderer ?? 0))).toBe("12:15");
  expect(source?.content).toEqual({
    sha256: "d30ca7a7a32bf5772dc5eb2a2e7bd35737eff795ad74f2479b359716b59abdfa",
    size: 4,
  });

  expect(second).toMatchObject({ draftId: 48214, protect: false, attachments: [], publish: { revision: 1 } });
  expect(third).not.toHaveProperty("publish");
  expect(desired.duplicates.map(({ name, product }) => ({ name, product }))).toEqual([
    { name: "dragon-winter", product: { by: "product_id", productId: 771200 } },
    { name: "dragon summer", product: { by: "draft", draftId: 48213 } },
  ]);
  expect(desired.duplicates.map(({ position }) => at(position))).toEqual(["28:5", "30:5"]);
});

test("skips documents without content", async () => {
  const loaded = await load({ "a.yaml": "---\n# nothing\n---\ndraft: 1\n---\n---\ndraft: 2\n...\n" });
  const { desired, diagnostics } = complete(loaded);
  expect(diagnostics).toEqual([]);
  expect(desired.drafts.map(({ draftId }) => draftId)).toEqual([1, 2]);
});

test("returns no desired state when one document has a mistake", async () => {
  const loaded = await load({ "a.yaml": "draft: 1\n---\ndraft: x\n---\ndraft: 3\n" });
  expect(loaded).toMatchObject({ ok: false, diagnostics: [{ code: "wrong-type", place: { line: 3 } }] });
  expect(loaded).not.toHaveProperty("desired");
});
