import { beforeEach, describe, expect, test } from "vitest";
import { parseEvents } from "../support/events.ts";
import { useWorkspace } from "../support/workspace.ts";

const serpent = "draft: 1\ntitle: Sea Serpent\nproduct_files:\n  - file_id: 10\n    renderer: arnold\n";
const lantern = "draft: 2\nproduct_files: [{ file_id: 20 }]\npublish: true\n";
const { proxy, folder, run, apply, confirmLedger } = useWorkspace({
  files: { "manifests/serpent.yaml": serpent, "manifests/lantern.yaml": lantern },
});
const write = (name: string, text: string) => folder.write({ [`manifests/${name}.yaml`]: text });

describe("draft titles before the first apply", () => {
  test("are shown in the plan with the line of each draft", async () => {
    const { stdout } = await run("plan");
    expect(stdout).toContain("drafts/1 · Sea Serpent (manifests/serpent.yaml:1)\n");
    expect(stdout).toContain("drafts/2 (manifests/lantern.yaml:1)\n");
    const { drafts, changes } = JSON.parse((await run("plan", "--format", "json")).stdout);
    expect(drafts).toEqual([
      { address: "drafts/1", title: "Sea Serpent", declared_at: "manifests/serpent.yaml:1" },
      { address: "drafts/2", declared_at: "manifests/lantern.yaml:1" },
    ]);
    expect(changes[0]).toMatchObject({ title: "Sea Serpent", declared_at: "manifests/serpent.yaml:4" });
  });

  test("are shown next to an irreversible change", async () => {
    await write("lantern", `title: Lantern\n${lantern}`);
    expect((await run("plan")).stdout).toContain("! drafts/2/product · Lantern  publishes a product");
  });

  test("are shown in progress, events and failures, including those of a saved plan", async () => {
    proxy.choose = ({ method }) => (method === "POST" ? { type: "answer", status: 403 } : undefined);
    await run("plan", "--out", "plan.json");
    const failed = await apply("plan.json");
    expect(failed.stderr).toContain("drafts/1/product_files/10 · Sea Serpent (manifests/serpent.yaml:4)");
    proxy.choose = () => undefined;
    const events = parseEvents((await apply("--json")).stdout);
    const ended = events.filter((event) => event.type === "change_finished");
    expect(ended[0]).toMatchObject({ title: "Sea Serpent", declared_at: "manifests/serpent.yaml:4" });
  });
});

describe("draft titles after an apply", () => {
  const sent: string[] = [];
  beforeEach(async () => {
    await confirmLedger();
    proxy.choose = ({ body }) => void sent.push(body);
    expect((await apply()).code).toBe(0);
  });

  test("can change without a plan change and are never sent", async () => {
    expect(sent.join("")).toContain("arnold");
    expect(sent.join("")).not.toContain("Serpent");
    await write("serpent", serpent.replace("Sea Serpent", "Ocean Dragon"));
    expect((await run("plan")).stdout).toContain("No changes.");
  });

  test("are kept for a draft that is no longer declared, and a delete shows its attributes", async () => {
    await write("serpent", "draft: 1\ntitle: Sea Serpent\nproduct_files: []\n");
    await write("lantern", "draft: 3\nproduct_files: []\n");
    const { stdout } = await run("plan");
    expect(stdout).toMatch(/^1 draft is no longer declared: lantern\.yaml \(drafts\/2, 1 file\)\n/);
    expect(stdout).toContain('renderer  "arnold"');
  });

  test("are shown by state list, state show and history", async () => {
    expect((await run("state", "list")).stdout).toContain(
      "drafts/1 · Sea Serpent\n  drafts/1/product_files/10",
    );
    expect((await run("state", "show", "drafts/1/product_files/10")).stdout).toContain("· Sea Serpent");
    expect((await run("history")).stdout).toContain("drafts/1/product_files/10 · Sea Serpent");
  });
});
