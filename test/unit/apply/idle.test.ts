import { describe, expect, onTestFinished, test } from "vitest";
import { startWorld } from "../../support/world.ts";

describe("order of drafts", () => {
  test("starts a draft with calls in doubt after the others", async () => {
    const world = await startWorld();
    onTestFinished(() => world.close());
    const draft = (id: number, renderer: string) =>
      `draft: ${id}\nproduct_files: [{ file_id: 7, renderer: ${renderer} }]\n`;
    const all = (renderer: string) => [1, 2, 3].map((id) => draft(id, renderer)).join("---\n");
    await world.write(all("arnold"));
    await world.apply();
    await world.write(all("vray"));
    world.proxy.choose = ({ path }) =>
      path.includes("/drafts/1/") ? { type: "answer", status: 503 } : undefined;
    expect((await world.apply()).totals).toMatchObject({ done: 2, in_doubt: 1 });
    await world.write(all("karma"));
    world.requests();
    await world.apply();
    expect(world.requests().slice(0, 2).sort()).toEqual([
      "PATCH /api/drafts/2/product_files/7",
      "PATCH /api/drafts/3/product_files/7",
    ]);
  });

  test("runs another draft while one waits to settle a call", async () => {
    const world = await startWorld({ profile: { settle_delay: "3s" } });
    onTestFinished(() => world.close());
    const drafts = Array.from(
      { length: 9 },
      (_none, at) => `draft: ${at + 1}\nproduct_files: [{ file_id: 7 }]\n`,
    );
    await world.write(drafts.join("---\n"));
    const lost = new Set<string>();
    world.proxy.choose = ({ method, path }) => {
      if (method !== "POST" || lost.has(path)) return undefined;
      lost.add(path);
      return { type: "lost" };
    };
    expect((await world.apply()).totals).toMatchObject({ done: 9, in_doubt: 0 });
    const methods = world.requests().map((request) => request.split(" ")[0]);
    // With only four places, each group of four would wait for the previous one.
    expect(methods.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => "POST"));
  });
});
