import { execFileSync } from "node:child_process";
import { hostname, userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";

let folder: Folder;
const run = (...args: string[]) => draftsync(args, { cwd: folder.path });
const historyOf = async (...args: string[]) => {
  const { code, stdout } = await run("history", "--json", ...args);
  expect(code).toBe(0);
  return JSON.parse(stdout).runs;
};

const manifest = (renderer: string) => `
draft: 1
product_files: [{ file_id: 11, renderer: ${renderer} }, { source: a.glb }]
publish: true
`;

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": manifest("arnold"),
    "manifests/a.glb": "content",
  });
  await run("apply", "--auto-approve");
  await folder.write({ "manifests/a.yaml": manifest("karma") });
  await run("apply", "--auto-approve");
});
afterAll(() => folder.dispose());

const file = "drafts/1/product_files/11";

describe("history", () => {
  test("lists runs and their calls, oldest first", async () => {
    const { code, stdout } = await run("history");
    expect(code).toBe(0);
    const withoutStarters = stdout.replaceAll(/^ {2}by .*\n/gm, "");
    const shape = withoutStarters.replaceAll(
      /\d{4}-\d\d-\d\d |\d\d:\d\d:\d\d|[\d.]+ m?s\b|[0-9a-f-]{36}/g,
      "…",
    );
    // Concurrent attachments have no order.
    const lines = shape.trim().split("\n");
    expect([...lines.slice(0, 2), ...lines.slice(2, 4).sort(), ...lines.slice(4)]).toEqual([
      "…… UTC  apply  done, 3 done, 6 calls, in …  …",
      "  …  upload     uploads/manifests/a.glb                                 done      201, …",
      "  …  attach     drafts/1/product_files/11 · a.yaml                      done      201, …",
      "  …  attach     drafts/1/product_files/source:manifests/a.glb · a.yaml  done      201, …",
      "  …  publish    drafts/1/product · a.yaml                               done      201, …, product 9000000001",
      "",
      "…… UTC  apply  done, 1 done, 1 call, in …  …",
      '  …  update     drafts/1/product_files/11 · a.yaml  done      200, …, renderer "karma"',
    ]);
  });

  test("distinguishes an empty history from a filter without matches", async () => {
    expect((await run("history", "--run", "none")).stderr).toBe("No matching runs.\n");
    expect((await run("history", "--state", "other.db")).stderr).toContain("No runs yet.\n");
  });

  test("filters by address, run, time, outcome and limit", async () => {
    const all = await historyOf();
    expect(all).toHaveLength(2);
    const [first, second] = all;
    expect(await historyOf(file)).toEqual([
      { ...first, operations: [expect.objectContaining({ kind: "attach", address: file })] },
      second,
    ]);
    expect(await historyOf("--run", second.run_id.slice(0, 8))).toEqual([second]);
    expect(await historyOf("--limit", "1")).toEqual([second]);
    expect(await historyOf("--since", "1h")).toEqual(all);
    expect(await historyOf("--since", "2999-01-01")).toEqual([]);
    expect(await historyOf("--outcome", "rejected")).toEqual([]);
  });

  test.each([
    [["--limit", "0"], "--limit must be a positive integer"],
    [["--since", "soon"], "--since must be a duration or a time"],
    [["--outcome", "lost"], "Allowed choices"],
  ])("rejects %j and names the allowed values", async (args, message) => {
    expect(await run("history", ...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    });
  });
});

test("state show lists every operation at an address", async () => {
  const { stdout } = await run("state", "show", file);
  expect(stdout).toContain(`${file} · a.yaml  attachment, confirmed by PATCH`);
  expect(stdout).toMatch(/UTC {2}attach .* done .*\n.*UTC {2}update .* done/);
  const { entries, operations } = JSON.parse((await run("state", "show", file, "--json")).stdout);
  expect(entries).toHaveLength(1);
  expect(operations.map(({ kind }: { kind: string }) => kind)).toEqual(["attach", "update"]);
});

