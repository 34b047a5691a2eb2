import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { commandNames, wordsOf } from "../support/command-names.ts";
import { readText } from "../support/source-files.ts";
import { loadWorkflowParser } from "../support/workflow-parser.ts";

const { version } = z.object({ version: z.string() }).parse(JSON.parse(readText("package.json")));

const github = readText("examples/github/.github/workflows/draftsync.yml");
const gitlab = readText("examples/gitlab/.gitlab-ci.yml");

const workflowSchema = z.object({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.object({
      if: z.string(),
      env: z.record(z.string(), z.string()).optional(),
      concurrency: z.object({ group: z.string(), "cancel-in-progress": z.boolean() }).optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(
        z.looseObject({
          uses: z.string().optional(),
          run: z.string().optional(),
          shell: z.string().optional(),
        }),
      ),
    }),
  ),
});

/** A shell script without syntax errors. */
function expectSound(script: string): void {
  execFileSync("bash", ["-n"], { input: script });
}

/** A module for Node without syntax errors. */
function expectSoundModule(input: string): void {
  execFileSync(process.execPath, ["--input-type=module", "--check"], { input });
}

describe("the pipeline for GitHub", () => {
  const { permissions, jobs } = workflowSchema.parse(parse(github));
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test("is a workflow, as GitHub's own parser reads it", async () => {
    const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await loadWorkflowParser();
    const trace = new NoOperationTraceWriter();
    const { context, value } = parseWorkflow({ name: "draftsync.yml", content: github }, trace);
    expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
    expect(value).toBeDefined();
    if (value === undefined) return;
    const template = await convertWorkflowTemplate(context, value);
    expect(template.errors ?? []).toEqual([]);
    expect(template.jobs.map(({ id }) => String(id))).toEqual([
      "validate",
      "plan",
      "apply",
      "comment",
      "reconcile",
    ]);
  });

  test("pins every action by its commit, and says which version that is", () => {
    const uses = [...github.matchAll(/uses: (.*)/g)].map(([, action]) => action);
    expect(uses.length).toBeGreaterThan(8);
    for (const action of uses) expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("gives forks no key, and no job more than it needs", () => {
    expect(permissions).toEqual({ contents: "read" });
    for (const [name, { if: condition, env = {} }] of Object.entries(jobs)) {
      const forks =
        condition.includes("pull_request") && !condition.includes("head.repo.full_name == github.repository");
      if (forks) expect(Object.keys(env), name).toEqual([]);
    }
  });

  test("changes nothing for what nobody has reviewed", () => {
    expect(jobs.apply?.if).toBe("github.event_name == 'push'");
    expect(jobs.reconcile?.if).toContain("&& github.ref == 'refs/heads/main'");
  });

  test("lets one job at a time change something, and cuts none off", () => {
    for (const job of [jobs.apply, jobs.reconcile])
      expect(job?.concurrency).toEqual({ group: "draftsync", "cancel-in-progress": false });
  });

  test("lets no job write that has the key", () => {
    for (const [name, { permissions: own = {}, env = {} }] of Object.entries(jobs)) {
      if (Object.values(own).includes("write")) expect(Object.keys(env), name).toEqual([]);
    }
  });

  test("has scripts that are sound, and into which nothing is pasted", () => {
    for (const { run, shell = "bash -e {0}" } of steps) {
      if (run === undefined) continue;
      expect(run).not.toContain("$" + "{{");
      if (shell === "node {0}") expectSoundModule(run);
      else expectSound(run);
    }
  });
});

describe("the pipeline for GitLab", () => {
  const jobSchema = z.looseObject({
    stage: z.string(),
    // A script that several jobs share is a list in the list.
    script: z.array(z.union([z.string(), z.array(z.string())])).transform((lines) => lines.flat()),
    rules: z.array(z.object({ if: z.string() })),
  });
  const file = z.looseObject({ stages: z.array(z.string()) }).parse(parse(gitlab));
  const jobs = new Map(
    Object.entries(file).flatMap(([name, job]) => {
      const { success, data } = jobSchema.safeParse(job);
      return success ? [[name, data] as const] : [];
    }),
  );

  test("has its jobs in stages that there are", () => {
    expect([...jobs.keys()]).toEqual(["validate", "plan", "apply", "reconcile"]);
    expect([...jobs.values()].map(({ stage }) => stage)).toEqual(file.stages);
  });

  test("gives forks no plan, and lets one job at a time change something", () => {
    expect(jobs.get("plan")?.rules[0]?.if).toContain(
      "$CI_MERGE_REQUEST_SOURCE_PROJECT_PATH == $CI_PROJECT_PATH",
    );
    for (const name of ["apply", "reconcile"])
      expect(jobs.get(name)).toMatchObject({ resource_group: "draftsync" });
  });

  test("has scripts that are sound, those for Node too", () => {
    const lines = [...jobs.values()].flatMap(({ script }) => script);
    for (const line of lines) expectSound(line);
    const modules = lines.flatMap((line) =>
      [...line.matchAll(/<<'SCRIPT'\n([\s\S]*?)\nSCRIPT/g)].map(([, text = ""]) => text),
    );
    expect(modules).toHaveLength(2);
    for (const input of modules) expectSoundModule(input);
  });
});

test.each([
  ["GitHub", github],
  ["GitLab", gitlab],
])("the pipeline for %s installs this version, and says that the ledger has to last", (_name, text) => {
  expect(text).toContain(`DRAFTSYNC: draftsync@${version} `);
  expect(text).toContain("DRAFTSYNC_STATE    ");
  expect(text).toMatch(/has to outlive the jobs/);
});

test.each([
  ["GitHub", github],
  ["GitLab", gitlab],
])("the pipeline for %s calls commands and flags that there are", (_name, text) => {
  const lines = [...text.matchAll(/^\s*(?:- |run: |- run: )draftsync (.*?)(?: >.*)?$/gm)].map(
    ([, line = ""]) => line,
  );
  const commands = new Set(lines.map((line) => line.split(" ")[0]));
  expect([...commands]).toEqual(["validate", "plan", "show", "apply", "reconcile"]);
  const known = commandNames();
  expect(lines.flatMap(wordsOf).filter((word) => !known.has(word))).toEqual([]);
});
