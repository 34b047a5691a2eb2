import { afterEach, beforeEach, expect, test } from "vitest";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;
const source = "draft: 1\nproduct_files: [{ source: ../a.glb }]\npublish: true\n";
const byId = (fileId: number) => `draft: 1\nproduct_files: [{ file_id: ${fileId} }]\npublish: true\n`;

beforeEach(async () => {
  world = await startWorld();
  await world.write(source, { "a.glb": "content" });
  await world.apply();
  world.requests();
});
afterEach(() => world.close());

function attachedFile(): number {
  return world.sandbox.state().attachments[0]?.fileId ?? 0;
}

test("a file that is named by its id instead of its source, and back again, stays attached without a call", async () => {
  const fileId = attachedFile();
  await world.write(byId(fileId));
  expect((await world.plan()).changes.map(({ action }) => action)).toEqual(["adopt"]);
  await world.apply();
  await world.write(source);
  expect((await world.plan()).changes.map(({ action }) => action)).toEqual(["adopt"]);
  await world.apply();
  expect((await world.plan()).changes).toEqual([]);
  expect(world.requests()).toEqual([]);
  expect(world.sandbox.state().attachments).toHaveLength(1);
});

test("a file whose upload turns out to be the one that is attached is never detached", async () => {
  const fileId = attachedFile();
  const [upload] = (await world.ledger.load()).uploads;
  // The ledger knows the file by its id alone, and the upload only as registered.
  await world.ledger.record([
    {
      type: "attached",
      attachment: {
        draftId: 1,
        kind: "product_files",
        fileId,
        address: `drafts/1/product_files/${fileId}`,
        attributes: {},
        provenance: { by: "post", at: 0 },
      },
    },
    {
      type: "upload_registered",
      uploadId: upload?.uploadId ?? "",
      uploadKey: upload?.uploadKey ?? "",
      source: "a.glb",
      sha256: upload?.sha256 ?? "",
      size: 7,
      at: 0,
    },
  ]);
  expect((await world.plan()).summary).toMatchObject({ create: 1, delete: 1 });
  expect((await world.apply()).totals).toMatchObject({ done: 2, failed: 0 });
  expect(world.requests().filter((request) => request.startsWith("DELETE"))).toEqual([]);
  expect(world.sandbox.state().attachments).toMatchObject([{ fileId }]);
  expect((await world.plan()).changes).toEqual([]);
});