describe("state rm and mv", () => {
  test("mv records a file at another address, and the next plan is empty", async () => {
    const to = "drafts/1/product_files/source:manifests/b.glb";
    expect(await run("state", "mv", "drafts/1/product_files/source:manifests/a.glb", to)).toMatchObject({
      code: 0,
    });
    expect((await run("state", "list")).stdout).toContain(to);
    await folder.write({
      "manifests/b.glb": "content",
      "manifests/a.yaml": manifest("karma").replace("a.glb", "b.glb"),
    });
    expect((await run("plan")).stdout).toContain("No changes.");
  });

  test("rm removes a record, and the next apply adopts the file that is still attached", async () => {
    expect(await run("state", "rm", file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[approval-needed]"),
    });
    expect(await run("state", "rm", file, "--auto-approve")).toMatchObject({ code: 0 });
    expect((await run("state", "show", file)).stdout).toContain("The ledger has no record any more.");
    expect(await run("apply", "--auto-approve")).toMatchObject({ code: 0 });
    expect((await run("state", "show", file)).stdout).toContain("attachment, confirmed by PATCH");
    const commands = (await historyOf()).map(({ command }: { command: string }) => command);
    expect(commands).toEqual(["apply", "apply", "state mv", "state rm", "apply"]);
  });

  test.each([
    [["rm", "drafts/1/product", "--auto-approve"], "would publish it again"],
    [
      ["rm", "drafts/9/product_files/1", "--auto-approve"],
      "the ledger has no resource at drafts/9/product_files/1",
    ],
    [["mv", "drafts/9/product_files/1", file], "the ledger has no resource at drafts/9/product_files/1"],
    [
      ["mv", file, "drafts/2/product_files/11"],
      "not a valid address for file 11 in product_files of draft 1",
    ],
    [["mv", "drafts/1/product", file], "is the product of its draft and cannot be moved"],
  ])("refuses state %j and changes nothing", async (args, message) => {
    const before = (await run("state", "export")).stdout;
    expect(await run("state", ...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    const after = (await run("state", "export")).stdout;
    expect(JSON.parse(after)).toEqual(JSON.parse(before));
  });
});

test("rm of a duplicate warns that apply copies it again and names the command that records it; mv renames it", async () => {
  const shop = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": "duplicates: [{ name: copy, product: 5 }]\n",
  });
  onTestFinished(() => shop.dispose());
  const draft = (...args: string[]) => draftsync(args, { cwd: shop.path });
  await draft("apply", "--auto-approve", "--new-ledger");
  const rename = (name: string) =>
    shop.write({ "manifests/a.yaml": `duplicates: [{ name: ${name}, product: 5 }]\n` });
  await rename("other");
  for (const args of [["apply"], ["apply", "--target", "duplicates/other"], ["reconcile"]])
    expect((await draft(...args, ...(args[0] === "apply" ? ["--auto-approve"] : []))).stdout).not.toContain(
      "duplicated as",
    );
  expect(await draft("apply", "--auto-approve", "--target", "duplicates/other")).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("[removed-duplicates]"),
  });
  expect((await draft("state", "mv", "duplicates/copy", "drafts/1/product")).code).toBe(1);
  expect((await draft("state", "mv", "duplicates/copy", "duplicates/other")).code).toBe(0);
  expect((await draft("plan")).stdout).toContain("No changes.");
  await rename("copy");
  expect((await draft("state", "mv", "duplicates/other", "duplicates/copy")).code).toBe(0);
  const { stderr } = await draft("state", "rm", "duplicates/copy", "--auto-approve");
  expect(stderr).toContain("the next apply copies the product again");
  const resolve = /draftsync (resolve duplicates\/copy --product-id 9000000001)/.exec(stderr)?.[1] ?? "";
  expect(await draft(...resolve.split(" "))).toMatchObject({ code: 0 });
  expect((await draft("plan")).stdout).toContain("No changes.");
});

test("history records the user, host, CI job and commit of a run", async () => {
  const shop = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": "draft: 1\npromotional_files: [{ file_id: 5 }]\n",
    ".gitignore": ".draftsync\n",
  });
  onTestFinished(() => shop.dispose());
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@example.com", ...args], {
      cwd: shop.path,
      encoding: "utf8",
    }).trim();
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  const env = { CI_JOB_URL: "https://me:secret@ci.example.com/jobs/7" };
  const there = (...args: string[]) => draftsync(args, { cwd: shop.path, env });
  await there("apply", "--auto-approve");
  await shop.write({ "manifests/a.yaml": "draft: 1\npromotional_files: []\n" });
  await there("apply", "--auto-approve");
  const commit = git("rev-parse", "HEAD");
  const { runs } = JSON.parse((await there("history", "--format", "json")).stdout);
  const starter = { user: userInfo().username, host: hostname(), ci_job: "https://ci.example.com/jobs/7" };
  expect(runs.map(({ started_by }: { started_by: unknown }) => started_by)).toEqual([
    { ...starter, commit },
    { ...starter, commit: `${commit}-dirty` },
  ]);
  const by = `by ${starter.user} on ${starter.host}, commit ${commit.slice(0, 12)}`;
  expect((await there("history")).stdout).toContain(`${by}-dirty, https://ci.example.com/jobs/7`);
  const [, last] = runs;
  expect((await there("history", "--run", last.run_id, "--html")).stdout).toContain(by);
  const { stdout } = await there("state", "export");
  await shop.write({ "ledger.json": stdout });
  const copy = ["--state", "copy.db"];
  expect((await there("state", "import", "ledger.json", ...copy)).code).toBe(0);
  expect((await there("history", ...copy)).stdout).toContain(`${by}, https://`);
});
