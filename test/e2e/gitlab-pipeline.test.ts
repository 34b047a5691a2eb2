import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import type { Folder } from "../support/cli.ts";
import { makeFolder } from "../support/cli.ts";
import { readText } from "../support/source-files.ts";

const job = z.object({ script: z.array(z.string()) });
const { plan, apply } = z
  .object({ plan: job, apply: job })
  .parse(parse(readText("examples/gitlab/.gitlab-ci.yml")));

const token = "glpat-of-the-project";
const marker = "<!-- draftsync plan -->";

let folder: Folder;
let server: Server;
/** By method and path; what was sent to the others is in `written`. */
let answers: Record<string, unknown>;
let written: { request: string; body: string }[];

beforeEach(async () => {
  folder = await makeFolder();
  written = [];
  server = createServer(async (request, response) => {
    const name = `${request.method} ${request.url?.replace("/api/v4", "")}`;
    let body = "";
    for await (const part of request) body += part;
    if (body !== "") written.push({ request: name, body: JSON.parse(body).body });
    const known = request.headers["private-token"] === token && name in answers;
    response.writeHead(known ? 200 : 404).end(JSON.stringify(known ? answers[name] : {}));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", () => done()));
});
afterEach(async () => {
  await new Promise((done) => server.close(done));
  await folder.dispose();
});

/** Runs the lines of a job that are about `part`, as a runner does. */
async function runLines(
  { script }: z.output<typeof job>,
  part: string,
): Promise<{ code: number; stderr: string }> {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const lines = script.filter((line) => line.includes(part)).join("\n");
  const env = {
    PATH: process.env.PATH,
    CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`,
    CI_BUILDS_DIR: folder.path,
    CI_COMMIT_SHA: "c0ffee",
    CI_PROJECT_ID: "5",
    CI_MERGE_REQUEST_IID: "12",
    DRAFTSYNC_GITLAB_TOKEN: token,
  };
  return new Promise((done) => {
    const child = execFile(
      "bash",
      ["--norc", "-euo", "pipefail", "-c", lines],
      { cwd: folder.path, env },
      (_error, _out, stderr) => done({ code: child.exitCode ?? -1, stderr }),
    );
  });
}

describe("the comment of a merge request", () => {
  const notes = "/projects/5/merge_requests/12/notes";
  const list = `GET ${notes}?per_page=100&sort=asc`;
  const body = `${marker}\n1 to create`;

  beforeEach(() => folder.write({ "plan.md": body }));

  test("is written once, and then always the same one", async () => {
    const person = { id: 1, author: { id: 3 }, body: `${marker} quoted by a person` };
    answers = { "GET /user": { id: 7 }, [list]: [person], [`POST ${notes}`]: {} };
    expect((await runLines(plan, "comment.mjs")).code).toBe(0);
    expect(written).toEqual([{ request: `POST ${notes}`, body }]);
    const own = { id: 2, author: { id: 7 }, body: `${marker}\nwhat was planned before` };
    answers = { "GET /user": { id: 7 }, [list]: [person, own], [`PUT ${notes}/2`]: {} };
    expect((await runLines(plan, "comment.mjs")).code).toBe(0);
    expect(written.at(-1)).toEqual({ request: `PUT ${notes}/2`, body });
  });
});

describe("the plan that is applied on merge", () => {
  const found = {
    "GET /projects/5/repository/commits/c0ffee/merge_requests": [
      { iid: 9, state: "closed" },
      { iid: 12, state: "merged" },
    ],
    "GET /projects/5/merge_requests/12/pipelines": [
      { id: 33, status: "failed" },
      { id: 32, status: "success" },
    ],
    "GET /projects/5/pipelines/32/jobs?scope=success": [
      { id: 100, name: "validate" },
      { id: 101, name: "plan" },
    ],
    "GET /projects/5/jobs/101/artifacts/plan.json": { plan_id: "reviewed" },
  };

  test("is that of the merge request that the commit came by", async () => {
    answers = found;
    expect(await runLines(apply, "fetch-plan.mjs")).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(await folder.read("plan.json"))).toEqual({ plan_id: "reviewed" });
  });

  test("is missing, and nothing is applied, where nobody has reviewed one", async () => {
    answers = { ...found, "GET /projects/5/repository/commits/c0ffee/merge_requests": [] };
    const { code, stderr } = await runLines(apply, "fetch-plan.mjs");
    expect(code).toBe(1);
    expect(stderr).toContain("nobody has reviewed a plan of this commit");
    await expect(folder.read("plan.json")).rejects.toThrow("ENOENT");
  });
});
