import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../support/start-postgres.mjs";
import { useFleet } from "./support/world.ts";

describe("database outage of 20 s", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  const names = ["atlas", "basalt", "cobalt"];
  const fleet = useFleet({
    names,
    every: "1h",
    files: 40,
    rate: { limit: 10, windowMs: 1000 },
    databaseUrl: () => server.url,
  });

  test("makes the worker wait, and every workspace converges with nothing attached twice", async () => {
    const { run, statuses, until, startWorker } = fleet;
    await run("fleet", "apply");
    const worker = startWorker("--slots", "3");
    await run("fleet", "run", "--all");
    await until(async () => fleet.log.length > 10);
    await server.restart(20_000);
    await until(async () =>
      (await statuses()).every(
        ({ running_on, last_run }) => running_on === undefined && last_run !== undefined,
      ),
    );
    expect(worker.stderr()).toContain("the fleet's database does not answer; waiting for it");
    // The ledgers were unreachable too: the next runs replay their recovery logs.
    await run("fleet", "run", "--all");
    await until(async () => (await statuses()).every(({ status }) => status === "ok"));
    expect(fleet.sandbox().accounts.map(({ state }) => state().attachments.length)).toEqual([40, 40, 40]);
    const posts = fleet.log.filter(({ method, status }) => method === "POST" && status === 201);
    expect(posts).toHaveLength(120);
  });
});
