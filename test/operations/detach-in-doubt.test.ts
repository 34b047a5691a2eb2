import { beforeEach, describe, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const list = (entries: string, rest = "") => ({
  "manifests/a.yaml": `draft: 1\n${rest}product_files: [${entries}]\n`,
});
const both = "{ file_id: 10 }, { file_id: 11 }";
const { sandbox, proxy, folder, arrivals, run, apply } = useWorkspace({
  files: { ...list(both), "a.glb": "first" },
  sandbox: { uploadProcessingMs: 0 },
});
const attached = () => sandbox.state().attachments.map(({ fileId }) => fileId);
const writes = () => arrivals.filter(({ method }) => method !== "GET").map(({ method }) => method);
const loseDeletes = (tookEffect: boolean) => {
  proxy.choose = ({ method }) =>
    method === "DELETE" ? { type: "answer", status: 503, carriedOut: tookEffect } : undefined;
};

describe.each([{ tookEffect: true }, { tookEffect: false }])(
  "detach in doubt (took effect: $tookEffect)",
  ({ tookEffect }) => {
    beforeEach(async () => {
      expect((await apply()).code).toBe(0);
      await folder.write(list("{ file_id: 10 }"));
      loseDeletes(tookEffect);
      expect((await apply()).code).toBe(4);
      proxy.choose = () => undefined;
    });

    test("is settled before a publish when the manifest lists the file again", async () => {
      await folder.write(list(both, "publish: true\n"));
      expect((await run("plan")).stdout).toContain("drafts/1/product_files/11");
      expect((await apply()).code).toBe(0);
      expect(attached().sort()).toEqual([10, 11]);
      expect(writes().indexOf("PATCH")).toBeLessThan(writes().length - 1);
      expect(sandbox.state().products).toHaveLength(1);
      arrivals.length = 0;
      expect((await apply()).code).toBe(0);
      expect(writes()).toEqual([]);
    });

    test("is left to a person, and the draft not published, when the manifest omits the list", async () => {
      await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
      arrivals.length = 0;
      expect((await apply()).code).toBe(4);
      expect(writes()).toEqual([]);
      expect(attached().sort()).toEqual(tookEffect ? [10] : [10, 11]);
      expect((await run("state", "list")).stdout).toMatch(/detach of file \d+ in doubt/);
      expect(sandbox.state().products).toEqual([]);
    });

    test("is reported by drift as not compared", async () => {
      await folder.write(list(both));
      const { code, stderr } = await run("drift", "--probe");
      expect(code).toBe(4);
      expect(stderr).toContain("drafts/1/product_files/11 in doubt: not compared");
    });
  },
);

test("a replace in doubt keeps one file attached when the source gets its old content back", async () => {
  await folder.write(list("{ source: ../a.glb }", "publish: true\n"));
  expect((await apply("--remove-drafts")).code).toBe(0);
  const [first] = attached();
  await folder.write({ "a.glb": "second" });
  loseDeletes(true);
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write({ "a.glb": "first", ...list("{ source: ../a.glb }", "publish: { revision: 2 }\n") });
  // The file in doubt is settled first: another one is attached and detached by the next run.
  expect((await apply()).code).toBe(7);
  expect((await apply()).code).toBe(0);
  expect(attached()).toEqual([first]);
  expect(sandbox.state().products).toHaveLength(2);
});

test("a detach that took effect and returned a conflict stays in doubt", async () => {
  expect((await apply()).code).toBe(0);
  await folder.write(list("{ file_id: 10 }"));
  proxy.choose = ({ method }) =>
    method === "DELETE" ? { type: "answer", status: 409, carriedOut: true } : undefined;
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  await folder.write(list(both, "publish: true\n"));
  expect((await apply()).code).toBe(0);
  expect(attached().sort()).toEqual([10, 11]);
  expect(sandbox.state().products).toHaveLength(1);
});
