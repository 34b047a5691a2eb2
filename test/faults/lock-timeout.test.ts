import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";
import { lockRequest, onMachine } from "../unit/ledger/ledger-lock-suite.ts";
import { lockPlace } from "../unit/ledger/samples.ts";

const { proxy, folder, run, start, apply, holdApply } = useWorkspace({
  files: {
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n",
    "a.glb": "content",
    "export.json": "{}",
  },
  service: { timeout: "10m" },
});

/** Takes the lock as a process on another machine. */
async function lockElsewhere() {
  await apply();
  const store = await lockPlace(join(folder.path, ".draftsync/state.db")).open(onMachine("another"));
  const { holder } = lockRequest("bob");
  return store.acquireLock(lockRequest("bob", { holder: { ...holder, url: "https://ci.example/17" } }));
}

test("every command that takes the lock waits for --lock-timeout and names the holder", async () => {
  const lease = await lockElsewhere();
  await folder.write({ "ledger.json": (await run("state", "export")).stdout });
  const address = "drafts/1/product_files/1";
  const commands = [
    ["apply", "--auto-approve"],
    ["reconcile"],
    ["import", "--all"],
    ["resolve", address, "--done"],
    ["state", "rm", address, "--auto-approve"],
    ["state", "mv", address, "drafts/1/product_files/source:a.glb"],
    ["state", "import", "ledger.json"],
    ["uploads", "create", "a.glb"],
    ["products", "duplicate", "5", "--auto-approve"],
    ["doctor", "--draft", "1", "--file", "1", "--auto-approve"],
  ];
  for (const args of commands) {
    const { code, stdout, stderr } = await run(...args, "--lock-timeout", "1ms");
    expect({ args, code }).toEqual({ args, code: 6 });
    const output = stdout + stderr;
    expect(output).toContain(
      "waiting up to 1 ms for the lock of bob on build-7 (process 4211, apply), https://ci.example/17",
    );
    expect(output).toContain(
      "timed out waiting for the lock of bob on build-7 (process 4211, apply), held for",
    );
    expect(output).toContain("its lease ends in");
  }
  await lease.release();
});

test("a holder stopped during a commit is named although the whole ledger is locked", async () => {
  const lease = await lockElsewhere();
  const writer = new Database(join(folder.path, ".draftsync/state.db"));
  writer.exec("begin immediate");
  const { code, stderr } = await apply();
  expect({ code }).toEqual({ code: 6 });
  expect(stderr).toContain("the workspace is locked by bob on build-7 (process 4211, apply)");
  writer.exec("rollback");
  writer.close();
  await lease.release();
});

test("a holder that has ended is not named when another program locks the ledger", async () => {
  const holder = await holdApply(1);
  process.kill(holder.pid ?? 0, "SIGKILL");
  await holder.ended;
  const writer = new Database(join(folder.path, ".draftsync/state.db"));
  writer.exec("begin immediate");
  const { code, stderr } = await apply();
  expect(stderr).toContain("[ledger-busy]");
  expect(stderr).not.toContain("the workspace is locked by");
  expect(code).toBe(1);
  writer.exec("rollback");
  writer.close();
});

test("a waiting command continues once the lock is free", async () => {
  const holder = await holdApply(1);
  const waiting = start(["apply", "--auto-approve", "--lock-timeout", "10m"]);
  await expect.poll(waiting.stderr, { timeout: 60_000 }).toContain(`(process ${holder.pid}, apply)`);
  holder.answer();
  expect(await holder.ended).toMatchObject({ code: 0 });
  expect(await waiting.ended).toMatchObject({ code: 0 });
  expect(proxy.seen).toEqual(["POST /api/drafts/1/product_files"]);
});

test("a service that could not release its lock releases it once the ledger is free, and recover goes on", async () => {
  await apply();
  await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 1 }]\n" });
  const writer = new Database(join(folder.path, ".draftsync/state.db"));
  // With the outcome on its way, the ledger is busy for longer than the service waits.
  proxy.choose = () => {
    writer.exec("begin immediate");
    proxy.choose = () => undefined;
    return undefined;
  };
  const service = start(["reconcile", "--interval", "1h"]);
  await expect.poll(service.stderr, { timeout: 90_000 }).toContain("The lock is not released yet");
  writer.exec("rollback");
  writer.close();
  await expect
    .poll(async () => (await run("lock", "status")).stdout, { timeout: 60_000 })
    .toBe("Not locked.\n");
  expect(await run("state", "recover")).toMatchObject({ code: 0 });
  expect(await apply()).toMatchObject({ code: 0 });
  service.kill("SIGTERM");
  await service.ended;
});

test("a service whose ledger was missing for longer releases its lock once the ledger is back", async () => {
  await apply();
  await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 1 }]\n" });
  const [state, away] = [join(folder.path, ".draftsync"), join(folder.path, "away")];
  proxy.choose = () => {
    renameSync(state, away);
    proxy.choose = () => undefined;
    return undefined;
  };
  const service = start(["reconcile", "--interval", "1s"]);
  // It tries to release its lock after 5 s.
  const rounds = () => service.stderr().split("in doubt: recovery-pending").length;
  await expect.poll(rounds, { timeout: 90_000 }).toBeGreaterThan(8);
  for (const name of readdirSync(away)) renameSync(join(away, name), join(state, name));
  await expect
    .poll(async () => (await run("lock", "status")).stdout, { timeout: 60_000 })
    .toBe("Not locked.\n");
  expect(await run("state", "recover")).toMatchObject({ code: 0 });
  service.kill("SIGTERM");
  await service.ended;
});
