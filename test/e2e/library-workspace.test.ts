import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { Draft, Plan, Sandbox, Workspace } from "../../src/index.ts";
import { defineDraft, openWorkspace, startSandbox, writeManifest } from "../../src/index.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { systemClock } from "../../src/model/ports.ts";
import { type Folder, makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

const key = "canary-key-9d20";
let sandbox: Sandbox;
let folder: Folder;
let workspace: Workspace;

async function writeDrafts(...drafts: readonly Draft[]): Promise<void> {
  await writeManifest(join(folder.path, "manifests/a.yaml"), drafts);
}

const dragon = defineDraft({ draft: 1, product_files: [{ file_id: 7, file_format: "fbx" }], publish: true });
const tower = defineDraft({ draft: 2, promotional_files: [{ file_id: 9, description: "front\nview" }] });

beforeEach(async () => {
  sandbox = await startSandbox({ key });
  folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: ${sandbox.url} }\n`,
  });
  await writeDrafts(dragon, tower);
  workspace = await openWorkspace({ cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });
  onTestFinished(async () => {
    await workspace.close();
    await sandbox.close();
    await folder.dispose();
  });
});

test("apply applies a plan, and the next plan is empty", async () => {
  const events: string[] = [];
  const onEvent = ({ type }: { readonly type: string }) => void events.push(type);
  const report = await workspace.apply(await workspace.plan(), { newLedger: true, onEvent });
  expect(report).toMatchObject({ status: "done", totals: { done: 3, calls: 3 }, diagnostics: [] });
  expect(events.filter((type) => type === "change_finished")).toHaveLength(3);
  const next = await workspace.plan();
  expect(next.changes).toEqual([]);
  expect(await workspace.apply(next)).toEqual({ status: "done", diagnostics: [] });
});

test("a new ledger publishes nothing without newLedger", async () => {
  const report = await workspace.apply(await workspace.plan());
  expect(report).toMatchObject({ status: "refused", totals: { done: 2 } });
  expect(report.diagnostics.map(({ code }) => code)).toEqual(["new-ledger"]);
  expect(sandbox.state().products).toEqual([]);
});

test("files of a draft that is no longer declared are deleted only with removeDrafts", async () => {
  await workspace.apply(await workspace.plan(), { newLedger: true });
  await writeDrafts(dragon);
  const plan = await workspace.plan();
  const refused = await workspace.apply(plan);
  expect(refused.status).toBe("refused");
  expect(refused.totals).toBeUndefined();
  expect(sandbox.state().attachments).toHaveLength(2);
  const limits = { removeDrafts: true, maxDeletes: 100 };
  expect(await workspace.apply(plan, limits)).toMatchObject({ status: "done" });
  expect(sandbox.state().attachments).toHaveLength(1);
});

test("apply refuses an altered plan and a stale plan", async () => {
  const plan = await workspace.plan();
  const altered: Plan = { ...plan, changes: plan.changes.slice(0, 1) };
  await expect(workspace.apply(altered)).rejects.toMatchObject({ code: "plan-altered" });
  await workspace.apply(plan, { newLedger: true });
  const withFormat = (file_format: string) => ({ ...dragon, product_files: [{ file_id: 7, file_format }] });
  await writeDrafts(withFormat("obj"), tower);
  const stale = await workspace.plan();
  await writeDrafts(withFormat("blend"), tower);
  await workspace.apply(await workspace.plan());
  await expect(workspace.apply(stale)).rejects.toMatchObject({ code: "plan-stale" });
});

test("apply refuses while another process holds the lock", async () => {
  const plan = await workspace.plan();
  const location = join(folder.path, ".draftsync/state.db");
  const ledger = await openLedger({ location, clock: systemClock });
  const lease = await ledger.acquireLock({ holder: { user: "ann", host: "h", pid: 1, command: "apply" } });
  await expect(workspace.apply(plan, { newLedger: true })).rejects.toMatchObject({ code: "lock-held" });
  await lease.release();
  await ledger.close();
  expect(await workspace.apply(plan, { newLedger: true })).toMatchObject({ status: "done" });
});

test("a signal interrupts apply between two operations, and the next apply continues", async () => {
  const plan = await workspace.plan();
  const interrupt = new AbortController();
  const onEvent = ({ type }: { readonly type: string }) => {
    if (type === "change_finished") interrupt.abort();
  };
  const report = await workspace.apply(plan, { newLedger: true, signal: interrupt.signal, onEvent });
  expect(report.status).toBe("interrupted");
  expect(await workspace.apply(plan)).toMatchObject({ status: "done" });
  expect(sandbox.state()).toMatchObject({ attachments: { length: 2 }, products: { length: 1 } });
});

test("close interrupts a running apply, and the workspace accepts nothing afterwards", async () => {
  const plan = await workspace.plan();
  let closed: Promise<void> | undefined;
  const onEvent = ({ type }: { readonly type: string }) => {
    if (type === "change_finished") closed ??= workspace.close();
  };
  const report = await workspace.apply(plan, { newLedger: true, onEvent });
  await closed;
  expect(report.status).toBe("interrupted");
  await expect(workspace.plan()).rejects.toThrow("the workspace is closed");
});

test.each([
  [{ maxDeletes: Number.NaN }, "maxDeletes"],
  [{ maxDeletes: 101 }, "maxDeletes"],
  [{ removeDrafts: "false" }, "removeDrafts"],
  [{ newLedger: "no" }, "newLedger"],
  [{ maxCalls: 0 }, "maxCalls"],
])("apply rejects an invalid option: %j", async (options, name) => {
  const plan = await workspace.plan();
  const given: object = options;
  await expect(workspace.apply(plan, given)).rejects.toThrow(`option ${name}: `);
  expect(sandbox.state().attachments).toEqual([]);
});

test("rejects options that do not exist", async () => {
  const misspelled: object = { maxCall: 5 };
  const plan = await workspace.plan();
  await expect(workspace.apply(plan, misspelled)).rejects.toThrow("apply has no option maxCall");
  await expect(workspace.plan(misspelled)).rejects.toThrow("plan has no option maxCall");
  await expect(openWorkspace(misspelled)).rejects.toThrow("openWorkspace has no option maxCall");
  expect(sandbox.state().attachments).toEqual([]);
});

test("plan rejects an empty list of targets", async () => {
  await expect(workspace.plan({ targets: [] })).rejects.toThrow("leave it out to plan everything");
});

test("an exception in an event handler is thrown at the end and leaves nothing in doubt", async () => {
  const onEvent = ({ type }: { readonly type: string }) => {
    if (type === "call_finished") throw new Error("handler");
  };
  const applied = workspace.apply(await workspace.plan(), { newLedger: true, onEvent });
  await expect(applied).rejects.toThrow("handler");
  expect((await workspace.plan()).changes).toEqual([]);
});

test("drift reports changes made outside draftsync", async () => {
  await workspace.apply(await workspace.plan(), { newLedger: true });
  const place = { draftId: 2, kind: "promotional_file", fileId: 9 } as const;
  sandbox.detach(place);
  const { drift } = await workspace.drift({ probe: true });
  expect(drift).toMatchObject([{ address: "drafts/2/promotional_files/9", type: "gone" }]);
});

test("manifest errors are thrown with their lines, and writeManifest keeps a good manifest", async () => {
  const path = join(folder.path, "manifests/a.yaml");
  const before = await readFile(path, "utf8");
  expect(await writeManifest(path, [dragon, tower])).toBe(false);
  expect(await writeManifest(path, [dragon])).toBe(true);
  await writeFile(path, "draft: 1\n");
  await expect(writeManifest(path, [dragon])).rejects.toMatchObject({ code: "manifest-by-hand" });
  expect(await readFile(path, "utf8")).toBe("draft: 1\n");
  await rm(path);
  await writeManifest(path, [dragon, tower]);
  const twice = { ...dragon, product_files: [{ file_id: 7 }, { file_id: 7 }] };
  const wrong = writeManifest(path, [tower, twice]);
  await expect(wrong).rejects.toMatchObject({ diagnostics: [{ place: { file: "a.yaml" } }] });
  expect(await readFile(path, "utf8")).toBe(before);
  await folder.write({ "manifests/b.yaml": "draft: 1\n" });
  await expect(workspace.plan()).rejects.toMatchObject({ name: "DiagnosticsError" });
});

test("the example policy refuses a plan that breaks its rules and names each violation", async () => {
  const check = (plan: Plan) => {
    const script = join(repository, "examples/policy/check-plan.mjs");
    return spawnSync(process.execPath, [script], { input: JSON.stringify(plan), encoding: "utf8" });
  };
  const good = check(await workspace.plan());
  expect([good.status, good.stderr]).toEqual([0, "The plan follows the rules.\n"]);
  await workspace.apply(await workspace.plan(), { newLedger: true });
  await writeDrafts(
    { draft: 1, title: "Dragon", product_files: [] },
    { draft: 3, promotional_files: [{ file_id: 4 }] },
    ...[11, 12, 13, 14, 15, 16].map((draft) => defineDraft({ draft, publish: true })),
  );
  const bad = check(await workspace.plan());
  expect(bad.status).toBe(1);
  expect(bad.stderr.split("\n")).toEqual([
    "error: drafts/1/product_files/7 (Dragon): a product file may not be deleted",
    "error: drafts/3/promotional_files/4: a promotional file needs a description",
    "error: 6 publishes: more than 5 in one plan",
    "3 violations.",
    "",
  ]);
});
