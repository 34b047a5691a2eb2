import { cp, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, test } from "vitest";
import type { Ended } from "../support/cli.ts";
import { draftsync } from "../support/cli.ts";
import { useWorkspace } from "../support/workspace.ts";

const publish = "POST /api/products";
const manifest = "draft: 1\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\npublish: true\n";

const { sandbox, proxy, folder, options } = useWorkspace({
  files: { "manifests/a.yaml": manifest },
});

interface Circumstances {
  readonly env?: Readonly<Record<string, string>>;
  readonly maxFileBytes?: number;
}

const run = (args: readonly string[], { env, ...more }: Circumstances = {}) =>
  draftsync(args, { ...options(env), ...more });
const apply = (circumstances?: Circumstances) => run(["apply", "--auto-approve"], circumstances);
const ledger = () => join(folder.path, ".draftsync/state.db");

/** Replays saved outcomes and applies until nothing is left: every file is attached and the draft published once. */
async function expectConverged(ended: Ended): Promise<void> {
  if (ended.stderr.includes("[outcome-not-recorded]")) {
    expect(await run(["state", "recover"])).toMatchObject({ code: 0 });
  }
  expect(await apply()).toMatchObject({ code: 0 });
  proxy.seen.splice(0);
  expect(await apply()).toMatchObject({ code: 0 });
  expect(proxy.seen).toEqual([]);
  expect(sandbox.state().attachments.map(({ fileId }) => fileId)).toEqual([1, 2]);
  expect(sandbox.state().products).toHaveLength(1);
}

/** Creates the ledger, so that its file does not have to grow at first. */
async function applyFirstFile(): Promise<void> {
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" });
  await apply();
  await folder.write({ "manifests/a.yaml": manifest });
  proxy.seen.splice(0);
}

describe("full disk", () => {
  test("stops apply before it sends anything if the intent cannot be stored, and a later apply does everything", async () => {
    await applyFirstFile();
    const ended = await apply({ maxFileBytes: 24 });
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/\[ledger-[a-z-]+\]/) });
    expect(proxy.seen).toEqual([]);
    await expectConverged(ended);
  });

  test("leaves no empty ledger file, and a later apply creates the ledger", async () => {
    expect(await apply({ maxFileBytes: 0 })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[ledger-"),
    });
    expect(proxy.seen).toEqual([]);
    expect(await apply()).toMatchObject({ code: 0 });
  });

  test.each([90, 120])("after %i KiB neither loses a request nor sends one twice", async (maxFileBytes) => {
    await applyFirstFile();
    const ended = await apply({ maxFileBytes });
    // 1: nothing was sent; 3: every outcome is recorded; 4: some outcomes are in the recovery log.
    expect([1, 3, 4]).toContain(ended.code);
    expect(ended.code === 1).toBe(proxy.seen.length === 0);
    await expectConverged(ended);
  });
});

describe("ledger that cannot be used", () => {
  test.each([
    {
      name: "damaged in a page",
      code: "ledger-corrupt",
      spoil: async () => {
        const { size } = await stat(ledger());
        const file = await open(ledger(), "r+");
        await file.write(Buffer.alloc(size - 8192, 0x5a), 0, size - 8192, 8192);
        await file.close();
      },
    },
    {
      name: "of a newer draftsync",
      code: "ledger-too-new",
      spoil: async () => {
        const database = new Database(ledger());
        database.exec("insert into schema_migrations values (99, 'later', 0)");
        database.close();
      },
    },
  ])("stops plan and apply before any call when it is $name", async ({ code, spoil }) => {
    await apply();
    await spoil();
    proxy.seen.splice(0);
    for (const args of [["plan"], ["apply", "--auto-approve"]]) {
      const ended = await run(args);
      expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`[${code}]`) });
    }
    expect(proxy.seen).toEqual([]);
  });
});

test("restoring an older ledger adopts what was attached since and detaches nothing", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1, renderer: a }]\n" });
  await apply();
  await cp(ledger(), join(folder.path, "backup.db"));
  await folder.write({
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1, renderer: b }, { file_id: 2 }]\n",
  });
  await apply();
  for (const name of ["state.db-wal", "state.db-shm"])
    await rm(join(folder.path, ".draftsync", name), { force: true });
  await cp(join(folder.path, "backup.db"), ledger());
  proxy.seen.splice(0);
  expect(await apply()).toMatchObject({ code: 0 });
  expect(proxy.seen.filter((request) => request.startsWith("DELETE"))).toEqual([]);
  expect(sandbox.state().attachments).toMatchObject([
    { fileId: 1, attributes: { renderer: "b" } },
    { fileId: 2 },
  ]);
  expect((await run(["plan"])).stdout).toContain("No changes.");
});

/** A process whose wall clock is off by this many hours. */
function clockOff(hours: number): Circumstances {
  const code = `const now = Date.now; Date.now = () => now() + ${hours * 3_600_000};`;
  return { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` } };
}

test.each([5, -5])(
  "a clock that was %i hours off delays and repeats nothing once it is right again",
  async (hours) => {
    let asked = 0;
    proxy.choose = ({ method, path }) => {
      // The publish is rate limited; one attachment is lost and cannot be settled.
      if (`${method} ${path}` === publish)
        return { type: "answer", status: 429, headers: { "retry-after": "1" } };
      if (method === "PATCH") return { type: "answer", status: 500 };
      asked += 1;
      return asked === 1 ? { type: "answer-lost" } : undefined;
    };
    expect(await apply(clockOff(hours))).toMatchObject({ code: 4 });
    proxy.choose = () => undefined;
    proxy.seen.splice(0);
    const ended = await apply();
    expect(ended).toMatchObject({ code: 0 });
    expect(proxy.seen.filter((request) => request.startsWith("POST"))).toEqual([publish]);
    await expectConverged(ended);
  },
);
