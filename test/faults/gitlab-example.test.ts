import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { draftsync } from "../support/cli.ts";
import { listenLocally } from "../support/listen.ts";
import { skipNote } from "../support/shells.ts";
import { readText } from "../support/source-files.ts";
import { type Example, runProgram, startExample } from "./support/example.ts";
import { events, jobSchema, ledgerVariables, previewSchema } from "./support/gitlab.ts";
import { makeLedgerRoles } from "./support/ledger-roles.ts";

const marker = "<!-- draftsync:plan workspace=lantern-hill -->";
const token = "glpat-of-the-project";
const pipeline = readText("examples/gitlab/.gitlab-ci.yml");
/** Validates a pipeline with GitLab's JSON Schema, expands it and selects its jobs as GitLab does. */
const runner = createRequire(import.meta.url).resolve("gitlab-ci-local/dist/index.js");
/** Polyfill: the runner needs Node 22. */
const missing = "Set.prototype.union ??= function (other) { return new Set([...this, ...other]); };";

let example: Example;
let server: Server;
let port: number;
/** Variables of the project by scope. */
let scopes: Record<"draftsync/*" | "draftsync-plan" | "draftsync-comment", Record<string, string>>;
/** Responses of GitLab by method and path. */
let answers: Record<string, unknown>;
/** The plan of the remaining changes. */
let rest: unknown;
let notes: { id: number; author: { id: number }; body: string }[];

beforeEach(async () => {
  example = await startExample("gitlab");
  notes = [];
  answers = { "GET /user": { id: 7 }, "GET /merge_requests/12": { sha: "c0ffee" } };
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
  const { read, write } = await makeLedgerRoles("gitlab");
  scopes = {
    "draftsync/*": { DRAFTSYNC_API_KEY: example.env.DRAFTSYNC_API_KEY ?? "", ...ledgerVariables(write) },
    "draftsync-plan": ledgerVariables(read),
    "draftsync-comment": { DRAFTSYNC_GITLAB_TOKEN: token },
  };
  git("init", "--initial-branch=main");
  git("remote", "add", "origin", "git@gitlab.example.com:lantern-hill/drafts.git");
  await commit({});
});
afterEach(async () => {
  await new Promise((closed) => server.close(closed));
  await example.close();
});

/** Variables of a job in this environment. */
function scoped(environment = ""): Record<string, string> {
  const fits = ([scope]: [string, unknown]) =>
    scope.endsWith("*") ? environment.startsWith(scope.slice(0, -1)) : scope === environment;
  return Object.assign(
    {},
    ...Object.entries(scopes)
      .filter(fits)
      .map(([, variables]) => variables),
  );
}

function answer(name: string, sent: string): unknown {
  const all = "/merge_requests/12/notes";
  if (name === `GET ${all}`) return notes;
  if (name === "GET /jobs/200/artifacts/plan.json") return rest;
  if (name === `POST ${all}`)
    return notes.push({ id: notes.length, author: { id: 7 }, body: JSON.parse(sent).body });
  const note = notes.find(({ id }) => name === `PUT ${all}/${id}`);
  if (note !== undefined) note.body = JSON.parse(sent).body;
  return note ?? answers[name];
}

/** Runs gitlab-ci-local in the repository with these variables. */
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

/** The expanded pipeline, which is the same for every test. */
let preview: z.output<typeof previewSchema> | undefined;
async function readPreview() {
  const { stdout } = await gitlab(["--preview", "--no-json-schema-validation"]);
  return previewSchema.parse(parse(stdout.slice(stdout.indexOf("---"))));
}

interface Surroundings {
  /** The folder of the previous job, with its artifacts. */
  readonly after?: string;
  /** The repository at the commit of the job; absent: the head. */
  readonly checkout?: string;
  /** Inputs of a pipeline that an operator starts. */
  readonly inputs?: Readonly<Record<string, string>>;
}

