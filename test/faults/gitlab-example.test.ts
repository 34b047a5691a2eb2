import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { draftsync } from "../support/cli.ts";
import { listenLocally } from "../support/listen.ts";
import { freshSchema } from "../unit/state/samples.ts";
import { type Example, runProgram, startExample } from "./support/example.ts";

const marker = "<!-- draftsync:plan workspace=lantern-hill -->";
const token = "glpat-of-the-project";
/** Holds a pipeline against GitLab's JSON Schema, puts it together and chooses its jobs as GitLab does. */
const runner = createRequire(import.meta.url).resolve("gitlab-ci-local/dist/index.js");
/** It is written for Node 22. */
const missing = "Set.prototype.union ??= function (other) { return new Set([...this, ...other]); };";

let example: Example;
let server: Server;
let port: number;
let secrets: Record<string, string>;
/** What GitLab answers, by method and path. */
let answers: Record<string, unknown>;
let notes: { id: number; author: { id: number }; body: string }[];

beforeEach(async () => {
  example = await startExample("gitlab");
  notes = [];
  answers = { "GET /user": { id: 7 } };
  server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://gitlab");
    const path = pathname.replace("/api/v4", "").replace("/projects/5", "");
    let sent = "";
    for await (const part of request) sent += part;
    const found =
      request.headers["private-token"] === token ? answer(`${request.method} ${path}`, sent) : undefined;
    response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found ?? {}));
  });
  port = await listenLocally(server);
  secrets = {
    DRAFTSYNC_API_KEY: example.env.DRAFTSYNC_API_KEY ?? "",
    DRAFTSYNC_STATE: freshSchema(),
    DRAFTSYNC_GITLAB_TOKEN: token,
  };
  const git = (...args: string[]) => execFileSync("git", args, { cwd: example.path, stdio: "ignore" });
  git("init", "--initial-branch=main");
  git("remote", "add", "origin", "git@gitlab.example.com:lantern-hill/drafts.git");
  git("add", "--all");
  git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--message=all");
});
afterEach(async () => {
  await new Promise((closed) => server.close(closed));
  await example.close();
});

function answer(name: string, sent: string): unknown {
  const all = "/merge_requests/12/notes";
  if (name === `GET ${all}`) return notes;
  if (name === `POST ${all}`)
    return notes.push({ id: notes.length, author: { id: 7 }, body: JSON.parse(sent).body });
  const note = notes.find(({ id }) => name === `PUT ${all}/${id}`);
  if (note !== undefined) note.body = JSON.parse(sent).body;
  return note ?? answers[name];
}

/** Runs gitlab-ci-local in the repository: what it makes of the pipeline with these variables. */
function gitlab(args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const given = {
    CI_PROJECT_PATH: "lantern-hill/drafts",
    CI_DEFAULT_BRANCH: "main",
    ...variables,
  };
  const flags = Object.entries(given).flatMap(([name, value]) => ["--variable", `${name}=${value}`]);
  const preload = `data:text/javascript,${encodeURIComponent(missing)}`;
  return runProgram(process.execPath, ["--import", preload, runner, ...flags, ...args], {
    cwd: example.path,
    env: example.env,
  });
}

const shellLines = z
  .array(z.string())
  .default([])
  .transform((lines) => lines.join("\n"));
const jobSchema = z.object({ before_script: shellLines, script: shellLines, after_script: shellLines });
const previewSchema = z.looseObject({ variables: z.record(z.string(), z.string()) });

const events = {
  request: {
    CI_PIPELINE_SOURCE: "merge_request_event",
    CI_MERGE_REQUEST_IID: "12",
    CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: "lantern-hill/drafts",
  },
  merge: { CI_PIPELINE_SOURCE: "push", CI_COMMIT_BRANCH: "main" },
  schedule: { CI_PIPELINE_SOURCE: "schedule", CI_COMMIT_BRANCH: "main" },
};

