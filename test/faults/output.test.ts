import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";

const key = "canary-key-output";
let folder: Folder;
let sandbox: Sandbox;

beforeEach(async () => {
  const rules = [
    { fault: "throttle", for: "1s", when: { method: "POST", path: "/api/drafts/*/product_files", nth: 2 } },
    { fault: "invalid", when: { method: "POST", path: "/api/drafts/9/product_files" } },
    { fault: "close", when: { side: "storage", method: "PUT", nth: 1 } },
  ];
  sandbox = await startSandbox({ key, faults: FaultRulesSchema.parse({ rules }), uploadProcessingMs: 50 });
  folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: "${sandbox.url}", profile: { upload_poll_min: 20ms } }\n`,
    "manifests/a.yaml": `draft: 7
product_files: [{ file_id: 10 }, { file_id: 11 }, { source: small.glb }, { source: large.glb }]
publish: true
---
draft: 9
product_files: [{ file_id: 12 }]
`,
    "manifests/small.glb": "small",
    "manifests/large.glb": new Uint8Array(9 * 1024 * 1024),
  });
});
afterEach(async () => {
  await sandbox.close();
  await folder.dispose();
});

const run = (...args: string[]) => draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });

const objects = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("--json reports calls, storage calls, waits, uploads and failures as documented", async () => {
  const { code, stdout, stderr } = await run("apply", "--auto-approve", "--json");
  expect([code, stderr]).toEqual([3, expect.stringMatching(/^Created a new ledger.*\s+$/)]);
  const events = parseEvents(stdout);
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set([
      "planned",
      "run_started",
      "change_started",
      "change_finished",
      "call_finished",
      "storage_call_finished",
      "waiting",
      "upload_progress",
      "upload_finished",
      "run_finished",
    ]),
  );
  const ofSource = (name: string) =>
    events.filter((event) => "source" in event && event.source === `manifests/${name}`);
  expect(ofSource("small.glb").map(({ type }) => type)).toEqual([
    "upload_progress",
    "upload_progress",
    "upload_finished",
  ]);
  expect(ofSource("large.glb").at(0)).toMatchObject({ sent: 0, total: 9 * 1024 * 1024 });
  const stored = events.filter((event) => event.type === "storage_call_finished");
  // The connection of the first PUT was closed, so it was sent again.
  expect(stored.filter(({ method, status }) => method === "PUT" && status === undefined)).toHaveLength(1);
  expect(stored.filter(({ attempt }) => attempt === 2)).toMatchObject([{ method: "PUT", status: 200 }]);
  expect(stored.every(({ key: object }) => /\/[0-9a-f]{64}\/(small|large)\.glb$/.test(object))).toBe(true);
});

describe("--verbose", () => {
  test("reports every call on standard error and no secret", async () => {
    const { stderr } = await run("apply", "--auto-approve", "--verbose");
    expect(stderr).toMatch(/^POST \/api\/drafts\/\d\/product_files 429 in \d+ ms$/m);
    expect(stderr).toMatch(/^PUT s3:\/\/[^/ ]+\/\S+\/(small|large)\.glb no response in \d+ ms$/m);
    expect(stderr).toMatch(/^PUT s3:\/\/[^/ ]+\/\S+\/(small|large)\.glb 200 in .*s, attempt 2$/m);
    expect(stderr).not.toMatch(/signature|X-Amz|partNumber|uploadId|AKIA|Token /i);
  });

  test.each([
    [["plan", "--refresh", "full"]],
    [["drift", "--refresh", "full"]],
    [["reconcile", "--refresh", "full"]],
    [["products", "get", "9000000001"]],
  ])("reports the calls of %j", async (args) => {
    await run("apply", "--auto-approve");
    const { stderr } = await run(...args, "--verbose");
    expect(stderr).toMatch(/^GET \/api\/\S+ 200 in /m);
  });
});

describe("--quiet", () => {
  test("prints only failures and the last line", async () => {
    const { code, stderr } = await run("apply", "--auto-approve", "--quiet");
    expect(code).toBe(3);
    expect(stderr).toMatch(/^error: .* {2}\[invalid\]\n(.*\n)* {4}drafts\/9\/product_files\/12 /);
    expect(stderr).toMatch(/\nApplied in part: 5 done, 1 failed\. .*\n$/);
    expect(stderr).not.toMatch(/attached|paused|no ledger/);
  });

  test("may come before the name of the command", async () => {
    const { stderr } = await run("--quiet", "plan");
    expect(stderr).toBe("");
  });

  test("conflicts with --verbose in an error that names both", async () => {
    const { code, stderr } = await run("plan", "--quiet", "--verbose");
    expect(code).toBe(1);
    expect(stderr).toContain("option '--quiet' cannot be used with option '--verbose'");
  });
});

describe("--log-format json", () => {
  test("prints every line of standard error as an object, including calls and failures", async () => {
    const { stderr } = await run("apply", "--auto-approve", "--verbose", "--log-format", "json");
    const entries = objects(stderr);
    for (const entry of entries) {
      expect(entry).toMatchObject({
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        level: expect.stringMatching(/^(error|warning|info|debug)$/),
        message: expect.stringMatching(/\S/),
      });
    }
    const failed = entries.filter(({ level }) => level === "error");
    expect(failed.map(({ code }) => code)).toEqual(["invalid", "run_finished"]);
    expect(failed[0]).toMatchObject({
      outcome: "failed",
      changes: 1,
      addresses: ["drafts/9/product_files/12"],
    });
    expect(entries.filter(({ level }) => level === "debug").length).toBeGreaterThan(10);
    expect(entries.find(({ code }) => code === "waiting")).toBeUndefined();
  });

  test.each([
    ["an error", ["show", "nowhere.json"], /-unreadable$|-missing$|^plan-/],
    ["invalid usage", ["plan", "--fromat", "json"], /^bad-usage$/],
    ["a prompt without a terminal", ["apply"], /^approval-needed$/],
    ["an unknown command", ["help", "nope"], /^unknown-command$/],
  ])("reports %s with its code", async (_name, args, code) => {
    const ended = await run(...args, "--log-format", "json");
    expect(ended.code).toBe(1);
    const last = objects(ended.stderr).at(-1);
    expect(last).toMatchObject({ level: "error", code: expect.stringMatching(code) });
  });

  test("reports each manifest error with its location", async () => {
    await folder.write({ "manifests/b.yaml": 'draft: "8"\n', "manifests/c.yaml": "draft: 05\n" });
    const { stderr } = await run("validate", "--log-format", "json");
    const places = objects(stderr).flatMap(({ place }) => (place === undefined ? [] : [place]));
    expect(places).toEqual(["manifests/b.yaml:1:8", "manifests/c.yaml:1:8"]);
  });

  test.each([
    ["a warning by Node", 'process.emitWarning("beware", "TideWarning")', "TideWarning"],
    ["an uncaught exception", '(() => { throw new Error("boom"); })()', "defect"],
  ])("reports %s", async (_name, script, code) => {
    // Runs when the command starts to listen for exceptions.
    const late = `process.on("newListener", (name) => name === "uncaughtException" && setImmediate(() => ${script}))`;
    const { stderr } = await draftsync(["doctor", "--log-format", "json"], {
      cwd: folder.path,
      env: {
        DRAFTSYNC_API_KEY: key,
        NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(late)}`,
      },
    });
    expect(objects(stderr)).toContainEqual(expect.objectContaining({ code }));
  });

  test("reports the changes and failures of reconcile", async () => {
    const { stderr } = await run("reconcile", "--log-format", "json");
    const codes = objects(stderr).flatMap(({ code }) => (code === undefined ? [] : [code]));
    expect(codes).toEqual(expect.arrayContaining(["change_finished", "invalid", "run_finished"]));
  });
});
