import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { draftsync, startDraftsync } from "../support/cli.ts";
import { skipNote } from "../support/shells.ts";
import { filesBelow, readText } from "../support/source-files.ts";
import { type Example, runProgram, startExample } from "./support/example.ts";

const timeout = 60_000;
const units = filesBelow("examples/systemd/units", "");
let example: Example;
beforeAll(async () => {
  example = await startExample("systemd");
  await example.folder.write({ "lib/.keep": "" });
});
afterAll(() => example.close());

/** The last value of a setting in a unit. */
function setting(unit: string, name: string): string {
  const lines = readText(`examples/systemd/units/${unit}`).split("\n");
  return lines.findLast((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

/** Arguments of ExecStart, with machine paths moved into the test folder. */
function argumentsOf(unit: string): string[] {
  const command = setting(unit, "ExecStart")
    .replace("/var/lib/draftsync", libFolder())
    .replace("/srv/drafts", example.path);
  const [program, ...args] = command.split(" ");
  expect(program).toBe("/usr/local/bin/draftsync");
  return args;
}

const libFolder = () => `${example.folder.path}/lib`;

/** The environment file of the example, with the paths of the test. */
function environment(): Record<string, string> {
  const lines = readText("examples/systemd/environment.example").matchAll(/^([A-Z_]+)=(.*)$/gm);
  const given = Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
  expect(Object.keys(given)).toEqual(["DRAFTSYNC_API_KEY", "DRAFTSYNC_STATE"]);
  return { DRAFTSYNC_STATE: (given.DRAFTSYNC_STATE ?? "").replace("/var/lib/draftsync", libFolder()) };
}

const options = () => ({ cwd: example.path, env: { ...example.env, ...environment() } });

describe("examples/systemd", () => {
  test("has a service that completes one run with its ledger and metrics in writable folders", async () => {
    expect(await draftsync(argumentsOf("draftsync.service"), options())).toMatchObject({ code: 0 });
    expect(example.sandbox.state().attachments.map(({ fileId }) => fileId)).toEqual([9900011, 9900044]);
    const metrics = await example.folder.read("lib/draftsync.prom");
    expect(metrics).toContain('draftsync_runs_total{status="ok",workspace="lantern-hill"} 1');
    expect((await draftsync(["state", "list"], options())).stdout).toContain("9900011");
    expect(await draftsync(argumentsOf("draftsync.service"), options())).toMatchObject({ code: 0 });
    expect(example.arrivals.filter(({ method }) => method === "POST")).toHaveLength(2);
  });

  test("has a service that keeps running, runs when it is reloaded, and exits when stopped", async () => {
    const args = argumentsOf("draftsync-serve.service").map((each) =>
      each === "127.0.0.1:9090" ? "127.0.0.1:0" : each,
    );
    const service = startDraftsync(args, options());
    const runs = () => service.stderr().match(/ (?:ok|standby): /g)?.length ?? 0;
    await expect.poll(runs, { timeout }).toBe(1);
    expect(setting("draftsync-serve.service", "ExecReload")).toBe("/bin/kill -HUP $MAINPID");
    service.kill("SIGHUP");
    await expect.poll(runs, { timeout }).toBe(2);
    service.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
  });

  test("lets systemd wait longer than an interrupted run takes", () => {
    for (const unit of ["draftsync.service", "draftsync-serve.service"])
      expect(Number(setting(unit, "TimeoutStopSec"))).toBeGreaterThan(7);
  });

  const note = skipNote("systemd-analyze");
  describe.skipIf(note !== "")(`units${note}`, () => {
    /** Writes the units with an existing program; returns their paths. */
    async function place(change: (text: string) => string = (text) => text): Promise<string[]> {
      const program = process.execPath;
      const placed = units.map(({ path, text }) => ({
        name: `units/${path.slice(path.lastIndexOf("/") + 1)}`,
        text: change(text.replace("/usr/local/bin/draftsync", program).replace("/usr/bin/logger", program)),
      }));
      await example.folder.write(Object.fromEntries(placed.map(({ name, text }) => [name, text])));
      return placed.map(({ name }) => `${example.folder.path}/${name}`);
    }
    const verify = (paths: readonly string[]) =>
      runProgram("systemd-analyze", ["verify", "--man=no", ...paths], {
        cwd: example.folder.path,
        env: { PATH: process.env.PATH ?? "", SYSTEMD_UNIT_PATH: `${example.folder.path}/units:` },
      });

    test("are accepted by systemd without a warning", async () => {
      expect(units.length).toBeGreaterThan(3);
      expect(await verify(await place())).toEqual({ code: 0, stdout: "", stderr: "" });
    });

    test("are checked by a tool that reports an unknown setting", async () => {
      const { stderr } = await verify(await place((text) => text.replace("PrivateTmp=", "PrivatTmp=")));
      expect(stderr).toMatch(/Unknown key.*'PrivatTmp'/);
    });

    test.each(["draftsync.service", "draftsync-serve.service"])("sandbox %s", async (unit) => {
      const paths = await place();
      const path = paths.find((each) => each.endsWith(`/${unit}`)) ?? "";
      const args = ["security", "--offline=true", "--no-pager", "--threshold=20", path];
      const { code, stdout } = await runProgram("systemd-analyze", args, {
        cwd: example.folder.path,
        env: { PATH: process.env.PATH ?? "" },
      });
      expect(code, stdout).toBe(0);
    });
  });
});
