import { beforeEach, describe, expect, test } from "vitest";
import { startOnScreen } from "../support/screen.ts";
import { useWorkspace } from "../support/workspace.ts";

const first = "draft: 1\nproduct_files: [{ file_id: 10 }]\n";
const second = "draft: 2\nproduct_files: [{ file_id: 20 }]\npromotional_files: [{ file_id: 21 }]\n";
const third = "draft: 3\nproduct_files: [{ file_id: 30 }]\n";

const { sandbox, proxy, folder, config, options, run, apply } = useWorkspace({
  files: { "manifests/a.yaml": `${first}---\n${second}---\n${third}` },
});
const attached = () =>
  sandbox
    .state()
    .attachments.map(({ fileId }) => fileId)
    .sort();
const deletes = () => proxy.seen.filter((line) => line.startsWith("DELETE"));

/** A new file for draft 1; drafts 2 and 3 are no longer declared. */
beforeEach(async () => {
  await apply();
  await folder.write({ "manifests/a.yaml": first.replace("}]", "}, { file_id: 11 }]") });
  proxy.seen.splice(0);
});

const named = "2 drafts are no longer declared: a.yaml (drafts/2, 2 files), a.yaml (drafts/3, 1 file)";

describe("drafts that are no longer declared", () => {
  test("come first in every plan format", async () => {
    const text = await run("plan", "--out", "plan.json");
    expect(text.stdout.startsWith(named)).toBe(true);
    expect(text.stderr).not.toContain("refuse");
    const markdown = await run("show", "plan.json", "--format", "markdown");
    expect(markdown.stdout).toContain(
      "#### 2 drafts are no longer declared\n\n- **`a.yaml`** `drafts/2` (2 files)\n",
    );
    const html = await run("show", "plan.json", "--format", "html");
    expect(html.stdout).toContain(">2 drafts are no longer declared</h2>");
    const json = JSON.parse((await run("show", "plan.json", "--format", "json")).stdout);
    expect(json.removed_drafts).toEqual([
      { address: "drafts/2", deletes: 2 },
      { address: "drafts/3", deletes: 1 },
    ]);
  });

  test("are not deleted by apply without consent, which refuses before any call", async () => {
    const refused = await apply();
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("[removed-drafts]") });
    expect(refused.stderr).toContain("--remove-drafts");
    expect(proxy.seen).toEqual([]);
  });

  test("are deleted with --remove-drafts", async () => {
    expect((await apply("--remove-drafts")).code).toBe(0);
    expect(attached()).toEqual([10, 11]);
    expect((await run("plan")).stdout).toContain("No changes.");
  });

  test("are deleted by a saved plan that shows the deletes", async () => {
    await run("plan", "--out", "plan.json");
    const applied = await apply("plan.json");
    expect(applied.code).toBe(0);
    expect(applied.stdout).toContain(named);
    expect(attached()).toEqual([10, 11]);
  });

  test("are deleted by apply and reconcile with safety.removed_drafts: delete", async () => {
    await folder.write(
      config("safety: { removed_drafts: delete }\nreconcile: { allow: [create, delete] }\n"),
    );
    expect((await apply("--target", "drafts/3")).code).toBe(0);
    expect((await run("reconcile")).code).toBe(0);
    expect(attached()).toEqual([10, 11]);
  });

  test('are named by the only prompt on the terminal, and "yes" deletes them', async () => {
    const { cwd, env = {} } = options();
    const screen = await startOnScreen(["apply"], { cwd, env, columns: 100 });
    await screen.until((lines) => lines.some((line) => line.includes("delete the files of 2 drafts")));
    screen.type("yes\r");
    expect(await screen.ended).toBe(0);
    expect(attached()).toEqual([10, 11]);
  });

  test("need no consent when --target selects other drafts", async () => {
    const applied = await apply("--target", "drafts/1");
    expect(applied).toMatchObject({ code: 0, stdout: expect.not.stringContaining("no longer declared") });
    expect(attached()).toEqual([10, 11, 20, 21, 30]);
  });

  test("are excluded and reported by reconcile, which applies the rest", async () => {
    await folder.write(config("reconcile: { allow: [create, delete] }\n"));
    const { code, stdout } = await run("reconcile", "--metrics-file", "metrics.prom");
    expect(code).toBe(0);
    expect(stdout).toContain("2 drafts are no longer declared: drafts/2, drafts/3; their files stay");
    expect(await folder.read("metrics.prom")).toMatch(
      /^draftsync_excluded\{.*action="removed_drafts".*\} 3$/m,
    );
    expect(attached()).toEqual([10, 11, 20, 21, 30]);
  });

  test("are no longer managed after state rm, which deletes nothing", async () => {
    const { code, stderr } = await run("state", "rm", "drafts/2", "drafts/3", "--auto-approve");
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("drafts/2, drafts/3"),
    });
    expect((await apply()).code).toBe(0);
    expect(deletes()).toEqual([]);
    expect(attached()).toEqual([10, 11, 20, 21, 30]);
  });
});

describe("list of files in a draft", () => {
  test("is not managed when the document omits it; its files stay and the plan counts them", async () => {
    await folder.write({ "manifests/a.yaml": `${first}---\n${second.split("promo")[0]}---\ndraft: 3\n` });
    const plan = await run("plan");
    expect(plan.stdout).toContain("No changes.");
    expect(plan.stdout).toContain(
      "Not managed: 2 recorded files in drafts/2/promotional_files and 1 other list, which the manifests leave out.",
    );
    expect((await apply()).code).toBe(0);
    expect(attached()).toEqual([10, 20, 21, 30]);
    expect((await run("plan", "--target", "drafts/3")).stdout).toContain("in drafts/3/product_files, which");
  });

  test("removes all of its files when it is empty", async () => {
    await folder.write({
      "manifests/a.yaml": `${first}---\n${second}---\ndraft: 3\nproduct_files: []\n`,
    });
    expect((await apply()).code).toBe(0);
    expect(deletes()).toEqual(["DELETE /api/drafts/3/product_files/30"]);
  });
});
