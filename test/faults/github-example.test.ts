import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { readText } from "../support/source-files.ts";
import { type Example, startExample } from "./support/example.ts";
import { type GitHub, repositoryName, startGitHub } from "./support/github.ts";
import { type JobEnd, runWorkflow, type Trigger } from "./support/github-runner.ts";
import { makeLedgerRoles } from "./support/ledger-roles.ts";

const file = readText("examples/github/.github/workflows/draftsync.yml");
const marker = "<!-- draftsync:plan workspace=lantern-hill -->";
let example: Example;
let github: GitHub;
/** Secrets of the repository (for plan jobs), and of both environments. */
let secrets: { DRAFTSYNC_STATE_READ: string };
let protectedSecrets: { DRAFTSYNC_API_KEY: string; DRAFTSYNC_STATE: string };

beforeEach(async () => {
  example = await startExample("github");
  github = await startGitHub();
  const { read, write } = await makeLedgerRoles("github");
  secrets = { DRAFTSYNC_STATE_READ: read };
  protectedSecrets = { DRAFTSYNC_API_KEY: example.env.DRAFTSYNC_API_KEY ?? "", DRAFTSYNC_STATE: write };
});
afterEach(async () => {
  await github.close();
  await example.close();
});

type Given = Omit<Trigger, "secrets" | "environments">;
const run = (trigger: Given, { fork = false, environments = ["draftsync", "draftsync-reconcile"] } = {}) =>
  runWorkflow(
    file,
    { example, github },
    {
      ...trigger,
      secrets: fork ? {} : secrets,
      environments: Object.fromEntries(environments.map((name) => [name, protectedSecrets])),
    },
  );

/** Runs a pull request; GitHub lists the run if it succeeds. */
async function propose(id: number, sha: string, { number = 12, from = repositoryName, newest = sha } = {}) {
  const fork = from !== repositoryName;
  github.heads.set(number, newest);
  const ends = await run(
    { event: "pull_request", run: id, sha: `merge${sha}`, pullRequest: { number, from, head: sha } },
    { fork },
  );
  if (Object.values(ends).every(({ result }) => result !== "failure"))
    github.runs.unshift({ id, head_sha: sha, head_repository: { full_name: from } });
  return ends;
}

/** Merges a pull request, which creates a merge commit. */
function merge(id: number, head: string, { number = 12, attempt = 1 } = {}) {
  github.merged.set(`merged${head}`, { number, head });
  return run({ event: "push", run: id, sha: `merged${head}`, attempt });
}

/** A run that an operator starts on the default branch. */
const dispatch = (id: number, inputs: Record<string, string | boolean>, ref = "refs/heads/main") =>
  run({ event: "workflow_dispatch", run: id, sha: "x", ref, inputs });

const resultsOf = (ends: Readonly<Record<string, JobEnd>>) =>
  Object.fromEntries(Object.entries(ends).map(([name, { result }]) => [name, result]));
const comments = (number = 12) => github.comments.get(number)?.map(({ body }) => body) ?? [];
const writes = () => example.arrivals.filter(({ method }) => method !== "GET").length;
const attached = () => example.sandbox.state().attachments.length;
const edit = (text: string) =>
  example.folder.write({ "repository/manifests/chess.yaml": `draft: 48213\nproduct_files: [${text}]\n` });
const failedStep = (end: JobEnd | undefined) => end?.ran.find(({ code }) => code !== 0);

