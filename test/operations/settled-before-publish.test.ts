import { beforeEach, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, folder, run, apply, confirmLedger } = useWorkspace({ files: {} });
const manifest = (files: string) =>
  folder.write({ "manifests/a.yaml": `draft: 1\nproduct_files: [${files}]\npublish: true\n` });
const attached = () => sandbox.state().attachments.length;
const products = () => sandbox.state().products.filter(({ draftId }) => draftId === 1).length;

/** Loses the POST of a file before it arrives and every later call of the apply. */
beforeEach(async () => {
  await confirmLedger();
  await folder.write({ "a.glb": "first" });
  await manifest("{ source: ../a.glb }");
  let isLost = false;
  proxy.choose = ({ path }) => {
    isLost ||= path.endsWith("/product_files");
    return isLost ? { type: "lost" } : undefined;
  };
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
});

test("a draft is published only after the changed file, whose attachment was in doubt, is attached", async () => {
  await folder.write({ "a.glb": "second" });
  const settled = await apply();
  expect(settled).toMatchObject({ code: 7, stdout: expect.stringContaining("[waits-for-doubt]") });
  expect(settled.stderr).toContain("note: 1 draft has changes that wait; run apply again");
  expect([attached(), products()]).toEqual([0, 0]);
  expect((await apply()).code).toBe(0);
  expect([attached(), products()]).toEqual([1, 1]);
  expect((await run("plan")).stdout).toContain("No changes.");
});

test("a saved plan and reconcile also publish only after the doubt is settled", async () => {
  await folder.write({ "a.glb": "second" });
  await run("plan", "--out", "plan.json");
  expect((await apply("plan.json")).code).toBe(7);
  expect(products()).toBe(0);
  await folder.write({
    "draftsync.yaml": `${await folder.read("draftsync.yaml")}reconcile: { allow: [create, publish] }\n`,
  });
  expect((await run("reconcile")).code).toBe(0);
  expect([attached(), products()]).toEqual([1, 1]);
});
