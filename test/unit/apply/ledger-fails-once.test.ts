import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LedgerError } from "../../../src/state/ledger-error.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

test("a ledger that fails to record one outcome ends the run, also for drafts whose turn comes later and when it works again", async () => {
  const drafts = [1, 2, 3, 4, 5, 6, 7, 8];
  await world.write(drafts.map((id) => `draft: ${id}\nproduct_files: [{ file_id: ${id}0 }]\n`).join("---\n"));
  vi.spyOn(world.ledger, "finish").mockRejectedValueOnce(new LedgerError("ledger-disk-full", "No room."));
  await expect(world.apply()).rejects.toMatchObject({
    code: "outcome-not-recorded",
    cause: { code: "ledger-disk-full" },
  });
  // Four drafts at a time: the others began after the failure.
  expect(world.requests().sort()).toEqual([1, 2, 3, 4].map((id) => `POST /api/drafts/${id}/product_files`));
  expect(await world.ledger.operations()).toHaveLength(4);
});