describe("workflow of examples/github", () => {
  test("plans a pull request into one comment and applies exactly that plan on merge", async () => {
    const opened = await propose(1, "aaa");
    expect(resultsOf(opened)).toEqual({
      validate: "success",
      plan: "success",
      comment: "success",
      apply: "skipped",
      rest: "skipped",
      reconcile: "skipped",
      resolve: "skipped",
    });
    // A pull request can change the code that runs, so its only secret is the read-only role.
    expect(opened.plan?.secrets).toEqual(["DRAFTSYNC_STATE_READ"]);
    expect(example.arrivals).toEqual([]);
    expect(comments()).toEqual([expect.stringContaining("drafts/48214/product` publishes a product")]);
    expect(comments()[0]?.startsWith(`${marker}\n`)).toBe(true);
    await edit("{ file_id: 9900012 }");
    await propose(2, "bbb");
    expect(comments()).toEqual([expect.stringContaining("9900012")]);
    expect(writes()).toBe(0);

    // Another merge may declare other drafts.
    await example.folder.write({ "repository/manifests/later.yaml": "draft: 48299\nproduct_files: []\n" });
    const merged = await merge(3, "bbb");
    expect(resultsOf(merged)).toMatchObject({ plan: "skipped", apply: "failure" });
    expect(failedStep(merged.apply)).toMatchObject({ code: 5 });
    const { attachments, products } = example.sandbox.state();
    expect(attachments.map(({ fileId }) => fileId)).toEqual(expect.arrayContaining([9900012]));
    expect([attachments.length, products.length]).toEqual([2, 0]);
    expect(github.artifacts.slice(0, 2).map(({ name }) => name)).toEqual([
      "draftsync-plan-12",
      "draftsync-plan-12",
    ]);
    const page = await readFile(join(github.artifacts[1]?.folder ?? "", "plan.html"), "utf8");
    expect(page).toMatch(/^<!doctype html>/i);
    expect(page).toContain("9900012");
    // A new ledger publishes only after an operator confirms it, with the plan of the remaining changes.
    const confirmed = await dispatch(4, { job: "apply", pull_request: "12", run: "3", new_ledger: true });
    expect(resultsOf(confirmed)).toMatchObject({ apply: "success" });
    expect(example.sandbox.state().products).toHaveLength(1);
  });

  test("leaves the comment to the run of the newest commit", async () => {
    await propose(1, "bbb");
    await edit("{ file_id: 9900012 }");
    expect(resultsOf(await propose(2, "aaa", { newest: "bbb" }))).toMatchObject({ comment: "success" });
    expect(comments()).toEqual([expect.not.stringContaining("9900012")]);
  });

  test("ignores the plan of a second pull request of the same branch", async () => {
    await edit("{ file_id: 9900012 }");
    await propose(1, "aaa", { number: 12 });
    await example.folder.write({
      "repository/manifests/later.yaml": "draft: 5\nproduct_files: [{ file_id: 51 }]\n",
    });
    await propose(2, "aaa", { number: 13 });
    await example.folder.remove("repository/manifests/later.yaml");
    const merged = await merge(3, "aaa");
    expect(failedStep(merged.apply)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("[new-ledger]"),
    });
    expect(
      example.sandbox
        .state()
        .attachments.map(({ draftId }) => draftId)
        .sort(),
    ).toEqual([48213, 48214]);
  });

  test("applies nothing that the default branch took back before it was approved", async () => {
    await propose(1, "aaa");
    await edit("{ file_id: 9900099 }");
    const merged = await merge(2, "aaa");
    expect(failedStep(merged.apply)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("what the manifests declare for drafts/48213 has changed"),
    });
    expect(resultsOf(merged)).toMatchObject({ rest: "success", comment: "success" });
    expect(writes()).toBe(0);
    expect(comments()[1]).toContain("9900099");
  });

  test("refuses a stale plan, comments with the remaining changes, and applies them on a re-run", async () => {
    await propose(1, "aaa");
    const singleCall = ["apply", "--auto-approve", "--target", "drafts/48214"];
    const env = { ...example.env, ...protectedSecrets };
    expect(await draftsync(singleCall, { cwd: example.path, env })).toMatchObject({ code: 0 });
    const before = writes();
    const merged = await merge(2, "aaa");
    expect(failedStep(merged.apply)).toMatchObject({
      code: 6,
      run: expect.stringContaining("draftsync apply plan.json --auto-approve"),
    });
    expect(resultsOf(merged)).toMatchObject({ apply: "failure", rest: "success", comment: "success" });
    expect(writes()).toBe(before);
    expect(comments()).toEqual([
      expect.stringContaining("drafts/48214"),
      expect.stringContaining(
        "Re-running the failed jobs of that run applies exactly this plan; " +
          `if the ledger is new, start the job apply with this number, run 2 and new_ledger instead.\n\n${marker}`,
      ),
    ]);
    expect(comments()[1]).not.toContain("drafts/48214");
    expect(attached()).toBe(1);

    const again = await merge(2, "aaa", { attempt: 2 });
    expect(resultsOf(again)).toMatchObject({ apply: "success", rest: "skipped", comment: "skipped" });
    expect(attached()).toBe(3);
    expect(github.artifacts.map(({ name }) => name)).toEqual([
      "draftsync-plan-12",
      "draftsync-unread-1",
      "draftsync-rest-1",
    ]);
  });

  test("does not apply a plan of remaining changes that no comment showed", async () => {
    await propose(1, "aaa");
    await edit("{ file_id: 9900099 }");
    github.fails.add("POST issues/12/comments");
    expect(resultsOf(await merge(2, "aaa"))).toMatchObject({ rest: "success", comment: "failure" });
    const again = await merge(2, "aaa", { attempt: 2 });
    expect(failedStep(again.apply)).toMatchObject({ code: 6 });
    expect(writes()).toBe(0);
  });

  test("gives forks no key and accepts no plan from their runs", async () => {
    const from = "fork/drafts";
    const ends = await propose(1, "aaa", { from });
    expect(resultsOf(ends)).toMatchObject({ validate: "success", plan: "skipped", comment: "skipped" });
    expect(comments()).toEqual([]);
    // A fork can change its workflow and upload any artifact.
    github.artifacts.push({ id: 9, run: 1, name: "draftsync-plan-12", expired: false, folder: example.path });
    const merged = await merge(2, "aaa");
    expect(failedStep(merged.apply)?.stdout).toContain("::error::There is no plan of aaa");
    expect(writes()).toBe(0);
  });

  test("applies nothing for a push without a pull request", async () => {
    const pushed = await run({ event: "push", run: 1, sha: "direct" });
    expect(failedStep(pushed.apply)?.stdout).toContain("::error::No pull request merged into main");
    expect(resultsOf(pushed)).toMatchObject({ apply: "failure", comment: "skipped" });
    expect(writes()).toBe(0);
  });

  test("reconciles on a schedule without waiting for the reviewers of the apply environment", async () => {
    const ends = await run(
      { event: "schedule", run: 2, sha: "x" },
      { environments: ["draftsync-reconcile"] },
    );
    expect(resultsOf(ends)).toMatchObject({ reconcile: "success", apply: "skipped", plan: "skipped" });
    expect(attached()).toBe(3);
    expect(example.sandbox.state().products).toEqual([]);
  });

  test("lets an operator start a job on the default branch only", async () => {
    for (const job of ["reconcile", "apply", "resolve"]) {
      const elsewhere = await dispatch(1, { job }, "refs/heads/mine");
      expect(Object.values(elsewhere).map(({ result }) => result)).not.toContain("success");
    }
    expect(resultsOf(await dispatch(2, { job: "reconcile" }))).toMatchObject({ reconcile: "success" });
    expect(attached()).toBe(3);
  });

  test("lets an operator apply the plan of a merged pull request again", async () => {
    await propose(1, "aaa");
    github.merged.set("mergedaaa", { number: 12, head: "aaa" });
    const unmerged = await dispatch(3, { job: "apply", pull_request: "1" });
    expect(failedStep(unmerged.apply)?.stdout).toContain("::error::No pull request merged into main");
    const unnamed = await dispatch(4, { job: "apply", pull_request: "1/files" });
    expect(failedStep(unnamed.apply)?.stdout).toContain("::error::Give the number of a merged pull request.");
    // Everyone with push access can upload any artifact in a run of a pull request.
    github.artifacts.push({ id: 9, run: 1, name: "draftsync-rest-1", expired: false, folder: example.path });
    const untrusted = await dispatch(6, { job: "apply", pull_request: "12", run: "1" });
    expect(failedStep(untrusted.apply)?.stdout).toContain("::error::Run 1 has no plan of remaining changes");
    expect(writes()).toBe(0);
    const started = await dispatch(5, { job: "apply", pull_request: "12", new_ledger: true });
    expect(resultsOf(started)).toMatchObject({ apply: "success", rest: "skipped" });
    expect(attached()).toBe(3);
  });

  test("lets an operator resolve an operation in doubt, and no shell interprets the inputs", async () => {
    const env = { ...example.env, ...protectedSecrets };
    const state = () => draftsync(["state", "list"], { cwd: example.path, env });
    await state();
    const address = 'drafts/1/product"; touch injected; $(touch injected) `touch injected` #';
    const injected = await dispatch(1, { job: "resolve", address, outcome: "not-done" });
    expect(failedStep(injected.resolve)?.stderr).toContain("[nothing-in-doubt]");
    const unsure = await dispatch(2, { job: "resolve", address: "drafts/48214/product", outcome: "choose" });
    expect(failedStep(unsure.resolve)?.stdout).toContain("::error::Choose the outcome");
    const flag = await dispatch(3, { job: "resolve", address: "--help", outcome: "attached" });
    expect(failedStep(flag.resolve)?.stderr).toContain("[nothing-in-doubt]");
    const files = await readdir(example.folder.path, { recursive: true });
    expect(files.filter((name) => name.endsWith("injected"))).toEqual([]);
  });

  test("uploads the recovery log as an artifact and requires a persistent ledger", async () => {
    protectedSecrets = { ...protectedSecrets, DRAFTSYNC_STATE: "" };
    const ends = await run({ event: "schedule", run: 1, sha: "x" });
    expect(failedStep(ends.reconcile)?.stdout).toContain("::error::Set the secret DRAFTSYNC_STATE");
    const waiting = {
      "repository/.draftsync/lantern-hill-1a2b3c4d.recovery.ndjson": "{}\n",
    };
    await example.folder.write(waiting);
    await run({ event: "schedule", run: 2, sha: "x" });
    expect(github.artifacts.map(({ name }) => name)).toEqual(["draftsync-recovery-2-1"]);
  });

  test("installs nothing that differs from the lockfile", async () => {
    const lock = "repository/package-lock.json";
    const changed = (await example.folder.read(lock)).replace(/sha512-.{10}/, "sha512-AAAAAAAAAA");
    await example.folder.write({ [lock]: changed });
    const ends = await propose(1, "aaa");
    expect(failedStep(ends.validate)?.stderr).toContain("EINTEGRITY");
    expect(resultsOf(ends)).toMatchObject({ validate: "failure", plan: "skipped" });
  });
});
