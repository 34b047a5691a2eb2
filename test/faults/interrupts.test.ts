import { execFileSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, folder, run, apply, start } = useWorkspace({
  files: {
    "manifests/a.yaml": `draft: 1
product_files: [{ file_id: 1 }, { file_id: 2 }, { file_id: 3 }]
publish: true
---
draft: 2
publish: true
`,
  },
  // Longer than the timeout of the tests, so that only the interrupt can end a call.
  service: { timeout: "10m" },
});

/** Every call takes effect, but of the writes only that of file 1 gets a response. */
function stall(): void {
  proxy.choose = ({ method, body }) =>
    method === "GET" || body.includes('"file_id":1') ? undefined : { type: "answer-held" };
}

const writes = () => proxy.seen.filter((request) => !request.startsWith("GET"));

async function operations() {
  const { stdout } = await run("state", "export");
  const exported: { operations: { address: string; outcome?: string; failure?: { code: string } }[] } =
    JSON.parse(stdout);
  return exported.operations
    .map(({ address, outcome, failure }) => `${address} ${outcome} ${failure?.code ?? ""}`.trim())
    .sort();
}

const accounted = [
  "drafts/1/product_files/1 done",
  "drafts/1/product_files/2 unknown aborted-in-flight",
  "drafts/1/product_files/3 unknown aborted-in-flight",
  "drafts/2/product unknown aborted-in-flight",
];

/** An apply with one recorded attachment and three writes in flight. */
async function startStalled() {
  stall();
  const running = start(["apply", "--auto-approve"]);
  await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain("product_files/1 attached");
  await expect.poll(() => writes().length, { timeout: 60_000 }).toBe(4);
  return running;
}

describe.each(["SIGINT", "SIGTERM"] as const)("%s during apply", (signal) => {
  test("aborts and records calls that a stalled service does not answer within 5 s", async () => {
    const running = await startStalled();
    running.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("did not complete within 5 s: aborting them.");
    expect(writes()).toHaveLength(4);
    expect(await operations()).toEqual(accounted);
    expect((await run("lock", "status")).stdout).toBe("Not locked.\n");
  });

  test("sent twice aborts and records calls immediately, and the next run settles what it can", async () => {
    const running = await startStalled();
    running.kill(signal);
    await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain("Waiting up to 5 s");
    running.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("Aborting requests in flight.");
    expect(stderr).not.toContain("within 5 s.");
    expect(writes()).toHaveLength(4);
    expect(await operations()).toEqual(accounted);
    proxy.choose = () => undefined;
    const again = await apply();
    expect(again.code).toBe(4);
    // The attachments are settled and their draft is published; the publish in doubt is not sent again.
    const published = sandbox.state().products.map(({ draftId }) => draftId);
    expect(new Set(published).size).toBe(published.length);
    expect(again.stdout).toContain("? product");
  });
});

test("a single call that is aborted is in doubt", async () => {
  stall();
  const running = start(["products", "duplicate", "771200", "--auto-approve"]);
  await expect.poll(() => writes().length, { timeout: 60_000 }).toBe(1);
  running.kill("SIGINT");
  await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain("Waiting up to 5 s");
  running.kill("SIGINT");
  const { code, stderr } = await running.ended;
  expect(code).toBe(4);
  expect(stderr).toContain("in doubt, it may have taken effect: ");
  expect(await operations()).toEqual(["products/771200/duplicate unknown aborted-in-flight"]);
});

test("a plan that reads a large source ends at the first interrupt", async () => {
  await folder.write({
    "files/scan.obj": "",
    "manifests/scan.yaml": "draft: 3\nproduct_files: [{ source: ../files/scan.obj }]\n",
  });
  // A sparse file takes no disk space and about a minute to read.
  truncateSync(join(folder.path, "files/scan.obj"), 2 ** 36);
  const running = start(["plan"]);
  await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain("there is no ledger");
  running.kill("SIGINT");
  const { code, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toContain("interrupted while reading the manifests; nothing was changed");
});

test("the last interrupt ends a process that waits for a file that can never be read", async () => {
  execFileSync("mkfifo", [join(folder.path, "plan.json")]);
  const running = start(["apply", "plan.json", "--auto-approve"]);
  // The ledger is opened before the plan is read, and the plan is a pipe without a writer.
  await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain("Created a new ledger");
  for (const message of ["Waiting up to 5 s", "Aborting requests"]) {
    running.kill("SIGINT");
    await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain(message);
  }
  running.kill("SIGINT");
  expect((await running.ended).code).toBe(130);
  expect(proxy.seen).toEqual([]);
});

describe("command that has ended while Node waits for a file that can never be read", () => {
  /** An environment in which Node waits for a pipe. */
  async function hang() {
    const pipe = join(folder.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    await folder.write({ "hang.cjs": `require("node:fs").open(${JSON.stringify(pipe)}, "r", () => {});\n` });
    return { NODE_OPTIONS: `--require ${join(folder.path, "hang.cjs")}` };
  }

  test("exits at an interrupt although a file can never be read", async () => {
    const running = start(["validate"], await hang());
    await expect.poll(() => running.stdout(), { timeout: 60_000 }).toContain("Valid");
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  test("exits at the second interrupt after a failure", async () => {
    await folder.write({ "manifests/bad.yaml": "draft: none\n" });
    const running = start(["validate"], await hang());
    await expect.poll(() => running.stderr(), { timeout: 60_000 }).toContain("bad.yaml");
    const again = setInterval(() => running.kill("SIGINT"), 100);
    await running.ended.finally(() => clearInterval(again));
  });
});
