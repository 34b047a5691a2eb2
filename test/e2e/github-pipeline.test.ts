import { execFile } from "node:child_process";
import { chmod } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import type { Folder } from "../support/cli.ts";
import { makeFolder } from "../support/cli.ts";
import { readText } from "../support/source-files.ts";

const { jobs } = z
  .object({
    jobs: z.record(
      z.string(),
      z.object({ steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })) }),
    ),
  })
  .parse(parse(readText("examples/github/.github/workflows/draftsync.yml")));

/** Stands for GitHub's command: notes how it is called, and says what the files `head`, `run` and `comment` hold. */
const gh = `#!/bin/sh
echo "$*" >> calls
case "$*" in
  *"/commits/"*"/pulls "*) cat head ;;
  "run list "*) cat run ;;
  *"--paginate "*) cat comment ;;
esac
`;

let folder: Folder;
beforeEach(async () => {
  folder = await makeFolder({ "bin/gh": gh, calls: "", head: "", run: "", comment: "" });
  await chmod(`${folder.path}/bin/gh`, 0o755);
});
afterEach(() => folder.dispose());

/** Runs a step as a runner does; what it said, and how it called `gh`. */
async function runStep(job: string, name: string) {
  const script = jobs[job]?.steps.find((step) => step.name?.startsWith(name))?.run ?? "exit 99";
  const env = {
    PATH: `${folder.path}/bin:${process.env.PATH}`,
    GH_REPO: "lantern/shop",
    GITHUB_SHA: "c0ffee",
    NUMBER: "12",
  };
  const ended = new Promise<{ code: number; stdout: string }>((done) => {
    const args = ["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script];
    const child = execFile("bash", args, { cwd: folder.path, env }, (_error, stdout) =>
      done({ code: child.exitCode ?? -1, stdout }),
    );
  });
  return { ...(await ended), calls: (await folder.read("calls")).split("\n").slice(0, -1) };
}

describe("the plan that is applied on merge", () => {
  test("is that of the head of the pull request that the commit came by", async () => {
    await folder.write({ head: "beef\n", run: "77\n" });
    const { code, calls } = await runStep("apply", "Fetch the plan");
    expect(code).toBe(0);
    expect(calls[0]).toContain("repos/lantern/shop/commits/c0ffee/pulls");
    expect(calls[1]).toContain("--event pull_request --commit beef --status success");
    expect(calls[2]).toBe("run download 77 --name draftsync-plan");
  });

  test.each([
    { missing: "a pull request", head: "", says: "nobody has reviewed a plan" },
    { missing: "a plan of it", head: "beef\n", says: "No plan was made for beef" },
  ])("is not made up where $missing is missing", async ({ head, says }) => {
    await folder.write({ head });
    const { code, stdout, calls } = await runStep("apply", "Fetch the plan");
    expect(code).toBe(1);
    expect(stdout).toContain(says);
    expect(calls.join("\n")).not.toContain("download");
  });
});

describe("the comment of a pull request", () => {
  test.each([
    {
      comment: "",
      call: "api --silent --method POST repos/lantern/shop/issues/12/comments --field body=@plan.md",
    },
    {
      comment: "5\n8\n",
      call: "api --silent --method PATCH repos/lantern/shop/issues/comments/5 --field body=@plan.md",
    },
  ])("is written once, and then always the same one ($call)", async ({ comment, call }) => {
    await folder.write({ comment, "plan.md": "<!-- draftsync plan -->\n1 to create\n" });
    const { code, calls } = await runStep("plan", "Comment with the plan");
    expect(code).toBe(0);
    expect(calls.at(-1)).toBe(call);
  });

  test("is not written over another's when the plan has no first line", async () => {
    await folder.write({ comment: "5\n", "plan.md": "\n1 to create\n" });
    expect(await runStep("plan", "Comment with the plan")).toMatchObject({ code: 1, calls: [] });
  });
});
