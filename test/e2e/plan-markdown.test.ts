import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { render } from "../support/rendered.ts";

let folder: Folder;
const run = (...args: string[]) =>
  draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: "canary-key-90c2" } });

const manyFiles = Array.from(
  { length: 200 },
  (_none, at) => `  - { file_id: ${at + 1}, renderer: "ask @team, see #1" }\n`,
);

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: studio--a
manifests: ["manifests/*.yaml"]
service: { base_url: https://api.example.com }
`,
    "manifests/a.yaml": `draft: 1\nproduct_files:\n${manyFiles.join("")}publish: true\n`,
  });
});
afterAll(() => folder.dispose());

describe("--format markdown", () => {
  test("prints the same comment for plan and show, and mentions no user", async () => {
    const planned = await run("plan", "--out", "plan.json", "--format", "markdown");
    const shown = await run("show", "plan.json", "--format", "markdown");
    expect([planned.code, shown.code]).toEqual([0, 0]);
    expect(shown.stdout).toBe(planned.stdout);
    expect(planned.stdout.split("\n", 4)).toEqual([
      "<!-- draftsync:plan workspace=studio%2D%2Da -->",
      expect.stringContaining("**New or restored ledger: apply will leave out 1 publish.**"),
      "",
      "### Plan for `studio--a`: 200 to create, 1 to publish",
    ]);
    expect(planned.stdout).toContain("#### Cannot be undone\n\n- `!` `drafts/1/product`");
    const { livelyText, elements } = render(planned.stdout);
    expect(livelyText).not.toMatch(/[@#]/);
    expect(elements.filter(({ text }) => text.includes("@team")).length).toBeGreaterThan(200);
  });

  test("--max-chars shortens the comment and says so", async () => {
    await run("plan", "--out", "plan.json");
    const { stdout } = await run("show", "plan.json", "--format", "markdown", "--max-chars", "5000");
    expect(stdout.length).toBeLessThanOrEqual(5_000);
    expect(stdout).toContain("**Left out** to stay within 5,000 characters");
    expect(stdout).toContain("#### Cannot be undone\n\n- `!` `drafts/1/product`");
  });

  test.each([
    { args: ["--max-chars", "5000"], message: "--max-chars needs --format markdown, not text" },
    { args: ["--format", "json", "--max-chars", "5000"], message: "needs --format markdown, not json" },
    {
      args: ["--format", "markdown", "--max-chars", "100"],
      message: 'an integer of at least 4000, not "100"',
    },
    { args: ["--format", "markdown", "--max-chars", "many"], message: 'not "many"' },
  ])("$args is an error", async ({ args, message }) => {
    for (const command of [["plan"], ["show", "plan.json"]]) {
      const { code, stdout, stderr } = await run(...command, ...args);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(message);
      expect(stderr).toContain("[invalid-flag]");
    }
  });

  test("prints one line and its reason for a plan without changes", async () => {
    const empty = await makeFolder({
      "draftsync.yaml": "version: 1\nworkspace: w\nservice: { base_url: https://api.example.com }\n",
      "manifests/a.yaml": "draft: 1\nproduct_files: []\n",
    });
    const env = { DRAFTSYNC_API_KEY: "canary-key-90c2" };
    const { stdout } = await draftsync(["plan", "--format", "markdown"], { cwd: empty.path, env });
    await empty.dispose();
    expect(stdout).toContain("### No changes for `w`\n\nEverything is up to date.\n\n<sub>");
  });
});
