import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LedgerError } from "../../../src/ledger/ledger-error.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

describe("ledger that fails to record an outcome", () => {
  test("ends the run for all drafts when the ledger fails to record one outcome", async () => {
    const drafts = [1, 2, 3, 4, 5, 6, 7, 8];
    await world.write(
      drafts.map((id) => `draft: ${id}\nproduct_files: [{ file_id: ${id}0 }]\n`).join("---\n"),
    );
    vi.spyOn(world.ledger, "finish").mockRejectedValueOnce(new LedgerError("ledger-disk-full", "No room."));
    await expect(world.apply()).rejects.toMatchObject({
      code: "outcome-not-recorded",
      cause: { code: "ledger-disk-full" },
    });
    // Four drafts run at a time; the other four would start after the failure.
    expect(world.requests().sort()).toEqual([1, 2, 3, 4].map((id) => `POST /api/drafts/${id}/product_files`));
    expect(await world.ledger.operations()).toHaveLength(4);
  });

  test("says what was done when the end of the run cannot be recorded", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    const failure = new LedgerError("ledger-unreachable", "No server.");
    vi.spyOn(world.ledger, "finishRun").mockRejectedValueOnce(failure);
    await expect(world.apply()).rejects.toBe(failure);
    expect(world.events.at(-1)).toMatchObject({ type: "run_finished", totals: { done: 1 } });
  });

  test("gives the stop as the reason when a failing ledger prevents a change", async () => {
    const files = Array.from({ length: 30 }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
    await world.write(`draft: 1\nproduct_files: [${files}]\npublish: true\n`);
    vi.spyOn(world.ledger, "finish").mockRejectedValueOnce(new LedgerError("ledger-disk-full", "No room."));
    await expect(world.apply()).rejects.toMatchObject({ code: "outcome-not-recorded" });
    const held = world.events.flatMap((event) =>
      event.type === "change_finished" && event.outcome !== "done" ? [event] : [],
    );
    expect(held.length).toBeGreaterThan(0);
    expect(new Set(held.map(({ outcome, because }) => `${outcome} ${because}`))).toEqual(
      new Set(["skipped stopped"]),
    );
  });
});
