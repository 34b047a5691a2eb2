import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { listenLocally } from "../support/listen.ts";
import { startWebhook } from "../support/webhook.ts";
import { askServer } from "../unit/ledger/samples.ts";
import { useFleet } from "./support/world.ts";

const names = ["atlas", "basalt", "cobalt", "dragon"];

describe("three workers, one with a clock 30 s ahead and one 30 s late", () => {
  const fleet = useFleet({ names, every: "4s" });
  const { run, statuses, until, startWorker, startWorkerAhead, schema } = fleet;

  test("run every workspace once per interval and never twice at the same time", async () => {
    await run("fleet", "apply");
    startWorker("--slots", "2");
    startWorkerAhead(30_000, "--slots", "2");
    startWorkerAhead(-30_000, "--slots", "2");
    const runs = () =>
      askServer(
        `select workspace, started_at as began, ended_at as ended from ${schema}.fleet_runs order by began`,
      );
    await until(async () => (await runs()).length >= names.length * 6);
    // A machine that cannot run four workspaces in 4 s truthfully says "behind".
    for (const { status } of await statuses()) expect(["ok", "behind"]).toContain(status);
    const overlaps = await askServer(
      `select count(*)::int as count from ${schema}.fleet_runs as a join ${schema}.fleet_runs as b
         on a.workspace = b.workspace and a.id <> b.id and a.started_at <= b.started_at and b.started_at < a.ended_at`,
    );
    expect(overlaps).toEqual([{ count: 0 }]);
    // A late run may begin just before the next interval; two of them in each interval would be twice as many.
    const extra = await askServer(
      `select workspace from ${schema}.fleet_runs group by workspace
         having count(*) > extract(epoch from max(started_at) - min(started_at)) / 4 + 2`,
    );
    expect(extra).toEqual([]);
    expect(fleet.log.filter(({ status }) => status === 201)).toHaveLength(names.length * 3);
  });
});

describe("worker with a clock 30 s ahead during long runs of another worker", () => {
  const fleet = useFleet({
    names: names.slice(0, 2),
    every: "1h",
    files: 120,
    rate: { limit: 10, windowMs: 1000 },
  });
  const { run, statuses, until, startWorker, startWorkerAhead } = fleet;

  test("does not disturb the runs, and nothing is attached twice", async () => {
    await run("fleet", "apply");
    startWorker("--slots", "2");
    await run("fleet", "run", "--all");
    await until(async () => fleet.log.length > 4);
    startWorkerAhead(30_000, "--slots", "2");
    await until(async () =>
      (await statuses()).every(({ status, running_on }) => status === "ok" && running_on === undefined),
    );
    expect(fleet.log.filter(({ status }) => status === 201)).toHaveLength(240);
  });
});

describe("workspace whose service never responds", () => {
  const fleet = useFleet({ names: names.slice(0, 2), every: "1h", more: "deadline: 10s\nslots: 1" });
  const { run, statusOf, until, startWorker, read, write } = fleet;

  test("is ended at the deadline and does not affect other workspaces", async () => {
    const server = createServer(() => {});
    const port = await listenLocally(server);
    const config = await read("accounts/atlas/draftsync.yaml");
    await write(
      "accounts/atlas/draftsync.yaml",
      config.replace(/base_url: "[^"]+"/, `base_url: "http://127.0.0.1:${port}"`),
    );
    await run("fleet", "apply");
    startWorker();
    await run("fleet", "run", "--all");
    await until(async () => (await statusOf("basalt")).status === "ok");
    await until(async () => (await statusOf("atlas")).last_run?.error?.code === "run-too-long");
    expect((await run("fleet", "status", "--failing")).stdout).toMatch(
      /failing +atlas +run-too-long, .*; the run was ended after 10 s, the deadline of fleet\.yaml/,
    );
    server.closeAllConnections();
    server.close();
  });
});

describe("upgrade while the fleet runs", () => {
  const fleet = useFleet({ names, every: "1h", files: 10, rate: { limit: 10, windowMs: 1000 } });
  const { run, statuses, until, startWorker, schema } = fleet;

  test("lets old workers continue with newer tables and hand over their runs when they stop", async () => {
    await run("fleet", "apply");
    const older = [startWorker("--slots", "2"), startWorker("--slots", "2")];
    await run("fleet", "run", "--all");
    await until(async () => fleet.log.length > 4);
    await askServer(
      `alter table ${schema}.fleet_workspaces add column later text not null default 'x'; update ${schema}.fleet_meta set version = 2`,
    );
    for (const worker of older) {
      startWorker("--slots", "2");
      worker.kill("SIGTERM");
      expect((await worker.ended).code).toBe(0);
    }
    await until(async () => (await statuses()).every(({ status }) => status === "ok"));
    expect(fleet.log.filter(({ status }) => status === 201)).toHaveLength(40);
  });
});

describe("fleet notification", () => {
  const fleet = useFleet({ names, every: "1h" });
  const { run, statuses, until, startWorker, read, write } = fleet;

  test("names all workspaces whose status changed in one message, and those that recover", async () => {
    const webhook = await startWebhook();
    await write("hook", webhook.url);
    await write("fleet.yaml", `${await read("fleet.yaml")}notify: { url_file: hook }\n`);
    await run("fleet", "apply");
    /** Starts and stops a worker, because a worker checks for status changes when it starts. */
    const sweep = async () => {
      const worker = startWorker();
      await expect.poll(worker.stderr, { timeout: 60_000 }).toContain("slots");
      worker.kill("SIGTERM");
      await worker.ended;
    };
    const worker = startWorker();
    for (const name of ["atlas", "cobalt"]) await write(`keys/${name}`, "revoked\n");
    await run("fleet", "run", "--all");
    await until(async () => (await statuses()).filter(({ status }) => status === "failing").length === 2);
    await sweep();
    await expect.poll(() => webhook.notices.length, { timeout: 60_000 }).toBe(1);
    expect(webhook.notices[0]?.body.text).toBe(
      "draftsync fleet: atlas is failing, cobalt is failing. `draftsync fleet status` has the details.",
    );
    await sweep();
    for (const [index, name] of names.entries()) await write(`keys/${name}`, `fleet-${index + 1}\n`);
    await run("fleet", "run", "atlas");
    await until(async () => (await statuses()).filter(({ status }) => status === "ok").length === 3);
    await sweep();
    await expect.poll(() => webhook.notices.length, { timeout: 60_000 }).toBe(2);
    expect(webhook.notices[1]?.body).toMatchObject({
      text: expect.stringContaining("atlas is ok"),
      changes: [{ workspace: "atlas", status: "ok", former_status: "failing" }],
    });
    expect(worker.stderr()).not.toContain("revoked");
    await webhook.close();
  });
});
