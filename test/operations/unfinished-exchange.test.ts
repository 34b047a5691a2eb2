import { beforeEach, describe, expect, test } from "vitest";
import type { Fault } from "../support/faulty-proxy.ts";
import { answerRegistration, fileOfContent } from "../support/registrations.ts";
import { useWorkspace } from "../support/workspace.ts";

const list = (...sources: string[]) =>
  `draft: 1\nproduct_files: [${sources.map((each) => `{ source: ../${each} }`).join(", ")}]\n`;
const managed = "draft: 1\nproduct_files: [{ source: ../a, renderer: ra }, { source: ../b, renderer: rb }]\n";

const { sandbox, proxy, folder, config, confirmLedger, run, apply } = useWorkspace({ files: {} });

const published = () => sandbox.state().products.length;
const live = () =>
  Object.fromEntries(
    sandbox.state().attachments.map(({ fileId, attributes }) => [fileId, attributes.renderer]),
  );
/** What happens to updates of file 2, and to new files. */
let faults: { readonly PATCH?: Fault; readonly POST?: Fault } = {};
const refused = { type: "answer", status: 422 } as const;
const waiting = "drafts/1/product_files/source:b";

/** Of the entries a and b, which exchange their files 1 and 2, only a has the other's by now. */
beforeEach(async () => {
  const fileOf = fileOfContent(["first", "second", "third"], 1);
  faults = {};
  proxy.choose = (request) => {
    const { method, path } = request;
    const answered = answerRegistration(request, fileOf);
    if (answered !== undefined) return answered;
    if (method === "PATCH" && path.endsWith("/product_files/2")) return faults.PATCH;
    return method === "POST" && path.endsWith("/product_files") ? faults.POST : undefined;
  };
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

test("a run of a saved plan and a reconcile say what the draft waits for", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  await run("plan", "--out", "plan.json");
  const rm = `draftsync state rm ${waiting}`;
  expect(await apply("plan.json")).toMatchObject({ code: 7, stderr: expect.stringContaining(rm) });
  expect(await run("reconcile")).toMatchObject({ code: 5, stdout: expect.stringContaining(rm) });
  expect(published()).toBe(0);
});

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
  faults = { PATCH: refused };
  expect((await apply()).code).toBe(3);
  faults = {};
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

describe.each([
  ["is attached", undefined, { 1: "ra", 2: "ra", 3: "rb" }],
  ["is refused", refused, { 1: "ra", 2: "ra" }],
])(
  "a draft whose entry a took the file of b by a call in doubt, while that of b %s,",
  (_how, POST, files) => {
    beforeEach(async () => {
      await apply();
      await folder.write({ a: "second", b: "third" });
      faults = { PATCH: { type: "answer-lost" }, ...(POST === undefined ? {} : { POST }) };
      expect((await apply()).code).toBe(4);
      faults = {};
      expect(live()).toEqual(files);
      await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
    });

    test.each([
      ["a check", () => folder.write(config("refresh: { attachments: probe }\n"))],
      ["a person", () => run("resolve", "drafts/1/product_files/2", "--done")],
    ])("is published without the old file of a once %s has settled it", async (_by, settle) => {
      await settle();
      const first = await apply();
      expect(live()).not.toHaveProperty("1");
      if (POST !== undefined) {
        expect(first).toMatchObject({
          code: 7,
          stdout: expect.stringContaining(`draftsync state rm ${waiting}`),
        });
        expect(published()).toBe(0);
        expect((await run("state", "rm", waiting, "--auto-approve")).code).toBe(0);
        expect((await apply()).code).toBe(0);
      }
      expect(published()).toBe(1);
      expect(live()).toEqual(POST === undefined ? { 2: "ra", 3: "rb" } : { 2: "ra" });
    });
  },
);
