import { describe, expect, test } from "vitest";
import { askServer } from "../unit/ledger/samples.ts";
import { useFleet } from "./support/world.ts";

const names = ["atlas", "basalt", "cobalt", "dragon"];

describe("two workers", () => {
  const fleet = useFleet({ names, every: "1h", files: 30, rate: { limit: 10, windowMs: 1000 } });
  const { run, statuses, until, startWorker } = fleet;

  test("take over the runs of a killed worker, and nothing is attached twice", async () => {
    await run("fleet", "apply");
    const first = startWorker("--slots", "2");
    startWorker("--slots", "2");
    await run("fleet", "run", "--all");
    await until(async () => fleet.log.filter(({ method }) => method === "POST").length > 10);
    first.kill("SIGKILL");
    await until(async () =>
      (await statuses()).every(({ status, running_on }) => status === "ok" && running_on === undefined),
    );
    const posts = fleet.log.filter(({ method, status }) => method === "POST" && status === 201);
    expect(posts).toHaveLength(names.length * 30);
    expect(fleet.sandbox().accounts.map(({ state }) => state().attachments.length)).toEqual([30, 30, 30, 30]);
  });
});

describe("queue that gives a running job to another worker", () => {
  const fleet = useFleet({ names: ["atlas"], every: "1h", files: 40, rate: { limit: 10, windowMs: 1000 } });
  const { run, statusOf, until, startWorker, schema } = fleet;

  test("starts no second run of the workspace", async () => {
    await run("fleet", "apply");
    startWorker();
    startWorker();
    await run("fleet", "run", "atlas");
    await until(async () => fleet.log.length > 5);
    await askServer(
      `update bullmq.job set state = 'waiting', lock_token = null where queue = '${schema}' and state = 'active';
       notify bullmq_jobs, '${schema}'`,
    );
    const runs = () => askServer(`select status from ${schema}.fleet_runs where workspace = 'atlas'`);
    await until(async () => (await runs()).length > 0);
    expect(await runs()).toEqual([{ status: "ok" }]);
    expect(await statusOf("atlas")).toMatchObject({ status: "ok" });
  });
});

describe("workspaces that share an API key", () => {
  const keys =
    "keys: { acme: { api_key_file: keys/atlas, rate: { limit: 5, window: 1s } } }\noverrides: { atlas: { key: acme }, basalt: { key: acme }, cobalt: { key: acme } }";
  const fleet = useFleet({
    names: names.slice(0, 3),
    every: "1h",
    files: 12,
    accountOf: () => 1,
    more: keys,
    rate: { limit: 5, windowMs: 1000 },
  });
  const { run, statuses, until, startWorker } = fleet;

  test("share its rate limit across three workers", async () => {
    await run("fleet", "apply");
    for (let worker = 0; worker < 3; worker += 1) startWorker("--slots", "1");
    await run("fleet", "run", "--all");
    await until(async () => (await statuses()).every(({ status }) => status === "ok"));
    expect(fleet.log.filter(({ status }) => status === 429)).toEqual([]);
    expect(fleet.log.filter(({ status }) => status === 201)).toHaveLength(36);
  });
});

describe("worker that is stopped by SIGTERM", () => {
  const fleet = useFleet({ names: ["atlas"], every: "1h", files: 60, rate: { limit: 10, windowMs: 1000 } });
  const { run, statusOf, until, startWorker } = fleet;

  test("interrupts and records its runs, and another worker continues immediately", async () => {
    await run("fleet", "apply");
    const first = startWorker();
    await run("fleet", "run", "atlas");
    await until(async () => fleet.log.length > 5);
    first.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);
    expect(await statusOf("atlas")).toMatchObject({ last_run: { status: "interrupted" } });
    startWorker();
    await until(async () => (await statusOf("atlas")).status === "ok");
    expect(fleet.log.filter(({ status }) => status === 201)).toHaveLength(60);
  });
});
