import { beforeEach, expect, test } from "vitest";
import { answerRegistration, fileOfContent } from "../support/registrations.ts";
import { useWorkspace } from "../support/workspace.ts";

const list = (...sources: string[]) =>
  `draft: 1\nproduct_files: [${sources.map((each) => `{ source: ../${each} }`).join(", ")}]\n`;
const managed = "draft: 1\nproduct_files: [{ source: ../a, renderer: ra }, { source: ../b, renderer: rb }]\n";

const { sandbox, proxy, folder, confirmLedger, run, apply } = useWorkspace({ files: {} });

const published = () => sandbox.state().products.length;
const live = () =>
  Object.fromEntries(
    sandbox.state().attachments.map(({ fileId, attributes }) => [fileId, attributes.renderer]),
  );
let refuses = false;
const waiting = "drafts/1/product_files/source:b";

/** Of the entries a and b, which exchange their files 1 and 2, only a has the other's by now. */
beforeEach(async () => {
  const fileOf = fileOfContent(["first", "second", "third"], 1);
  proxy.choose = (request) =>
    refuses && request.method === "PATCH"
      ? { type: "answer", status: 422 }
      : answerRegistration(request, fileOf);
  await folder.write({ "manifests/a.yaml": managed, a: "first", b: "second" });
  await apply();
  await confirmLedger();
  await folder.write({ "manifests/a.yaml": list("a", "b"), a: "second", b: "first" });
  await apply();
  await folder.write({ a: "first", b: "second" });
  expect((await apply("--max-calls", "1")).code).toBe(7);
  expect(live()).toEqual({ 1: "ra", 2: "ra" });
});

test.each([
  ["is renamed", list("a", "c")],
  ["is named by its id", "draft: 1\nproduct_files: [{ source: ../a }, { file_id: 2 }]\n"],
  ["is removed", list("a")],
  ["is in a list that is left out", "draft: 1\n"],
])(
  "a draft waits while the entry that lost its file %s, and is published once it is back",
  async (_how, text) => {
    await folder.write({ "manifests/a.yaml": `${text}publish: true\n`, c: "second" });
    const { code, stdout } = await apply();
    expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringContaining("[waits-for-entry]") });
    expect(stdout).toContain(`draftsync state rm ${waiting}`);
    expect(published()).toBe(0);
    await folder.write({ "manifests/a.yaml": `${list("a", "b")}publish: true\n` });
    expect((await apply()).code).toBe(0);
    expect(live()).toEqual({ 1: "ra", 2: "rb" });
    expect(published()).toBe(1);
  },
);

test.each([[[waiting, "drafts/1/product_files/2"]], [["drafts/1"]]])(
  "state rm %j gives up what an unfinished run left behind",
  async (addresses) => {
    await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
    expect((await run("state", "list")).stdout).toMatch(`${waiting}  waits for a file`);
    expect((await run("state", "rm", ...addresses, "--auto-approve")).code).toBe(0);
    expect((await apply()).code).toBe(0);
    expect(published()).toBe(1);
    await folder.write({ "manifests/a.yaml": list("a", "b") });
    expect((await run("plan")).stdout).not.toContain("rb");
  },
);

test("a draft waits while a file is attached that its entry has another one for, and its list is left out", async () => {
  await apply();
  await folder.write({ a: "second", b: "third" });
  refuses = true;
  expect((await apply()).code).toBe(3);
  refuses = false;
  expect(live()).toEqual({ 1: "ra", 2: "rb", 3: "rb" });
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  const { code, stdout } = await apply();
  expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringContaining("[waits-for-entry]") });
  expect(stdout).toContain("draftsync state rm drafts/1/product_files/2\n");
  expect(published()).toBe(0);
  await folder.write({ "manifests/a.yaml": `${list("a", "b")}publish: true\n` });
  expect((await apply()).code).toBe(0);
  expect(live()).toEqual({ 2: "ra", 3: "rb" });
  expect(published()).toBe(1);
});
