import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { makeFolder } from "../support/cli.ts";
import type { Screen } from "../support/screen.ts";
import { startOnScreen } from "../support/screen.ts";

const key = "canary-key-live";
let folder: Folder;
let sandbox: Sandbox;

const files = Array.from({ length: 6 }, (_none, at) => 20 + at);
const manifest = `draft: 7
product_files:
${files.map((id) => `  - { file_id: ${id}, file_format: fbx }`).join("\n")}
---
draft: 8
product_files:
  - source: 龍/龍.blend
    file_format: blender
`;

/** The rate limit makes calls slow enough to watch. */
async function start(rules: readonly object[]): Promise<void> {
  sandbox = await startSandbox({ key, faults: FaultRulesSchema.parse({ rules }), uploadProcessingMs: 0 });
  folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice:\n  base_url: ${sandbox.url}\n  rate: { limit: 5, window: 500ms }\n  profile: { upload_poll_min: 100ms }\n`,
    "manifests/a.yaml": manifest,
    "manifests/龍/龍.blend": new Uint8Array(9 * 1024 * 1024),
  });
}

/** Throws an uncaught exception on SIGUSR2. */
const defect = encodeURIComponent('process.on("SIGUSR2", () => { throw new Error("boom"); })');

const apply = (columns: number, ...args: string[]) =>
  startOnScreen(["apply", "--auto-approve", ...args], {
    cwd: folder.path,
    env: { DRAFTSYNC_API_KEY: key, NO_COLOR: "1", NODE_OPTIONS: `--import data:text/javascript,${defect}` },
    columns,
  });

const isLive = (line: string) => /of about \d+ calls|calls a second|MB of/.test(line);

function expectRestored(screen: Screen): void {
  expect(screen.lines().filter(isLive)).toEqual([]);
  expect(screen.isCursorVisible()).toBe(true);
}

afterEach(async () => {
  await sandbox.close();
  await folder.dispose();
});

describe("live progress of a complete run", () => {
  beforeEach(() =>
    start([
      { fault: "throttle", for: "2s", when: { method: "POST", path: "/api/drafts/*/product_files", nth: 3 } },
      { fault: "delay", for: "300ms", when: { side: "storage" }, times: "always" },
    ]),
  );

  test.each([80, 120])(
    "shows the state of the run at %i columns and removes it at the end",
    async (columns) => {
      const screen = await apply(columns);
      // In any order: on a busy machine the pause can come before the first upload line.
      const awaited = [
        /MB of 9\.4 MB manifests\/龍\/龍\.blend/,
        /rate limited; retrying in [12] s/,
        /^(\[[█░]+\] )?\d of 7 changes · \d+ of about \d+ calls/,
      ];
      const seen = new Set<RegExp>();
      await screen.until((lines) => {
        for (const line of lines) for (const each of awaited) if (each.test(line)) seen.add(each);
        return seen.size === awaited.length;
      });
      expect(screen.isCursorVisible()).toBe(false);
      expect(await screen.ended).toBe(0);
      expectRestored(screen);
      const lines = screen.lines();
      expect(lines.at(-1)).toMatch(/^Applied: 7 done\. \d+ calls in /);
      expect(lines.filter((line) => / attached /.test(line)).sort()).toEqual([
        expect.stringMatching(/^ {2}\+ drafts\/7 {2}6 attached \(.*\)$/),
        expect.stringMatching(
          /^ {2}\+ drafts\/8\/product_files\/source:manifests\/龍\/龍\.blend attached \(.*\)$/,
        ),
      ]);
    },
  );

  test("draws each frame atomically", async () => {
    const screen = await apply(80);
    expect(await screen.ended).toBe(0);
    const frames = screen.written().split("\u001b[?2026h").slice(1);
    expect(frames.length).toBeGreaterThan(5);
    for (const frame of frames) expect(frame).toContain("\u001b[?2026l");
  });

  test.each([
    ["--quiet", ["--quiet"]],
    ["--log-format json", ["--log-format", "json"]],
  ])("is not drawn with %s", async (_name, args) => {
    const screen = await apply(80, ...args);
    expect(await screen.ended).toBe(0);
    expect(screen.written()).not.toContain("\u001b[");
  });
});

describe("live progress of an interrupted run", () => {
  beforeEach(() => start([{ fault: "stall", for: "60s", when: { method: "POST" }, times: "always" }]));

  const begun = async () => {
    const screen = await apply(80);
    await screen.until((lines) => lines.some((line) => line.includes("of 7 changes")));
    return screen;
  };

  test("is removed after Ctrl-C twice", async () => {
    const screen = await begun();
    screen.type("\u0003");
    await screen.until((lines) => lines.some((line) => line.startsWith("Waiting up to 5 s")));
    screen.type("\u0003");
    expect(await screen.ended).not.toBe(0);
    expectRestored(screen);
    expect(screen.lines().slice(-2)).toEqual([
      expect.stringContaining("Applied in part:"),
      "Interrupted. Run `draftsync plan` to see what's left.",
    ]);
  });

  test.each(["SIGTERM", "SIGHUP", "SIGQUIT"] as const)("is removed after %s", async (signal) => {
    const screen = await begun();
    screen.kill(signal);
    if (signal === "SIGTERM") {
      await screen.until((lines) => lines.some((line) => line.startsWith("Waiting up to 5 s")));
      screen.kill("SIGTERM");
    }
    expect(await screen.ended).not.toBe(0);
    expectRestored(screen);
  });

  test("is removed after an uncaught exception", async () => {
    const screen = await begun();
    screen.kill("SIGUSR2");
    expect(await screen.ended).toBe(1);
    expectRestored(screen);
    expect(screen.lines().join("\n")).toContain("error: internal error: boom  [defect]");
  });

  test("is removed by Ctrl-Z until the process continues", async () => {
    const screen = await begun();
    screen.kill("SIGTSTP");
    await screen.until(() => screen.isCursorVisible());
    expectRestored(screen);
    screen.kill("SIGCONT");
    await screen.until((lines) => lines.some(isLive));
    screen.kill("SIGQUIT");
    await screen.ended;
    expectRestored(screen);
  });
});
