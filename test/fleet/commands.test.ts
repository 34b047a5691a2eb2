import { describe, expect, test } from "vitest";
import { useFleet } from "./support/world.ts";

const names = ["atlas", "harbor", "lantern"];
const fleet = useFleet({ names, every: "1h" });
const { run, statusOf, statuses, read, write, writeManifest, until, start, startWorker } = fleet;
const ended = async (name: string) => (await statusOf(name)).last_run?.ended_at;

describe("fleet commands", () => {
  test("report a missing fleet before fleet apply", async () => {
    for (const args of [["status"], ["run", "--all"], ["pause", "atlas"], ["serve"]]) {
      expect(await run("fleet", ...args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("[fleet-missing]"),
      });
    }
  });

  test("apply shows the difference, and --dry-run changes nothing", async () => {
    const dry = await run("fleet", "apply", "--dry-run");
    expect(dry.stdout).toContain("+ lantern  accounts/lantern/draftsync.yaml, every 1 h");
    expect(dry.stdout).toContain("3 workspaces: 3 to add");
    expect(await statuses()).toEqual([]);
    expect((await run("fleet", "apply")).code).toBe(0);
    expect((await statuses()).map(({ name, status }) => [name, status])).toEqual(
      names.map((name) => [name, "never_run"]),
    );
    expect((await run("fleet", "apply")).stdout).toBe("3 workspaces: 3 unchanged\n");
    expect((await run("fleet", "run", "atlas")).stderr).toBe(
      "1 workspace will run when a worker does: start one with `draftsync fleet worker`.\n",
    );
  });

  test("run starts a reconcile immediately, and status shows the result", async () => {
    startWorker();
    expect((await run("fleet", "run", "--all")).code).toBe(0);
    await until(async () => (await statuses()).every(({ status }) => status === "ok"));
    expect(fleet.sandbox().accounts.map(({ state }) => state().attachments.length)).toEqual([3, 3, 3]);
    // A workspace that the worker had begun before the request runs once more.
    const status = async () => (await run("fleet", "status")).stdout;
    await until(async () => !(await status()).includes("running on"));
    expect(await status()).toMatch(
      /^3 workspaces: 3 ok; 1 worker\n\nok {9}atlas {4}(3 done, 3 calls|nothing to do), \d+ s ago; next in /,
    );
    const one = await run("fleet", "status", "lantern");
    expect(one.stdout).toMatch(
      /draftsync history --config accounts\/lantern\/draftsync.yaml --run [0-9a-f]{8}\n$/,
    );
  });

  test("run during a run starts another run afterwards", async () => {
    startWorker();
    await writeManifest("atlas", "A first text");
    await run("fleet", "run", "atlas");
    await until(async () => fleet.log.some(({ method }) => method === "PATCH"));
    await writeManifest("atlas", "A later text");
    await run("fleet", "run", "atlas");
    const texts = () =>
      fleet
        .sandbox()
        .accounts[0]?.state()
        .attachments.map(({ attributes }) => attributes.description);
    await until(async () => texts()?.every((text) => String(text).startsWith("A later text")) ?? false);
  });

  test("pause stops scheduled and requested runs until resume", async () => {
    startWorker();
    await run("fleet", "pause", "harbor");
    expect(await run("fleet", "run", "harbor")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Resume it first: draftsync fleet resume harbor"),
    });
    const before = await ended("harbor");
    const others = await ended("lantern");
    expect((await run("fleet", "run", "--all")).stderr).toContain("1 paused");
    await until(async () => (await ended("lantern")) !== others);
    expect(await statusOf("harbor")).toMatchObject({ status: "paused", last_run: { ended_at: before } });
    await run("fleet", "resume", "harbor");
    await run("fleet", "run", "harbor");
    await until(async () => (await ended("harbor")) !== before);
  });

  test("status shows a broken config and a wrong key, other workspaces continue, and both recover", async () => {
    startWorker();
    const config = await read("accounts/harbor/draftsync.yaml");
    await write("accounts/harbor/draftsync.yaml", config.replace("version: 1", "version: 1\nserviec: x"));
    const key = await read("keys/lantern");
    await write("keys/lantern", "revoked\n");
    await writeManifest("lantern", "Needs a call");
    const before = await ended("atlas");
    await run("fleet", "run", "--all");
    await until(async () => (await statuses()).filter(({ status }) => status === "failing").length === 2);
    await until(async () => (await ended("atlas")) !== before);
    const failing = (await run("fleet", "status", "--failing")).stdout;
    expect(failing).toMatch(/failing +harbor .*draftsync\.yaml:2:1: The key "serviec" is not known/);
    expect(failing).toMatch(/failing +lantern .*the service does not accept the key/);
    expect(failing).not.toMatch(/^ok/m);
    const server = start("fleet", "serve", "--listen", "127.0.0.1:0");
    await until(async () => server.stderr().includes("Ctrl-C"));
    const [url] = /http:\/\/[\d.:]+/.exec(server.stderr()) ?? [];
    const page = await (await fetch(`${url}/`)).text();
    expect(page).toContain('The key "serviec" is not known'.replaceAll('"', "&quot;"));
    expect([...page.matchAll(/href="(runs\/.*?)"/g)].map(([, path]) => path)).toEqual([
      "runs/lantern",
      "runs/atlas",
    ]);
    expect(await (await fetch(`${url}/runs/atlas`)).text()).toContain("<h1>Run: reconcile");
    expect((await fetch(`${url}/runs/harbor`)).status).toBe(404);
    await write("accounts/harbor/draftsync.yaml", config);
    await write("keys/lantern", key);
    await run("fleet", "run", "harbor", "lantern");
    await until(async () => (await statuses()).every(({ status }) => status === "ok"));
  });

  test("apply retires a workspace that fleet.yaml no longer names, and restores it with its history", async () => {
    const yaml = await read("fleet.yaml");
    await write("fleet.yaml", yaml.replace("accounts/*/", "accounts/{atlas,harbor}/"));
    const { stdout } = await run("fleet", "apply");
    expect(stdout).toContain("- lantern  accounts/lantern/draftsync.yaml: runs no more");
    expect((await statuses()).map(({ name }) => name)).toEqual(["atlas", "harbor"]);
    await write("fleet.yaml", yaml);
    await run("fleet", "apply");
    expect(await statusOf("lantern")).toMatchObject({ last_run: { status: "ok" } });
  });

  test("apply retires most workspaces only with --retire-most, and refuses two workspaces with one ledger", async () => {
    const yaml = await read("fleet.yaml");
    await write("fleet.yaml", yaml.replace("accounts/*/", "accounts/{atlas,x}*/"));
    const refused = await run("fleet", "apply");
    expect(refused.stderr).toMatch(/2 of 3 workspaces would run no more {2}\[most-retired\]/);
    expect(await statuses()).toHaveLength(3);
    expect((await run("fleet", "apply", "--retire-most")).stdout).toContain("- harbor ");
    await write("fleet.yaml", yaml);
    await run("fleet", "apply");
    expect(await statuses()).toHaveLength(3);
    const config = await read("accounts/harbor/draftsync.yaml");
    await write("accounts/harbor/draftsync.yaml", await read("accounts/atlas/draftsync.yaml"));
    const { stderr } = await run("fleet", "apply");
    expect(stderr).toMatch(
      /accounts\/atlas\/draftsync\.yaml and accounts\/harbor\/draftsync\.yaml have the same ledger/,
    );
    await write("accounts/harbor/draftsync.yaml", config);
  });

  test("apply makes a new key available to the next run", async () => {
    const yaml = await read("fleet.yaml");
    const worker = startWorker();
    await expect.poll(worker.stderr, { timeout: 60_000 }).toContain("slots");
    await writeManifest("atlas", "With a shared key");
    const more =
      "keys: { acme: { api_key_file: keys/atlas } }\noverrides: { atlas: { key: acme, paused: false } }\n";
    await write("fleet.yaml", `${yaml}${more}`);
    await run("fleet", "apply");
    const before = await ended("atlas");
    await run("fleet", "run", "atlas");
    await until(async () => (await ended("atlas")) !== before);
    expect(await statusOf("atlas")).toMatchObject({ status: "ok" });
    await write("fleet.yaml", `${yaml}overrides: { atlas: { paused: true } }\n`);
    await run("fleet", "apply");
    expect((await run("fleet", "run", "atlas")).stderr).toContain(
      "Change `paused` in the `overrides` of fleet.yaml",
    );
    await write("fleet.yaml", yaml);
    await run("fleet", "apply");
    await run("fleet", "resume", "atlas");
  });

  test("apply reports errors in fleet.yaml with their lines", async () => {
    const yaml = await read("fleet.yaml");
    const more = "overrides:\n  latern: { every: 5m }\n  atlas: { key: acme }\n";
    await write("fleet.yaml", `${yaml.replace("accounts/*/", "acounts/*/")}${more}`);
    const first = await run("fleet", "apply");
    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining("[unknown-key-name]") });
    await write(
      "fleet.yaml",
      `${yaml.replace("accounts/*/", "acounts/*/")}overrides:\n  latern: { every: 5m }\n`,
    );
    const { stderr } = await run("fleet", "apply");
    expect(stderr).toMatch(/no file matches acounts[\s\S]*--> fleet\.yaml:4:14/);
    await write("fleet.yaml", `${yaml}overrides:\n  latern: { every: 5m }\n`);
    expect((await run("fleet", "apply")).stderr).toMatch(
      /there is no workspace latern[\s\S]*--> fleet\.yaml:7:3[\s\S]*Did you mean lantern/,
    );
    await write("fleet.yaml", yaml);
  });
});