/** Runs a job of the expanded pipeline in its own checkout; the result has its `folder`. */
async function run(name: string, event: keyof typeof events, { after, inputs, checkout }: Surroundings = {}) {
  preview ??= await readPreview();
  const job = jobSchema.parse(preview[name]);
  const cwd = await mkdtemp(join(example.folder.path, "job-"));
  await cp(checkout ?? example.path, cwd, { recursive: true });
  for (const artifact of ["plan.json", "plan.md", "merge-request.txt"]) {
    if (after !== undefined) await cp(join(after, artifact), join(cwd, artifact)).catch(() => undefined);
  }
  const { DRAFTSYNC_API_KEY: _key, ...machine } = example.env;
  const env = {
    ...machine,
    ...preview.variables,
    ...scoped(job.environment?.name),
    ...events[event],
    ...inputs,
    CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`,
    CI_BUILDS_DIR: example.folder.path,
    CI_DEFAULT_BRANCH: "main",
    CI_PROJECT_ID: "5",
    CI_PIPELINE_ID: "900",
    CI_COMMIT_SHA: "c0ffee",
    CI_PIPELINE_URL: "https://gitlab.example.com/pipelines/900",
    // Of `git fetch`.
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `url.${example.path}.insteadOf`,
    GIT_CONFIG_VALUE_0: "git@gitlab.example.com:lantern-hill/drafts.git",
  };
  const script = `${job.before_script}\n${job.script}`;
  const ended = await runProgram("bash", ["--norc", "-eo", "pipefail", "-c", script], { cwd, env });
  return { ...ended, folder: cwd };
}

/** Runs jobs, each with the artifacts of the previous job; returns the last result. */
async function runAll(names: readonly string[], event: keyof typeof events, inputs = {}) {
  let last: Awaited<ReturnType<typeof run>> | undefined;
  for (const name of names) {
    last = await run(name, event, { inputs, ...(last === undefined ? {} : { after: last.folder }) });
    if (name !== names.at(-1)) expect(last.code, last.stdout + last.stderr).toBe(0);
  }
  if (last === undefined) throw new Error("no job");
  return last;
}

function git(...args: string[]): void {
  execFileSync("git", args, { cwd: example.path, stdio: "ignore" });
}

/** Writes files and commits all, at the head of the default branch. */
async function commit(files: Readonly<Record<string, string>>): Promise<void> {
  await example.folder.write(files);
  git("add", "--all");
  git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--message=all");
}

const attached = () => example.sandbox.state().attachments.length;

const note = skipNote("git");
describe.skipIf(note !== "")(`pipeline of examples/gitlab${note}`, () => {
  test.each([
    { event: events.request, jobs: ["validate", "plan", "comment"] },
    {
      event: { ...events.request, CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: "fork/drafts" },
      jobs: ["validate"],
    },
    { event: events.merge, jobs: ["find", "apply", "rest", "comment-rest"] },
    { event: events.schedule, jobs: ["reconcile"] },
    { event: events.web, jobs: ["reconcile"] },
    { event: { ...events.web, JOB: "apply" }, jobs: ["find", "apply", "rest", "comment-rest"] },
    { event: { ...events.web, JOB: "resolve" }, jobs: ["resolve"] },
    { event: { ...events.web, JOB: "resolve", CI_COMMIT_BRANCH: "mine" }, jobs: [] },
    { event: { CI_PIPELINE_SOURCE: "push", CI_COMMIT_BRANCH: "mine" }, jobs: [] },
  ])("is valid by GitLab's schema and runs $jobs for $event", async ({ event, jobs }) => {
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

  test("is checked against a schema that rejects an unknown keyword", async () => {
    const text = await example.folder.read("repository/.gitlab-ci.yml");
    await example.folder.write({
      "repository/.gitlab-ci.yml": text.replace("resource_group:", "resource_grup:"),
    });
    const { code, stdout, stderr } = await gitlab(["--list-json"], events.merge);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain("'resource_grup' property is not expected");
  });

  test("gives no job both the key and the token, and a merge request neither the key nor a writing role", async () => {
    preview ??= await readPreview();
    const given = (name: string) => Object.keys(scoped(jobSchema.parse(preview?.[name]).environment?.name));
    const ledger = ["DRAFTSYNC_STATE", "DRAFTSYNC_STATE_PASSWORD"];
    expect(given("validate")).toEqual([]);
    for (const name of ["plan", "rest"]) {
      expect(given(name)).toEqual(ledger);
      expect(jobSchema.parse(preview?.[name]).environment?.name).toBe("draftsync-plan");
    }
    for (const name of ["comment", "comment-rest", "find"])
      expect(given(name)).toEqual(["DRAFTSYNC_GITLAB_TOKEN"]);
    for (const name of ["apply", "reconcile", "resolve"])
      expect(given(name)).toEqual(["DRAFTSYNC_API_KEY", ...ledger]);
  });

  test("requests masking only for variables that GitLab can mask", () => {
    const masked = [...pipeline.matchAll(/^# {3}(\S+) +(DRAFTSYNC_\w+) .*masked$/gm)];
    expect(masked).toHaveLength(4);
    for (const [, scope = "", name = ""] of masked) {
      const values = Object.entries(scopes).find(([each]) => each === scope)?.[1];
      // One line of at least 8 characters of the Base64 alphabet, or @ : . ~ - _
      expect(values?.[name]).toMatch(/^[A-Za-z0-9+/=@:.~_-]{8,}$/);
    }
  });

  test("plans a merge request into one comment and applies exactly that plan on merge", async () => {
    const planned = await run("plan", "request");
    expect(planned.code, planned.stderr).toBe(0);
    const { folder } = planned;
    expect((await run("comment", "request", { after: folder })).code).toBe(0);
    expect(notes.map(({ body }) => body)).toEqual([expect.stringContaining("drafts/48214/product")]);
    expect(notes[0]?.body.startsWith(`${marker}\n`)).toBe(true);
    expect((await run("comment", "request", { after: folder })).code).toBe(0);
    expect(notes).toHaveLength(1);
    // A pipeline of an older commit leaves the comment as it is.
    notes = [{ id: 0, author: { id: 7 }, body: `${marker}\nof a newer commit` }];
    answers["GET /merge_requests/12"] = { sha: "decaf" };
    expect((await run("comment", "request", { after: folder })).code).toBe(0);
    expect(notes[0]?.body).toContain("of a newer commit");
    expect(example.arrivals).toEqual([]);
    expect(await readFile(`${folder}/plan.html`, "utf8")).toMatch(/^<!doctype html>/i);
    merge(await readFile(`${folder}/plan.json`, "utf8"));
    // Another merge may declare other drafts.
    await commit({ "repository/manifests/later.yaml": "draft: 48299\nproduct_files: []\n" });
    const applied = await runAll(["find", "apply"], "merge");
    expect(applied.code, applied.stdout + applied.stderr).toBe(5);
    expect([attached(), example.sandbox.state().products.length]).toEqual([3, 0]);
    // A new ledger publishes only after an operator confirms it.
    const inputs = { JOB: "apply", MERGE_REQUEST: "12", NEW_LEDGER: "yes" };
    const confirmed = await runAll(["find", "apply"], "web", inputs);
    expect(confirmed.code, confirmed.stdout + confirmed.stderr).toBe(0);
    expect(example.sandbox.state().products).toHaveLength(1);
    expect(notes).toHaveLength(1);
  });

  test("refuses a stale plan, comments with the remaining changes, and applies them when an operator starts it", async () => {
    const { folder } = await run("plan", "request");
    merge(await readFile(`${folder}/plan.json`, "utf8"));
    const singleCall = ["apply", "--auto-approve", "--target", "drafts/48214"];
    const { DRAFTSYNC_STATE_PASSWORD: PGPASSWORD = "", ...own } = scopes["draftsync/*"];
    const env = { ...example.env, ...own, PGPASSWORD };
    expect((await draftsync(singleCall, { cwd: example.path, env })).code).toBe(0);
    const refused = await runAll(["find", "apply"], "merge");
    expect(refused.code, refused.stderr).toBe(6);
    expect(attached()).toBe(1);
    const commented = await runAll(["find", "rest", "comment-rest"], "merge");
    expect(commented.code, commented.stderr).toBe(0);
    expect(notes).toHaveLength(1);
    expect(notes[0]?.body).toContain(
      `A new pipeline with JOB apply, MERGE_REQUEST 12 and REST 900 applies exactly this plan (with NEW_LEDGER if the ledger is new).\n\n${marker}`,
    );
    expect(notes[0]?.body).not.toContain("drafts/48214");
    rest = JSON.parse(await readFile(`${commented.folder}/plan.json`, "utf8"));
    answers["GET /pipelines/900"] = { id: 900, ref: "mine" };
    answers["GET /pipelines/900/jobs"] = [{ id: 200, name: "rest", artifacts_file: {} }];
    const inputs = { JOB: "apply", MERGE_REQUEST: "12", REST: "900" };
    expect(await run("find", "web", { inputs })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no plan of remaining changes in pipeline 900"),
    });
    answers["GET /pipelines/900"] = { id: 900, ref: "main" };
    const again = await runAll(["find", "apply"], "web", inputs);
    expect(again.code, again.stderr).toBe(0);
    expect(attached()).toBe(3);
  });

  test("lets an operator resolve an operation in doubt, and no shell interprets the inputs", async () => {
    const ADDRESS = 'drafts/1/product"; touch injected; $(touch injected) `touch injected` #';
    const given = { ADDRESS, OUTCOME: "not-attached", PRODUCT_ID: "" };
    expect((await run("reconcile", "web")).code).toBe(0);
    const injected = await run("resolve", "web", { inputs: given });
    expect(injected.stderr).toContain("[nothing-in-doubt]");
    const product = { ...given, OUTCOME: "product", PRODUCT_ID: "1; touch injected" };
    expect((await run("resolve", "web", { inputs: product })).stderr).toContain("is invalid");
    const unsure = await run("resolve", "web", { inputs: { ...given, OUTCOME: "choose" } });
    expect(unsure).toMatchObject({ code: 1, stdout: expect.stringContaining("Choose the OUTCOME") });
    const files = await readdir(example.folder.path, { recursive: true });
    expect(files.filter((name) => name.endsWith("injected"))).toEqual([]);
  });

  const good = { id: 32, status: "success", project_id: 5 };
  test.each([
    { without: "a merge request", pipelines: [good], requests: [] },
    { without: "a plan of its last commit", pipelines: [good, { ...good, id: 33, status: "failed" }] },
    { without: "a plan that was made here", pipelines: [{ ...good, project_id: 6 }] },
  ])("applies nothing without $without", async ({ pipelines, requests }) => {
    merge("{}", pipelines);
    if (requests !== undefined) answers["GET /repository/commits/c0ffee/merge_requests"] = requests;
    const { code, stderr } = await run("find", "merge");
    expect(code).toBe(1);
    expect(stderr).toContain("nobody has reviewed a plan of this");
    expect(example.arrivals).toEqual([]);
  });

  test("applies no plan of a branch that lacked an earlier merge", async () => {
    const { folder } = await run("plan", "request");
    merge(await readFile(`${folder}/plan.json`, "utf8"));
    await commit({
      "repository/manifests/chess.yaml": "draft: 48213\nproduct_files: [{ file_id: 9900099 }]\n",
    });
    const refused = await runAll(["find", "apply"], "merge");
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("what the manifests declare for drafts/48213 has changed"),
    ]);
    expect(attached()).toBe(0);
  });

  test("works with the head of the default branch, whatever commit a repeated job has", async () => {
    const behind = await mkdtemp(join(example.folder.path, "behind-"));
    await cp(example.path, behind, { recursive: true });
    await commit({
      "repository/manifests/chess.yaml": "draft: 48213\nproduct_files: [{ file_id: 9900099 }]\n",
    });
    expect((await run("reconcile", "schedule", { checkout: behind })).code).toBe(0);
    expect(example.sandbox.state().attachments.map(({ fileId }) => fileId)).toContain(9900099);
  });

  test("reconciles on a schedule what the policy allows", async () => {
    expect((await run("reconcile", "schedule")).code).toBe(0);
    expect(attached()).toBe(3);
    expect(example.sandbox.state().products).toEqual([]);
  });

  test("requires a persistent ledger", async () => {
    scopes["draftsync/*"].DRAFTSYNC_STATE = "";
    const { code, stdout } = await run("reconcile", "schedule");
    expect(code).toBe(1);
    expect(stdout).toContain("Set the variable DRAFTSYNC_STATE");
    expect(example.arrivals).toEqual([]);
  });
});

/** Makes GitLab return the merge request as merged, with this plan. */
function merge(plan: string, pipelines: object[] = [{ id: 32, status: "success", project_id: 5 }]) {
  Object.assign(answers, {
    "GET /repository/commits/c0ffee/merge_requests": [
      { iid: 9, state: "closed", target_branch: "main" },
      { iid: 10, state: "merged", target_branch: "develop" },
      { iid: 12, state: "merged", target_branch: "main" },
    ],
    "GET /merge_requests/12": { iid: 12, state: "merged", target_branch: "main" },
    "GET /merge_requests/12/pipelines": pipelines,
    "GET /pipelines/32/jobs": [
      { id: 100, name: "validate" },
      { id: 101, name: "plan", artifacts_file: {} },
    ],
    "GET /jobs/101/artifacts/plan.json": JSON.parse(plan),
  });
}
