import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { commandNames, wordsOf } from "../support/command-names.ts";
import { programToRead } from "../support/program.ts";
import { filesBelow, readText } from "../support/source-files.ts";
import { loadWorkflowParser } from "../support/workflow-parser.ts";

const github = readText("examples/github/.github/workflows/draftsync.yml");
const gitlab = readText("examples/gitlab/.gitlab-ci.yml");

const workflowSchema = z.object({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.object({
      if: z.string(),
      env: z.record(z.string(), z.string()).optional(),
      environment: z.string().optional(),
      concurrency: z.object({ group: z.string(), "cancel-in-progress": z.boolean() }).optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(
        z.looseObject({
          uses: z.string().optional(),
          run: z.string().optional(),
          shell: z.string().optional(),
          env: z.record(z.string(), z.string()).optional(),
        }),
      ),
    }),
  ),
});

/** Checks the syntax of a shell script. */
function expectSound(script: string): void {
  execFileSync("bash", ["-n"], { input: script });
}

/** Checks the syntax of a Node module. */
function expectSoundModule(input: string): void {
  execFileSync(process.execPath, ["--input-type=module", "--check"], { input });
}

/** Parses a workflow with GitHub's own parser, expects no errors, and returns the names of its jobs. */
async function jobsOfWorkflow(name: string, content: string): Promise<readonly string[]> {
  const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await loadWorkflowParser();
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
  if (value === undefined) throw new Error("the workflow has no content");
  const { errors, jobs } = await convertWorkflowTemplate(context, value);
  expect(errors ?? []).toEqual([]);
  return jobs.map(({ id }) => String(id));
}

function expectPinned(workflow: string): void {
  const uses = [...workflow.matchAll(/uses: (.*)/g)].map(([, action]) => action);
  expect(uses.length).toBeGreaterThan(1);
  for (const action of uses) expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
}

describe("pipeline for GitHub", () => {
  const { permissions, jobs } = workflowSchema.parse(parse(github));
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test("is a valid workflow for GitHub's own parser", async () => {
    expect(await jobsOfWorkflow("draftsync.yml", github)).toEqual([
      "validate",
      "plan",
      "apply",
      "rest",
      "comment",
      "reconcile",
      "resolve",
    ]);
  });

  test("pins every action by commit and names its version", () => {
    expectPinned(github);
  });

  test("works with the head of the default branch, whatever commit a repeated job has", () => {
    for (const name of ["apply", "rest", "reconcile", "resolve"]) {
      const checkout = jobs[name]?.steps.find(({ uses }) => uses?.startsWith("actions/checkout@"));
      expect(checkout?.with, name).toMatchObject({ ref: expect.stringMatching(/^\$\{\{ github\.ref \}\}$/) });
    }
  });

  const writing = ["apply", "reconcile", "resolve"];
  const withSecrets = (name: string) =>
    (jobs[name]?.steps ?? []).filter(({ env }) => JSON.stringify(env ?? {}).includes("secrets."));

  test("gives secrets only to single steps: the key to writing jobs, and nothing to forks", () => {
    expect(permissions).toEqual({ contents: "read" });
    expect(github).not.toMatch(/^env:/m);
    for (const [name, { env, environment }] of Object.entries(jobs)) {
      expect(env, name).toBeUndefined();
      const given = withSecrets(name).flatMap((step) => Object.values(step.env ?? {}));
      const secrets = given.filter((value) => value.includes("secrets."));
      if (writing.includes(name)) {
        expect(secrets).toEqual([
          "$" + "{{ secrets.DRAFTSYNC_API_KEY }}",
          "$" + "{{ secrets.DRAFTSYNC_STATE }}",
        ]);
        expect(environment).toBe(name === "reconcile" ? "draftsync-reconcile" : "draftsync");
      } else {
        expect(environment).toBeUndefined();
        const reads = ["plan", "rest"].includes(name);
        expect(secrets, name).toEqual(reads ? ["$" + "{{ secrets.DRAFTSYNC_STATE_READ }}"] : []);
      }
    }
    expect(jobs.plan?.if).toContain("head.repo.full_name == github.repository");
  });

  test("applies a saved plan, and no writing job plans", () => {
    for (const name of writing) {
      const runs = jobs[name]?.steps.map(({ run = "" }) => run).join("\n") ?? "";
      expect(runs, name).not.toMatch(/draftsync plan\b/);
    }
    const applied = [...github.matchAll(/draftsync apply.*/g)].map(([line]) => line);
    expect(applied).toEqual(['draftsync apply plan.json --auto-approve "$@"']);
  });

  test("applies only reviewed changes", () => {
    const main = "github.ref == 'refs/heads/main'";
    expect(jobs.apply?.if).toBe(`github.event_name == 'push' || (inputs.job == 'apply' && ${main})`);
    expect(jobs.resolve?.if).toBe(`inputs.job == 'resolve' && ${main}`);
    expect(jobs.reconcile?.if).toContain(`) && ${main}`);
  });

  test("runs one writing job at a time and cancels none", () => {
    for (const name of writing)
      expect(jobs[name]?.concurrency).toEqual({ group: "draftsync", "cancel-in-progress": false });
  });

  test("gives write permission only to jobs without secrets and without repository code", () => {
    for (const [name, { permissions: own = {}, steps }] of Object.entries(jobs)) {
      if (!Object.values(own).includes("write")) continue;
      expect(withSecrets(name), name).toEqual([]);
      expect(steps.map(({ uses = "" }) => uses.split("@")[0])).not.toContain("actions/checkout");
    }
  });

  test("has valid scripts without interpolated values", () => {
    for (const { run, shell = "bash -e {0}" } of steps) {
      if (run === undefined) continue;
      expect(run).not.toContain("$" + "{{");
      if (shell === "node {0}") expectSoundModule(run);
      else expectSound(run);
    }
  });
});