/** The pipeline with everything in its place that is written elsewhere: the same for every test. */
let preview: z.output<typeof previewSchema> | undefined;
async function readPreview() {
  const { stdout } = await gitlab(["--preview", "--no-json-schema-validation"]);
  return previewSchema.parse(parse(stdout.slice(stdout.indexOf("---"))));
}

/** Runs a job as a runner does, in a checkout of its own, which is the `folder`; its scripts are those that GitLab sees. */
async function run(name: string, event: keyof typeof events) {
  preview ??= await readPreview();
  const job = jobSchema.parse(preview[name]);
  const cwd = await mkdtemp(join(example.folder.path, "job-"));
  await cp(example.path, cwd, { recursive: true });
  const { DRAFTSYNC_API_KEY: _key, ...machine } = example.env;
  const env = {
    ...machine,
    ...preview.variables,
    ...secrets,
    ...events[event],
    CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`,
    CI_BUILDS_DIR: example.folder.path,
    CI_PROJECT_ID: "5",
    CI_PIPELINE_ID: "900",
    CI_COMMIT_SHA: "c0ffee",
    CI_JOB_URL: "https://gitlab.example.com/jobs/1",
  };
  const shell = (script: string, more = {}) =>
    runProgram("bash", ["--norc", "-eo", "pipefail", "-c", script], { cwd, env: { ...env, ...more } });
  const ended = await shell(`${job.before_script}\n${job.script}`);
  const status = { CI_JOB_STATUS: ended.code === 0 ? "success" : "failed" };
  const after = await shell(job.after_script, status);
  expect(after.code, after.stderr).toBe(0);
  return { ...ended, folder: cwd };
}

const attached = () => example.sandbox.state().attachments.length;

describe("the pipeline of examples/gitlab", () => {
  test.each([
    { event: events.request, jobs: ["validate", "plan"] },
    {
      event: { ...events.request, CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: "somebody/drafts" },
      jobs: ["validate"],
    },
    { event: events.merge, jobs: ["apply"] },
    { event: events.schedule, jobs: ["reconcile"] },
    { event: { CI_PIPELINE_SOURCE: "push", CI_COMMIT_BRANCH: "mine" }, jobs: [] },
  ])("fits GitLab's schema, and runs $jobs for $event", async ({ event, jobs }) => {
    const { code, stdout, stderr } = await gitlab(
      ["--list-json", ...(jobs.length > 1 ? [] : ["--no-json-schema-validation"])],
      event,
    );
    expect(code, stderr).toBe(0);
    const listed = z
      .array(z.object({ name: z.string(), when: z.string() }))
      .parse(JSON.parse(stdout.slice(stdout.indexOf("[\n"))));
    expect(listed.filter(({ when }) => when !== "never").map(({ name }) => name)).toEqual(jobs);
  });

  test("would not fit with a keyword that there is not", async () => {
    const text = await example.folder.read("repository/.gitlab-ci.yml");
    await example.folder.write({
      "repository/.gitlab-ci.yml": text.replace("resource_group:", "resource_grup:"),
    });
    const { code, stdout, stderr } = await gitlab(["--list-json"], events.merge);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain("'resource_grup' property is not expected");
  });

  test("plans a merge request into one comment, and applies exactly that plan on merge", async () => {
    const { code, folder, stderr } = await run("plan", "request");
    expect(code, stderr).toBe(0);
    expect(notes.map(({ body }) => body)).toEqual([expect.stringContaining("drafts/48214/product")]);
    expect(notes[0]?.body.startsWith(`${marker}\n`)).toBe(true);
    expect((await run("plan", "request")).code).toBe(0);
    expect(notes).toHaveLength(1);
    expect(example.arrivals).toEqual([]);
    expect(await readFile(`${folder}/plan.html`, "utf8")).toMatch(/^<!doctype html>/i);
    merge(await readFile(`${folder}/plan.json`, "utf8"));
    // What is checked out at the merge counts for nothing: the plan is what was reviewed.
    await example.folder.write({ "repository/manifests/chess.yaml": "draft: 48213\nproduct_files: []\n" });
    const applied = await run("apply", "merge");
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    expect(attached()).toBe(3);
    expect(example.sandbox.state().products).toHaveLength(1);
    expect(notes).toHaveLength(1);
    expect(await example.installed()).toEqual(["draftsync@0.1.0"]);
  });

  test("refuses a stale plan, tells what is left, and carries that out when the job is retried", async () => {
    const { folder } = await run("plan", "request");
    merge(await readFile(`${folder}/plan.json`, "utf8"));
    const byHand = ["apply", "--auto-approve", "--target", "drafts/48214"];
    const env = { ...example.env, ...secrets };
    expect((await draftsync(byHand, { cwd: example.path, env })).code).toBe(0);
    const refused = await run("apply", "merge");
    expect(refused.code, refused.stderr).toBe(6);
    expect(attached()).toBe(1);
    expect(notes).toHaveLength(2);
    expect(notes[1]?.body).toContain(`Retrying that job carries out exactly this plan.\n\n${marker}`);
    expect(notes[1]?.body).not.toContain("drafts/48214");
    answers["GET /pipelines/900/jobs"] = [
      { id: 77, name: "apply", artifacts_file: { filename: "artifacts.zip" } },
      { id: 78, name: "validate", artifacts_file: { filename: "artifacts.zip" } },
    ];
    const left = await readFile(`${refused.folder}/plan.json`, "utf8");
    answers["GET /jobs/77/artifacts/plan.json"] = JSON.parse(left);
    const again = await run("apply", "merge");
    expect(again.code, again.stderr).toBe(0);
    expect(attached()).toBe(3);
  });

  const good = { id: 32, status: "success", project_id: 5 };
  test.each([
    { without: "a merge request", pipelines: [good], requests: [] },
    { without: "a plan of its last commit", pipelines: [good, { ...good, id: 33, status: "failed" }] },
    { without: "a plan that was made here", pipelines: [{ ...good, project_id: 6 }] },
  ])("applies nothing without $without", async ({ pipelines, requests }) => {
    merge("{}", pipelines);
    if (requests !== undefined) answers["GET /repository/commits/c0ffee/merge_requests"] = requests;
    const { code, stderr } = await run("apply", "merge");
    expect(code).toBe(1);
    expect(stderr).toContain("nobody has reviewed a plan of this commit");
    expect(example.arrivals).toEqual([]);
  });

  test("reconciles on a schedule what the policy allows", async () => {
    expect((await run("reconcile", "schedule")).code).toBe(0);
    expect(attached()).toBe(3);
    expect(example.sandbox.state().products).toEqual([]);
  });

  test("asks for a ledger that lasts", async () => {
    secrets = { ...secrets, DRAFTSYNC_STATE: "" };
    const { code, stdout } = await run("reconcile", "schedule");
    expect(code).toBe(1);
    expect(stdout).toContain("Set the variable DRAFTSYNC_STATE.");
    expect(example.arrivals).toEqual([]);
  });
});

/** From here on GitLab says that the merge request is merged, and holds this plan of it. */
function merge(plan: string, pipelines: object[] = [{ id: 32, status: "success", project_id: 5 }]) {
  Object.assign(answers, {
    "GET /repository/commits/c0ffee/merge_requests": [
      { iid: 9, state: "closed" },
      { iid: 12, state: "merged" },
    ],
    "GET /pipelines/900/jobs": [],
    "GET /merge_requests/12/pipelines": pipelines,
    "GET /pipelines/32/jobs": [
      { id: 100, name: "validate" },
      { id: 101, name: "plan" },
    ],
    "GET /jobs/101/artifacts/plan.json": JSON.parse(plan),
  });
}
