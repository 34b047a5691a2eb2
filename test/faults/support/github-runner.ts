import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";
import { glob } from "tinyglobby";
import { parse } from "yaml";
import { z } from "zod";
import type { Ended } from "../../support/cli.ts";
import type { Example } from "./example.ts";
import { runProgram } from "./example.ts";
import { type GitHub, repositoryName } from "./github.ts";

const texts = z.record(z.string(), z.coerce.string());
const jobSchema = z.object({
  if: z.string().optional(),
  needs: z.union([z.string().transform((name) => [name]), z.array(z.string())]).default([]),
  env: texts.default({}),
  environment: z.string().optional(),
  outputs: texts.default({}),
  steps: z.array(
    z.object({
      id: z.string().optional(),
      name: z.string().optional(),
      if: z.string().optional(),
      uses: z.string().optional(),
      with: texts.default({}),
      env: texts.default({}),
      shell: z.string().default("bash -e {0}"),
      run: z.string().optional(),
    }),
  ),
});
type Job = z.output<typeof jobSchema>;
type Step = Job["steps"][number];
const workflowSchema = z.object({ env: texts.default({}), jobs: z.record(z.string(), jobSchema) });

/** An event and the context that a workflow gets. */
export interface Trigger {
  readonly event: "pull_request" | "push" | "schedule" | "workflow_dispatch";
  readonly run: number;
  readonly sha: string;
  readonly attempt?: number;
  readonly ref?: string;
  /** The pull request, the repository of its branch, and its commit. */
  readonly pullRequest?: { readonly number: number; readonly from: string; readonly head: string };
  /** Inputs of a run that an operator starts. */
  readonly inputs?: Readonly<Record<string, string | boolean>>;
  /** Secrets of the repository. Forks get none. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Secrets by environment: a job gets those of its environment. */
  readonly environments: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Result of a job. */
export interface JobEnd {
  readonly result: "success" | "failure" | "skipped";
  readonly outputs: Readonly<Record<string, string>>;
  /** Names of the secrets that its steps received. */
  readonly secrets: readonly string[];
  /** Programs in the order of execution. */
  readonly ran: readonly (Ended & { readonly run: string })[];
}

/**
 * Runs a workflow as GitHub's runners do: with GitHub's own expression evaluator, each job in its own checkout, and real
 * shell steps. Known actions are emulated.
 */
export async function runWorkflow(
  file: string,
  { example, github }: { readonly example: Example; readonly github: GitHub },
  trigger: Trigger,
): Promise<Readonly<Record<string, JobEnd>>> {
  const workflow = workflowSchema.parse(parse(file));
  const ends: Record<string, JobEnd> = {};
  const left = new Map(Object.entries(workflow.jobs));
  while (left.size > 0) {
    const [name, job] = [...left].find(([, each]) => each.needs.every((need) => need in ends)) ?? [];
    if (name === undefined || job === undefined) throw new Error("jobs that need each other");
    left.delete(name);
    const needs = Object.fromEntries(job.needs.map((need) => [need, ends[need]]));
    const context = contextOf(trigger, github, { needs });
    const good = job.needs.every((need) => ends[need]?.result === "success");
    const bad = job.needs.some((need) => ends[need]?.result === "failure");
    ends[name] = isMet(job.if, context, { good, bad })
      ? await runJob(job, { example, github, trigger, env: workflow.env, needs })
      : { result: "skipped", outputs: {}, secrets: [], ran: [] };
  }
  return ends;
}

interface JobSurroundings {
  readonly example: Example;
  readonly github: GitHub;
  readonly trigger: Trigger;
  readonly env: Readonly<Record<string, string>>;
  readonly needs: object;
}

async function runJob(job: Job, environment: JobSurroundings): Promise<JobEnd> {
  const { example, github, trigger, needs } = environment;
  const cwd = await mkdtemp(join(example.folder.path, "job-"));
  const path: string[] = [];
  const steps: Record<string, { outcome: string; outputs: Record<string, string> }> = {};
  const ran: (Ended & { run: string })[] = [];
  const given = new Set<string>();
  let bad = false;
  const secrets = { ...trigger.secrets, ...trigger.environments[job.environment ?? ""] };
  for (const step of job.steps) {
    const context = contextOf(trigger, github, { needs, steps, secrets });
    let outcome = "skipped";
    let outputs: Record<string, string> = {};
    if (isMet(step.if, context, { good: !bad, bad })) {
      const variables = fill({ ...environment.env, ...job.env, ...step.env }, context);
      for (const name of secretNames({ ...environment.env, ...job.env, ...step.env })) given.add(name);
      if (step.run === undefined) {
        const code = await useAction(step, fill(step.with, context), { cwd, github, trigger, example });
        outcome = code === 0 ? "success" : "failure";
      } else {
        const ended = await runStep(step, cwd, {
          ...withoutKey(example.env),
          PATH: [...path, example.env.PATH].join(":"),
          ...variables,
          ...variablesOf(trigger, github),
        });
        ({ outputs } = ended);
        path.unshift(...ended.path);
        ran.push({ ...ended, run: step.run });
        outcome = ended.code === 0 ? "success" : "failure";
      }
      bad ||= outcome === "failure";
    }
    if (step.id !== undefined) steps[step.id] = { outcome, outputs };
  }
  const outputs = fill(job.outputs, contextOf(trigger, github, { needs, steps }));
  return { result: bad ? "failure" : "success", outputs, secrets: [...given], ran };
}

async function runStep(step: Step, cwd: string, env: Record<string, string>) {
  const folder = await mkdtemp(`${cwd}-step-`);
  const [script, output, path] = [join(folder, "script"), join(folder, "output"), join(folder, "path")];
  await writeFile(script, step.run ?? "");
  await writeFile(output, "");
  await writeFile(path, "");
  const [program = "", ...args] = step.shell.split(" ").map((word) => (word === "{0}" ? script : word));
  const ended = await runProgram(program, args, {
    cwd,
    env: { ...env, GITHUB_OUTPUT: output, GITHUB_PATH: path },
  });
  const readLines = async (file: string) =>
    (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  const lines = await readLines(output);
  const outputs = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  return { ...ended, outputs, path: await readLines(path) };
}

/** Emulates an action; returns its exit code. */
async function useAction(
  { uses = "" }: Step,
  given: Readonly<Record<string, string>>,
  { cwd, github, trigger, example }: { cwd: string; github: GitHub; trigger: Trigger; example: Example },
): Promise<number> {
  const [action] = uses.split("@");
  const run = Number(given["run-id"] ?? trigger.run);
  switch (action) {
    case "actions/setup-node":
      return 0;
    case "actions/checkout":
      await cp(example.path, cwd, { recursive: true });
      return 0;
    case "actions/upload-artifact": {
      const folder = await mkdtemp(join(example.folder.path, "artifact-"));
      const paths = (given.path ?? "").trim().split("\n");
      const found = await glob(paths, { cwd, dot: given["include-hidden-files"] === "true" });
      for (const path of found) await cp(join(cwd, path), join(folder, path));
      if (found.length === 0) return given["if-no-files-found"] === "error" ? 1 : 0;
      github.artifacts.push({
        id: github.artifacts.length,
        run,
        name: given.name ?? "",
        expired: false,
        folder,
      });
      return 0;
    }
    case "actions/download-artifact": {
      // Artifacts of a different run need a token.
      if (run !== trigger.run && given["github-token"] !== github.token) return 1;
      const artifact = github.artifacts.find((each) => each.run === run && each.name === given.name);
      if (artifact === undefined) return 1;
      await cp(artifact.folder, cwd, { recursive: true });
      return 0;
    }
    default:
      throw new Error(`no stand-in for ${uses}`);
  }
}

/** A runner has only the key that a job receives. */
function withoutKey({ DRAFTSYNC_API_KEY: _key, ...env }: Readonly<Record<string, string>>) {
  return env;
}

function secretNames(env: Readonly<Record<string, string>>): string[] {
  return Object.values(env).flatMap((text) =>
    [...text.matchAll(/secrets\.(\w+)/g)].map(([, name = ""]) => name),
  );
}

function variablesOf(trigger: Trigger, github: GitHub): Record<string, string> {
  return {
    GITHUB_API_URL: github.url,
    GITHUB_SERVER_URL: "https://github.example",
    GITHUB_REPOSITORY: repositoryName,
    GITHUB_EVENT_NAME: trigger.event,
    GITHUB_SHA: trigger.sha,
    GITHUB_REF_NAME: (trigger.ref ?? "refs/heads/main").replace("refs/heads/", ""),
    GITHUB_RUN_ID: String(trigger.run),
  };
}

function contextOf(
  trigger: Trigger,
  github: GitHub,
  more: { needs: object; steps?: object; secrets?: object },
): data.Dictionary {
  const { pullRequest } = trigger;
  const { number, from, head: sha } = pullRequest ?? {};
  const event =
    pullRequest === undefined ? {} : { pull_request: { number, head: { sha, repo: { full_name: from } } } };
  const context = {
    github: {
      event_name: trigger.event,
      repository: repositoryName,
      ref: trigger.ref ?? "refs/heads/main",
      run_id: String(trigger.run),
      run_attempt: String(trigger.attempt ?? 1),
      token: github.token,
      event,
    },
    inputs: trigger.inputs ?? {},
    secrets: {},
    steps: {},
    ...more,
  };
  const read: unknown = JSON.parse(JSON.stringify(context), data.reviver);
  if (read instanceof data.Dictionary) return read;
  throw new Error("the context is no dictionary");
}

function fill(values: Readonly<Record<string, string>>, context: data.Dictionary): Record<string, string> {
  const filled = Object.entries(values).map(([name, value]) => [
    name,
    value.replace(/\$\{\{(.*?)\}\}/g, (_all, expression: string) =>
      evaluate(expression, context).coerceString(),
    ),
  ]);
  return Object.fromEntries(filled);
}

/** Evaluates a condition. Without a status function it requires that everything before succeeded. */
function isMet(
  condition: string | undefined,
  context: data.Dictionary,
  { good, bad }: { readonly good: boolean; readonly bad: boolean },
): boolean {
  if (condition === undefined) return good;
  const statuses = { success: good, failure: bad, always: true };
  const asks = Object.keys(statuses).some((name) => condition.includes(`${name}()`));
  const value = evaluate(condition, context, statuses);
  const met = value.coerceString();
  return (asks || good) && met !== "false" && met !== "";
}

function evaluate(
  expression: string,
  context: data.Dictionary,
  statuses: Readonly<Record<string, boolean>> = {},
): data.ExpressionData {
  const functions = Object.entries(statuses).map(([name, value]) => ({
    name,
    minArgs: 0,
    maxArgs: 0,
    call: () => new data.BooleanData(value),
  }));
  const { tokens } = new Lexer(expression).lex();
  const parsed = new Parser(tokens, ["github", "inputs", "secrets", "steps", "needs"], functions).parse();
  return new Evaluator(parsed, context, new Map(functions.map((each) => [each.name, each]))).evaluate();
}
