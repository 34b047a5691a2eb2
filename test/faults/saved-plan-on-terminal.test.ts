import { expect, test } from "vitest";
import { startOnScreen } from "../support/screen.ts";
import { useWorkspace } from "../support/workspace.ts";

const { folder, options, run, sandbox } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10, renderer: arnold }]\n" },
});

const apply = (...args: string[]) =>
  startOnScreen(["apply", "plan.json", ...args], {
    cwd: folder.path,
    env: { ...options().env, NO_COLOR: "1" },
    columns: 80,
    rows: 40,
  });

test("a saved plan shows its changes on a terminal before the prompt", async () => {
  expect(await run("plan", "--out", "plan.json")).toMatchObject({ code: 0 });
  const screen = await apply();
  await screen.until((lines) => lines.some((line) => line.includes('Type "yes" to continue:')));
  const shown = screen.lines().join("\n");
  expect(shown).toContain("+ product_files/10");
  expect(shown).toContain("arnold");
  screen.type("yes\r");
  expect(await screen.ended).toBe(0);
  expect(sandbox.state().attachments).toHaveLength(1);
});

test("a saved plan with --auto-approve shows only its totals", async () => {
  expect(await run("plan", "--out", "plan.json")).toMatchObject({ code: 0 });
  const screen = await apply("--auto-approve");
  expect(await screen.ended).toBe(0);
  expect(screen.lines().join("\n")).not.toContain("arnold");
});

test("--json asks for no approval of changes that it does not show", async () => {
  expect(await run("plan", "--out", "plan.json")).toMatchObject({ code: 0 });
  const screen = await apply("--json");
  await screen.until((lines) => lines.some((line) => line.includes("[approval-needed]")));
  expect(await screen.ended).toBe(1);
  expect(sandbox.state().attachments).toEqual([]);
});

test("Ctrl-C at the question about a new ledger ends with 130", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  expect(await run("plan", "--out", "plan.json")).toMatchObject({ code: 0 });
  const screen = await apply();
  await screen.until((lines) => lines.some((line) => line.includes('type "yes" to publish')));
  screen.type("\u0003");
  expect(await screen.ended).toBe(130);
  expect(sandbox.state().products).toEqual([]);
});