describe("release workflow of this repository", () => {
  const release = readText(".github/workflows/release.yml");

  test("is a valid workflow for GitHub's own parser and releases only after the tests", async () => {
    expect(await jobsOfWorkflow("release.yml", release)).toEqual(["test", "release"]);
    expect(parse(release).jobs.release.needs).toBe("test");
  });

  test("pins every action by commit, and only the release job may write", () => {
    expectPinned(release);
    const { permissions, jobs } = parse(release);
    expect(permissions).toEqual({ contents: "read" });
    expect(jobs.test.permissions).toBeUndefined();
  });
});

describe("pipeline for GitLab", () => {
  const jobSchema = z.looseObject({
    stage: z.string(),
    // A shared script is a nested list.
    script: z.array(z.union([z.string(), z.array(z.string())])).transform((lines) => lines.flat()),
    rules: z.array(z.object({ if: z.string() })).default([]),
    extends: z.string().optional(),
  });
  const file = z.looseObject({ stages: z.array(z.string()) }).parse(parse(gitlab));
  const jobs = new Map(
    Object.entries(file).flatMap(([name, job]) => {
      const { success, data } = jobSchema.safeParse(job);
      return success ? [[name, data] as const] : [];
    }),
  );

  test("has its jobs in existing stages", () => {
    const stages: Readonly<Record<string, string>> = {
      validate: "validate",
      plan: "plan",
      find: "find",
      apply: "apply",
      rest: "rest",
      reconcile: "apply",
      resolve: "apply",
    };
    expect(Object.fromEntries([...jobs].map(([name, { stage = "" }]) => [name, stage]))).toEqual({
      ...stages,
      ".comment": "comment",
    });
    for (const stage of Object.values(stages)) expect(file.stages).toContain(stage);
  });

  test("gives forks no plan and runs one writing job at a time", () => {
    expect(jobs.get("plan")?.rules[0]?.if).toContain(
      "$CI_MERGE_REQUEST_SOURCE_PROJECT_PATH == $CI_MERGE_REQUEST_PROJECT_PATH",
    );
    expect(file[".writes"]).toMatchObject({ resource_group: "draftsync" });
    for (const name of ["apply", "reconcile", "resolve"]) expect(jobs.get(name)?.extends).toBe(".writes");
  });

  test("has valid shell and Node scripts", () => {
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
])(
  "the pipeline for %s installs only from the lockfile and explains that the ledger must persist",
  (_name, text) => {
    const installs = [...text.matchAll(/^.*\bnpm (?!ci --ignore-scripts\b)[a-z]+ .*$/gm)].map(
      ([line]) => line,
    );
    expect(installs).toEqual([]);
    expect(text).not.toContain("npx");
    expect(text).toMatch(/has to outlive the jobs/);
  },
);

test.each([
  ["GitHub", github],
  ["GitLab", gitlab],
])("the pipeline for %s offers every result that `draftsync resolve` takes", (_name, text) => {
  const resolve = programToRead().commands.find((command) => command.name() === "resolve");
  const flags = resolve?.options.flatMap(({ long, required }) => (long && !required ? [long.slice(2)] : []));
  const [, options] = /options: \[choose, (.*)\]/.exec(text) ?? [];
  expect(options?.split(", ").sort()).toEqual(["product", ...(flags ?? [])].sort());
});

test("no file names a registry or installs draftsync by a bare name", () => {
  const below = ["examples", "docs", "src", "test"].flatMap((folder) => filesBelow(folder, ""));
  const files = [...below, { path: "README.md", text: readText("README.md") }];
  const named =
    /\bregistry\.(npmjs|yarnpkg)\b|npm (install|i|ci|exec)\b[^\n`]* draftsync(@|\s|$)|npx (?!--no )draftsync/;
  const own = "test/structure/pipelines.test.ts";
  expect(files.filter(({ path, text }) => path !== own && named.test(text)).map(({ path }) => path)).toEqual(
    [],
  );
});

test.each([
  ["GitHub", github],
  ["GitLab", gitlab],
])("the pipeline for %s uses existing commands and flags", (_name, text) => {
  const lines = [...text.matchAll(/^\s*(?:- |run: |- run: |)draftsync ([a-z].*?)(?: >.*)?$/gm)].map(
    ([, line = ""]) => line,
  );
  const commands = new Set(lines.map((line) => line.split(" ")[0]));
  expect([...commands]).toEqual(["validate", "plan", "show", "apply", "reconcile", "resolve"]);
  const known = commandNames();
  expect(lines.flatMap(wordsOf).filter((word) => !known.has(word))).toEqual([]);
});
