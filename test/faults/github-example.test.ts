import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { readText } from "../support/source-files.ts";
import { freshSchema } from "../unit/state/samples.ts";
import { type Example, startExample } from "./support/example.ts";
import { type GitHub, repositoryName, startGitHub } from "./support/github.ts";
import { type JobEnd, runWorkflow, type Trigger } from "./support/github-runner.ts";

const file = readText("examples/github/.github/workflows/draftsync.yml");
const marker = "<!-- draftsync:plan workspace=lantern-hill -->";
let example: Example;
let github: GitHub;
let secrets: Record<string, string>;

beforeEach(async () => {
  example = await startExample("github");
  github = await startGitHub();
  secrets = { DRAFTSYNC_API_KEY: example.env.DRAFTSYNC_API_KEY ?? "", DRAFTSYNC_STATE: freshSchema() };
});
afterEach(async () => {
  await github.close();
  await example.close();
});

const run = (trigger: Omit<Trigger, "secrets">, given = secrets) =>
  runWorkflow(file, { example, github }, { ...trigger, secrets: given });

/** A pull request: its run, and that GitHub lists it when it went well. */
async function propose(id: number, sha: string, { number = 12, from = repositoryName } = {}) {
  const fork = from !== repositoryName;
  const ends = await run(
    { event: "pull_request", run: id, sha: `merge${sha}`, pullRequest: { number, from } },
    fork ? {} : secrets,
  );
  if (Object.values(ends).every(({ result }) => result !== "failure"))
    github.runs.unshift({ id, head_sha: sha, head_repository: { full_name: from } });
  return ends;
}

/** The merge of a pull request, which makes a commit of its own. */
function merge(id: number, head: string, { number = 12, attempt = 1 } = {}) {
  github.merged.set(`merged${head}`, { number, head });
  return run({ event: "push", run: id, sha: `merged${head}`, attempt });
}

const resultsOf = (ends: Readonly<Record<string, JobEnd>>) =>
  Object.fromEntries(Object.entries(ends).map(([name, { result }]) => [name, result]));
const comments = (number = 12) => github.comments.get(number)?.map(({ body }) => body) ?? [];
const writes = () => example.arrivals.filter(({ method }) => method !== "GET").length;
const attached = () => example.sandbox.state().attachments.length;
const edit = (text: string) =>
  example.folder.write({ "repository/manifests/chess.yaml": `draft: 48213\nproduct_files: [${text}]\n` });
const failedStep = (end: JobEnd | undefined) => end?.ran.find(({ code }) => code !== 0);

