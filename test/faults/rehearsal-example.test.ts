import { spawnSync } from "node:child_process";
import { cp } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Folder, Running } from "../support/cli.ts";
import { draftsync, makeFolder, startDraftsync } from "../support/cli.ts";
import { readText, repository } from "../support/source-files.ts";

/** Command blocks of the README: the sandbox, and the commands of the second terminal. */
const [server = "", commands = ""] = [
  ...readText("examples/rehearsal/README.md").matchAll(/```sh\n(.*?)```/gs),
].map(([, block = ""]) => block);

const steps = [...commands.matchAll(/^(\S.*?) *# exit code (\d+):/gm)].map(([, line = "", code]) => ({
  line,
  code: Number(code),
}));

let folder: Folder;
let sandbox: Running;

beforeAll(async () => {
  folder = await makeFolder();
  await cp(`${repository}examples/rehearsal`, folder.path, { recursive: true });
  sandbox = startDraftsync(argumentsOf(server.replace("4010", "0")), { cwd: folder.path });
  await vi.waitFor(() => expect(sandbox.stderr()).toContain("The sandbox is running"), 20_000);
  const config = await folder.read("draftsync.yaml");
  await folder.write({
    "draftsync.yaml": config.replace("http://127.0.0.1:4010", sandbox.stdout().trim()),
  });
});

afterAll(async () => {
  sandbox.kill("SIGTERM");
  await sandbox.ended;
  await folder.dispose();
});

describe("commands in examples/rehearsal/README.md", () => {
  test("are found", () => {
    expect(server).toContain("--faults faults.yaml");
    expect(steps).toHaveLength(4);
  });

  test.each(steps)("include $line, which exits with $code", async ({ line, code }) => {
    const [, key = ""] = /DRAFTSYNC_API_KEY=(\S+)/.exec(commands) ?? [];
    const ended = line.startsWith("draftsync ")
      ? (await draftsync(argumentsOf(line), { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } })).code
      : spawnSync("sh", ["-c", line], { cwd: folder.path }).status;
    expect(ended).toBe(code);
  });

  test("trigger every fault rule of the example", async () => {
    const log = await folder.read(".draftsync/arrivals.ndjson");
    const met = log
      .trimEnd()
      .split("\n")
      .flatMap((line) => JSON.parse(line).fault?.rule ?? []);
    expect([...new Set(met)].sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });
});

function argumentsOf(line: string): string[] {
  return line.trim().split(/\s+/).slice(1);
}
