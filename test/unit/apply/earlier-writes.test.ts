import { expect, onTestFinished, test } from "vitest";
import { readEarlierWrites } from "../../../src/apply/earlier-writes.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { startWorld, type World } from "../../support/world.ts";

const hour = 3_600_000;

/** A world with one file to attach. */
async function startWithFile(ledgerAheadMs: number): Promise<World> {
  const world = await startWorld({ ledgerAheadMs });
  onTestFinished(() => world.close());
  await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
  return world;
}

test.each([-hour, hour])(
  "what is sent and what is recorded is dated by a ledger %i ms ahead",
  async (ledgerAheadMs) => {
    const world = await startWithFile(ledgerAheadMs);
    const before = await world.ledger.now();
    await world.apply();
    const [operation] = await world.ledger.operations();
    const [file] = (await world.ledger.load()).attachments;
    const times = [before, operation?.startedAt, file?.provenance.at, await world.ledger.now()];
    expect(times).toEqual(times.toSorted((a = 0, b = 0) => a - b));
  },
);

test.each([-hour, hour])(
  "a call that was lost now is waited for by a runner whose ledger is %i ms ahead",
  async (ledgerAheadMs) => {
    const world = await startWithFile(ledgerAheadMs);
    world.proxy.choose = ({ method }) =>
      method === "PATCH" || method === "POST" ? { type: "lost" } : undefined;
    const startedAt = systemClock.monotonic();
    await world.apply();
    const lost = await readEarlierWrites(world.ledger, { clock: systemClock, settleDelayMs: 30_000 });
    const times = [...lost.values()].flat().map(({ lostAt }) => lostAt);
    expect(times.length).toBeGreaterThan(0);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(startedAt - 5);
  },
);