describe("the workflow of examples/github", () => {
  test("plans a pull request into one comment, and applies exactly that plan on merge", async () => {
    const opened = await propose(1, "aaa");
    expect(resultsOf(opened)).toEqual({
      validate: "success",
      plan: "success",
      comment: "success",
      apply: "skipped",
      reconcile: "skipped",
    });
    expect(comments()).toEqual([expect.stringContaining("drafts/48214/product` publishes a product")]);
    expect(comments()[0]?.startsWith(`${marker}\n`)).toBe(true);
    await edit("{ file_id: 9900012 }");
    await propose(2, "bbb");
    expect(comments()).toEqual([expect.stringContaining("9900012")]);
    expect(writes()).toBe(0);

    // What is checked out at the merge counts for nothing: the plan is what was reviewed.
    await edit("{ file_id: 9900099 }");
    const merged = await merge(3, "bbb");
    expect(resultsOf(merged)).toMatchObject({ plan: "skipped", apply: "success", comment: "skipped" });
    const { attachments, products } = example.sandbox.state();
    expect(attachments.map(({ fileId }) => fileId)).toEqual(expect.arrayContaining([9900012]));
    expect(attachments).toHaveLength(2);
    expect(products).toHaveLength(1);
    expect(await example.installed()).toEqual(["draftsync@0.1.0"]);
    expect(github.artifacts.map(({ name }) => name)).toEqual(["draftsync-plan", "draftsync-plan"]);
    const page = await readFile(join(github.artifacts[1]?.folder ?? "", "plan.html"), "utf8");
    expect(page).toMatch(/^<!doctype html>/i);
    expect(page).toContain("9900012");
  });

  test("refuses a stale plan, tells what is left, and carries that out when it is run again", async () => {
    await propose(1, "aaa");
    const byHand = ["apply", "--auto-approve", "--target", "drafts/48214"];
    const env = { ...example.env, ...secrets };
    expect(await draftsync(byHand, { cwd: example.path, env })).toMatchObject({ code: 0 });
    const before = writes();
    const merged = await merge(2, "aaa");
    expect(failedStep(merged.apply)).toMatchObject({
      code: 6,
      run: "draftsync apply plan.json --auto-approve",
    });
    expect(resultsOf(merged)).toMatchObject({ apply: "failure", comment: "success" });
    expect(writes()).toBe(before);
    expect(comments()).toEqual([
      expect.stringContaining("drafts/48214"),
      expect.stringContaining(
        `Re-running the failed jobs of that run carries out exactly this plan.\n\n${marker}`,
      ),
    ]);
    expect(comments()[1]).not.toContain("drafts/48214");
    expect(attached()).toBe(1);

    const again = await merge(2, "aaa", { attempt: 2 });
    expect(resultsOf(again)).toMatchObject({ apply: "success", comment: "skipped" });
    expect(attached()).toBe(3);
    expect(github.artifacts.map(({ name }) => name)).toEqual(["draftsync-plan", "draftsync-rest-1"]);
  });

  test("gives forks no key, and does not take a plan from their runs", async () => {
    const from = "somebody/drafts";
    const ends = await propose(1, "aaa", { from });
    expect(resultsOf(ends)).toMatchObject({ validate: "success", plan: "skipped", comment: "skipped" });
    expect(comments()).toEqual([]);
    // A fork may change its workflow so that it uploads what it likes.
    github.artifacts.push({ id: 9, run: 1, name: "draftsync-plan", expired: false, folder: example.path });
    const merged = await merge(2, "aaa");
    expect(failedStep(merged.apply)?.stdout).toContain("::error::There is no plan of aaa");
    expect(writes()).toBe(0);
  });

  test("applies nothing that came by no pull request", async () => {
    const pushed = await run({ event: "push", run: 1, sha: "direct" });
    expect(failedStep(pushed.apply)?.stdout).toContain("::error::This commit came by no pull request");
    expect(resultsOf(pushed)).toMatchObject({ apply: "failure", comment: "skipped" });
    expect(writes()).toBe(0);
  });

  test("reconciles on a schedule, and by hand from the default branch alone, what the policy allows", async () => {
    const elsewhere = await run({ event: "workflow_dispatch", run: 1, sha: "x", ref: "refs/heads/mine" });
    expect(resultsOf(elsewhere)).toMatchObject({ reconcile: "skipped" });
    const ends = await run({ event: "schedule", run: 2, sha: "x" });
    expect(resultsOf(ends)).toMatchObject({ reconcile: "success", apply: "skipped", plan: "skipped" });
    expect(attached()).toBe(3);
    expect(example.sandbox.state().products).toEqual([]);
  });

  test("keeps what the ledger could not record, and asks for a ledger that lasts", async () => {
    const { DRAFTSYNC_STATE: _none, ...key } = secrets;
    const ends = await run({ event: "schedule", run: 1, sha: "x" }, key);
    expect(failedStep(ends.reconcile)?.stdout).toContain("::error::Set the secret DRAFTSYNC_STATE.");
    const waiting = {
      "repository/.draftsync/recovery/lantern-hill.3f0c1d2e-5a6b-4c7d-8e9f-0a1b2c3d4e5f.json": "{}\n",
    };
    await example.folder.write(waiting);
    await run({ event: "schedule", run: 2, sha: "x" });
    expect(github.artifacts.map(({ name }) => name)).toEqual(["draftsync-recovery-2-1"]);
  });
});
