import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { systemClock } from "../../src/model/ports.ts";
import type { Behavior, RequestLogEntry, Sandbox, SandboxOptions } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";
import { doctor, usual, usualDraft } from "../support/doctor.ts";
import { startFaultyProxy } from "../support/faulty-proxy.ts";

const key = "canary-key-51ab";
const place = { draftId: 48213, kind: "product_file", fileId: 9900011 } as const;
const attributes = { file_format: "fbx", renderer: "arnold", is_native: true };
const probing = ["--draft", "48213", "--file", "9900011", "--auto-approve"];

let folder: Folder;
let sandbox: Sandbox;
let arrivals: RequestLogEntry[];

beforeEach(async () => {
  arrivals = [];
  folder = await makeFolder();
});
afterEach(async () => {
  await sandbox.close();
  await folder.dispose();
});

async function start(options: Partial<SandboxOptions> = {}, service = ""): Promise<void> {
  sandbox = await startSandbox({ key, log: (arrival) => void arrivals.push(arrival), ...options });
  sandbox.attach(place, attributes);
  await folder.write({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: "${sandbox.url}"${service} }\n`,
    "manifests/a.yaml":
      "draft: 48213\nproduct_files: [{ file_id: 9900011, file_format: fbx, renderer: arnold, is_native: true }]\n",
  });
}

const run = (args: readonly string[] = []) =>
  doctor(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });
const held = () => sandbox.state().attachments[0]?.attributes;
const lines = () => arrivals.map(({ method, path }) => `${method} ${path}`);

describe("doctor with a service that follows the document", () => {
  test("passes with six read calls and suggests no setting", async () => {
    await start();
    const { code, view, found, stderr } = await run();
    expect(found).toMatchObject(usual);
    expect({ code, calls: view.calls, settings: view.settings }).toEqual({ code: 0, calls: 6, settings: {} });
    expect(arrivals.map(({ method }) => method)).toEqual(Array.from({ length: 6 }, () => "GET"));
    expect(stderr).toContain("with up to 6 read calls");
    expect(stderr).toContain("Created a new ledger at");
  });

  test("makes one call with a random key", async () => {
    const keys: string[] = [];
    const { startRawServer, answer } = await import("../unit/service/support/raw-server.ts");
    await start();
    const server = await startRawServer(({ headers }) => {
      keys.push(headers.find(([name]) => name.toLowerCase() === "authorization")?.[1] ?? "");
      return answer(404, { errors: [{ status: "404" }] });
    });
    await run(["--base-url", server.url]);
    await server.close();
    const others = keys.filter((each) => each !== `Token ${key}`);
    expect(keys).toHaveLength(6);
    expect(others).toEqual([expect.stringMatching(/^Token draftsync-doctor-no-key-[0-9a-f]{12}$/)]);
  });

  test("passes four probes, each recorded in the ledger", async () => {
    await start();
    const { code, view, found, stderr } = await run(probing);
    expect(found).toMatchObject({ ...usual, ...usualDraft });
    expect({ code, calls: view.calls, held: held() }).toEqual({ code: 0, calls: 10, held: attributes });
    const path = "/api/drafts/48213/product_files/9900011";
    expect(lines().slice(6)).toEqual([`PATCH ${path}`, `PATCH ${path}`, `PUT ${path}`, `PATCH ${path}`]);
    expect(arrivals.slice(6).map(({ body }) => body)).toEqual(
      Array.from({ length: 4 }, () => ({ data: { type: "product_file", attributes: {} } })),
    );
    expect(stderr).toContain(
      "Attributes of the file:\n\n  file_format: fbx\n  renderer: arnold\n  is_native: true\n",
    );
    const history = await draftsync(["history", "--json"], { cwd: folder.path });
    const [entry] = JSON.parse(history.stdout).runs;
    expect(entry).toMatchObject({ command: "doctor", status: "done" });
    expect(
      entry.operations.map(({ kind, outcome }: { kind: string; outcome: string }) => `${kind} ${outcome}`),
    ).toEqual(Array.from({ length: 4 }, () => "update done"));
    expect((await draftsync(["state", "list"], { cwd: folder.path })).stdout).not.toContain("9900011");
  });

  test("prints the whole description of a promotional file after the first probe", async () => {
    await start();
    const description = `${"A sea serpent at dusk. ".repeat(20)}\u001b[2J`;
    sandbox.attach({ draftId: 48213, kind: "promotional_file", fileId: 7 }, { description });
    const args = ["--draft", "48213", "--file", "7", "--kind", "promotional_files", "--auto-approve"];
    const { found, stderr } = await run(args);
    expect(found).toMatchObject({ ...usual, ...usualDraft });
    expect(stderr.replace(/\s+/g, " ")).toContain("A sea serpent at dusk. ".repeat(20).trim());
    expect(stderr).not.toContain("\u001b");
  });

  test.each([
    { apiKey: key, code: 0, message: "The default settings fit." },
    { apiKey: "wrong-key-0000", code: 1, message: "Some checks failed, so the settings were not checked" },
  ])("exits with $code and reports in text: $message", async ({ apiKey, code, message }) => {
    await start();
    const ended = await draftsync(["doctor"], { cwd: folder.path, env: { DRAFTSYNC_API_KEY: apiKey } });
    expect(ended).toMatchObject({ code, stdout: expect.stringContaining(message) });
    expect(ended.stdout.includes("ok       key accepted")).toBe(code === 0);
  });
});

describe("doctor with a service that behaves differently", () => {
  const rows: { behavior: Partial<Behavior>; finds: Record<string, string>; calls: number; code?: number }[] =
    [
      { behavior: { dataId: "other" }, finds: { data_id: "ok data-id-is-other" }, calls: 10 },
      { behavior: { updateStatus: 204 }, finds: { probe: "unknown probe-unknown" }, calls: 7 },
      { behavior: { updateStatus: 202 }, finds: { probe: "warning probe-accepted" }, calls: 7, code: 4 },
      { behavior: { probe: "rejected" }, finds: { probe: "warning probe-refused" }, calls: 7 },
      { behavior: { put: "refused" }, finds: { update_method: "warning method-put-refused" }, calls: 9 },
      { behavior: { errors: "problem" }, finds: { errors: "ok errors-problem" }, calls: 10 },
      { behavior: { mediaTypes: "strict" }, finds: { media_types: "ok media-types-strict" }, calls: 10 },
      {
        behavior: { uploadsQuery: "ids" },
        finds: { uploads_query: "warning uploads-query-refused" },
        calls: 10,
      },
    ];
  test.each(rows)("reports $behavior", async ({ behavior, finds, calls, code = 0 }) => {
    await start({ behavior });
    const ended = await run(probing);
    const unchecked = Object.fromEntries(
      Object.entries(ended.found).filter(([, finding]) => finding === "skipped check-skipped"),
    );
    expect(ended.found).toEqual(expect.objectContaining({ ...usual, ...usualDraft, ...unchecked, ...finds }));
    expect({ code: ended.code, calls: ended.view.calls }).toEqual({ code, calls });
    expect(held()).toEqual(attributes);
  });

  test.each([
    {
      name: "reading uploads one by one when the list of uploads is refused",
      behavior: { uploadsQuery: "ids" },
      given: "",
      finds: {},
      suggested: { uploads_query: null },
    },
    {
      name: "the configured uploads_query when it works",
      behavior: { uploadsQuery: "ids" },
      given: "uploads_query: ids",
      finds: usual,
      suggested: { uploads_query: "ids" },
    },
    {
      name: "the default when a working filter is turned off",
      behavior: {},
      given: "uploads_query: null",
      finds: {},
      suggested: { uploads_query: "filter[id]" },
    },
    {
      name: "a content_type without parameters when media types are strict",
      behavior: { mediaTypes: "strict" },
      given: 'content_type: "application/vnd.api+json; charset=utf-8"',
      finds: { media_types: "warning media-types-conflict" },
      suggested: { content_type: "application/vnd.api+json" },
    },
  ] as const)("suggests $name", async ({ behavior, given, finds, suggested }) => {
    await start({ behavior }, given === "" ? "" : `, profile: { ${given} }`);
    const { found, view } = await run();
    expect(found).toMatchObject(finds);
    expect(view.settings).toEqual({ profile: suggested });
  });

  test("suggests the announced rate limit if it is lower, and stays below it", async () => {
    await start({ rate: { limit: 3, windowMs: 1000 } });
    const { found, view } = await run();
    expect(found.rate).toBe("warning rate-too-high");
    expect(view.settings).toEqual({ rate: { limit: 3, window: "1s" } });
    expect(arrivals.map(({ status }) => status)).not.toContain(429);
  });

  test("warns about a refused data.type without a suggestion", async () => {
    await start({}, ", profile: { types: { product_file: asset_file } }");
    const { found, view } = await run(probing);
    expect(found.probe).toBe("warning probe-refused");
    expect(view.settings).toEqual({});
  });
});

describe("doctor with a service that a probe changes", () => {
  test("fails after one probe that clears a file not in the ledger", async () => {
    await start({ behavior: { probe: "clears" } });
    const { code, found, view } = await run(probing);
    expect({ code, probe: found.probe }).toEqual({ code: 1, probe: "failed probe-no-attributes" });
    expect({ calls: view.calls, held: held() }).toEqual({ calls: 7, held: {} });
  });

  test("fails after one probe that clears a recorded file, which the next apply restores", async () => {
    await start({ behavior: { probe: "clears", doubleAttach: "accepted" } });
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    expect((await draftsync(["apply", "--auto-approve"], options)).code).toBe(0);
    const { code, found, view, stderr } = await run(probing);
    expect({ code, probe: found.probe }).toEqual({ code: 1, probe: "failed probe-record-differs" });
    expect(stderr).toContain('Recorded attributes: file_format "fbx", renderer "arnold", is_native true');
    expect(held()).toEqual({});
    expect(view.restore).toEqual({ draft: 48213, product_files: [{ file_id: 9900011, ...attributes }] });
    expect((await draftsync(["apply", "--auto-approve"], options)).code).toBe(0);
    expect(held()).toEqual(attributes);
  });

  test("fails after a PUT that clears the file, and suggests PATCH", async () => {
    await start({ behavior: { put: "replaces" } }, ", profile: { update_method: PUT }");
    const { code, found, view } = await run(probing);
    expect(found).toMatchObject({ probe: "ok probe-harmless", update_method: "failed method-put-changes" });
    expect({ code, held: held() }).toEqual({ code: 1, held: {} });
    expect(view.restore).toEqual({ draft: 48213, product_files: [{ file_id: 9900011, ...attributes }] });
    expect(view.settings).toEqual({ profile: { update_method: "PATCH" } });
  });
});

test("doctor keeps recorded values that the service does not return", async () => {
  await start({ behavior: { doubleAttach: "accepted" } });
  const proxy = await startFaultyProxy(sandbox.url);
  await folder.write({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: "${proxy.url}" }\n`,
  });
  const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
  expect((await draftsync(["apply", "--auto-approve"], options)).code).toBe(0);
  const data = { type: "product_file", id: "9900011", attributes: { file_format: "fbx" } };
  const body = JSON.stringify({ data });
  const headers = { "content-type": "application/vnd.api+json" };
  proxy.choose = ({ method }) =>
    method === "GET" ? undefined : { type: "answer", carriedOut: true, status: 200, headers, body };
  const { found } = await run(probing);
  await proxy.close();
  expect(found.probe).not.toContain("ok");
  const { stdout } = await draftsync(
    ["state", "show", "drafts/48213/product_files/9900011", "--json"],
    options,
  );
  expect(JSON.parse(stdout)).toMatchObject({ entries: [{ details: attributes }] });
});

