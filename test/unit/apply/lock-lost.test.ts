import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OutcomesNotRecordedError } from "../../../src/apply/operation.ts";
import { holdAnswers } from "../../support/faulty-proxy.ts";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

const holder = { user: "ann", host: "build-7", pid: 1, command: "apply" };

/** Acquires the lock, and releases it by force when `count` requests have arrived, before any response. */
async function loseLockAfter(count: number): Promise<void> {
  const { lock } = await world.ledger.acquireLock({ holder });
  const { held, answer } = holdAnswers();
  let arrived = 0;
  world.proxy.choose = ({ method }) => {
    // The read before a publish.
    if (method === "GET") return undefined;
    arrived += 1;
    if (arrived === count) void world.ledger.releaseLock(lock.id).then(answer);
    return held;
  };
}

const thrown = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("lock lost during an apply", () => {
  test("ends the run, sends nothing more, and returns every outcome that was not recorded", async () => {
    await world.write(`
draft: 1
product_files: [{ file_id: 10, renderer: arnold }, { file_id: 11 }]
publish: true
---
draft: 2
publish: true
---
draft: 3
product_files: [{ file_id: 30 }]
`);
    await loseLockAfter(4);
    const error = await thrown(world.apply());
    if (!(error instanceof OutcomesNotRecordedError)) throw error;
    expect(error).toMatchObject({ code: "outcome-not-recorded", cause: { code: "lock-lost" } });
    const lost = [...error.outcomes].sort((a, b) => (a.operation.address < b.operation.address ? -1 : 1));
    expect(lost).toMatchObject([
      {
        operation: { address: "drafts/1/product_files/10", kind: "attach" },
        result: { outcome: "done", status: 201 },
        effects: [{ type: "attached", attachment: { fileId: 10, attributes: { renderer: "arnold" } } }],
      },
      { operation: { address: "drafts/1/product_files/11" }, result: { outcome: "done" } },
      {
        operation: { address: "drafts/2/product", kind: "publish" },
        result: { outcome: "done" },
        effects: [{ type: "published", draftId: 2 }],
      },
      { operation: { address: "drafts/3/product_files/30" }, result: { outcome: "done" } },
    ]);
    const [product] = world.sandbox.state().products;
    expect(error.message).toMatch(/ 4 outcomes could not be recorded\.$/);
    // Irreversible calls come first.
    expect(error.details).toEqual([
      `POST /api/products for drafts/2/product: done, product ${product?.id}`,
      ...Array(3).fill(expect.stringMatching(/^POST \/api\/drafts\/\d\/product_files for .*: done$/)),
      "saved in recovery.ndjson",
    ]);
    expect(world.requests().filter((request) => !request.startsWith("GET"))).toHaveLength(4);
    // The intents are in the ledger, so the next run does not send these calls again.
    const { inDoubt, attachments } = await world.ledger.load();
    expect(attachments).toEqual([]);
    expect(inDoubt.map(({ id }) => id).sort()).toEqual(lost.map(({ operation }) => operation.id).sort());
  });

  test("is the ledger's own error before the first call", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    const { lock } = await world.ledger.acquireLock({ holder });
    await world.ledger.releaseLock(lock.id);
    await expect(world.apply()).rejects.toMatchObject({ name: "LedgerError", code: "lock-lost" });
    expect(world.requests()).toEqual([]);
  });

  test("reports a refusal by the service too", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    const { lock } = await world.ledger.acquireLock({ holder });
    world.proxy.choose = () => {
      void world.ledger.releaseLock(lock.id);
      return { type: "answer", status: 422 };
    };
    await expect(world.apply()).rejects.toMatchObject({
      code: "outcome-not-recorded",
      details: [
        "POST /api/drafts/1/product_files for drafts/1/product_files/10: refused",
        "saved in recovery.ndjson",
      ],
      outcomes: [{ result: { outcome: "rejected", status: 422 }, effects: [] }],
    });
  });
});