test("doctor sends no probe of a file while a call about it is in doubt", async () => {
  await start();
  const ledger = await openLedger({ location: `${folder.path}/.draftsync/state.db`, clock: systemClock });
  await ledger.startRun({ id: "run", command: "apply", planId: "", startedAt: 1 });
  await ledger.begin({
    id: "update",
    runId: "run",
    address: "drafts/48213/product_files/9900011",
    kind: "update",
    method: "PATCH",
    path: "/api/drafts/48213/product_files/9900011",
    intent: { draftId: 48213, fileKind: "product_files", fileId: 9900011, attributes: { renderer: "x" } },
  });
  await ledger.close();
  const { code, found } = await run(probing);
  expect({ code, found }).toMatchObject({ code: 4, found: { ...usual, probe: "failed probe-failed" } });
  expect(lines().filter((line) => !line.startsWith("GET"))).toEqual([]);
});

describe("approval of doctor probes", () => {
  test("is required before any call if there is no terminal", async () => {
    await start();
    const args = ["doctor", "--draft", "48213", "--file", "9900011"];
    const { code, stderr } = await draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });
    expect([code, stderr]).toEqual([1, expect.stringContaining("[approval-needed]")]);
    expect(arrivals).toEqual([]);
  });

  test("does not override the lock, and the other checks still run", async () => {
    await start();
    const ledger = await openLedger({ location: `${folder.path}/.draftsync/state.db`, clock: systemClock });
    const lease = await ledger.acquireLock({ holder: { user: "ann", host: "h", pid: 1, command: "apply" } });
    const { code, found } = await run(probing);
    await lease.release();
    await ledger.close();
    expect({ code, found }).toMatchObject({ code: 6, found: { ...usual, probe: "failed probe-failed" } });
    expect(lines().filter((line) => !line.startsWith("GET"))).toEqual([]);
  });

  test.each([
    { args: ["--draft", "48213"], code: "invalid-flag" },
    {
      args: ["--base-url", "http://127.0.0.1:1", "--config", "gone.yaml", ...probing],
      code: "config-unusable",
    },
  ])("does not apply to $args, which fail with $code", async ({ args, code }) => {
    await start();
    const ended = await draftsync(["doctor", ...args, "--json"], { cwd: folder.path });
    expect(ended.code).toBe(1);
    expect(ended.stdout + ended.stderr).toContain(code);
  });
});
