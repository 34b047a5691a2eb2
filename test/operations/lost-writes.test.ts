import { beforeEach, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const file = (format: string) => ({
  "manifests/a.yaml": `draft: 1\nproduct_files: [{ file_id: 9 }, { file_id: 10, file_format: ${format} }]\n`,
});
const without = { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 9 }]\n" };
const { proxy, folder, run, start } = useWorkspace({
  files: file("a"),
  service: { profile: "{ settle_delay: 8s }" },
});

/** Applies and returns the waits and calls of the run in order. */
async function apply() {
  const { code, stdout } = await run("apply", "--auto-approve", "--json");
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const steps = events.flatMap(({ type, reason, method, outcome }) => {
    if (type === "waiting" && reason === "settle") return ["settle"];
    return type === "call_finished" ? [`${method} ${outcome}`] : [];
  });
  return { code, steps };
}

/** Loses this many requests of the method. */
function lose(method: string, times: number) {
  let left = times;
  proxy.choose = (request) => {
    if (request.method !== method || left === 0) return undefined;
    left -= 1;
    return { type: "lost" };
  };
}

beforeEach(async () => {
  expect(await apply()).toMatchObject({ code: 0 });
});

test("a different write waits until a lost write, sent again since, can no longer arrive", async () => {
  lose("PATCH", 1);
  await folder.write(file("b"));
  expect(await apply()).toEqual({ code: 0, steps: ["PATCH unknown", "PATCH done"] });
  await folder.write(file("c"));
  expect(await apply()).toEqual({ code: 0, steps: ["settle", "PATCH done"] });
  await folder.write(file("d"));
  expect(await apply()).toEqual({ code: 0, steps: ["PATCH done"] });
});

test("a write in doubt is sent again immediately, and a different write waits", async () => {
  lose("PATCH", 3);
  await folder.write(file("b"));
  expect(await apply()).toMatchObject({ code: 4 });
  expect(await apply()).toEqual({ code: 0, steps: ["PATCH done"] });
  await folder.write(file("a"));
  expect(await apply()).toEqual({ code: 0, steps: ["settle", "PATCH done"] });
});

test("import waits until a lost call can no longer change what it reads", async () => {
  lose("PATCH", 3);
  await folder.write(file("b"));
  expect(await apply()).toMatchObject({ code: 4 });
  expect(await run("import", "drafts/1/product_files/10")).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/Waiting \d s until what is in doubt can no longer take effect/),
  });
});

test("resolve --done of a file is refused while another call about it may still take effect", async () => {
  lose("PATCH", 3);
  await folder.write(file("b"));
  expect(await apply()).toMatchObject({ code: 4 });
  expect(await run("resolve", "drafts/1/product_files/10", "--done")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("[resolution-too-early]"),
  });
});

test("resolve --not-done is refused while the call may still take effect", async () => {
  lose("POST", 1);
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  expect(await apply()).toMatchObject({ code: 4 });
  expect(await run("resolve", "drafts/1/product", "--not-done")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("[resolution-too-early]"),
  });
});

test("resolve --not-done waits no longer than settle_delay for a call dated by a clock that was ahead", async () => {
  lose("POST", 1);
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  const shift = "const now = Date.now; Date.now = () => now() + 86_400_000;";
  const ahead = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
  expect((await start(["apply", "--auto-approve"], ahead).ended).code).toBe(4);
  const resolve = () => run("resolve", "drafts/1/product", "--not-done");
  expect(await resolve()).toMatchObject({ code: 1, stderr: expect.stringContaining("within 8 s") });
  await expect.poll(async () => (await resolve()).code, { timeout: 60_000, interval: 1_000 }).toBe(0);
});

test("changes to the files of a draft wait while its lost publish may still arrive", async () => {
  await folder.write({ "manifests/a.yaml": `${file("a")["manifests/a.yaml"]}publish: true\n` });
  lose("POST", 1);
  expect(await apply()).toMatchObject({ code: 4 });
  await folder.write({ "manifests/a.yaml": `${file("b")["manifests/a.yaml"]}publish: true\n` });
  expect(await apply()).toEqual({ code: 4, steps: ["settle", "PATCH done"] });
});

test("a file detached by a second request is attached again only when the first can no longer arrive", async () => {
  lose("DELETE", 1);
  await folder.write(without);
  expect(await apply()).toEqual({ code: 0, steps: ["DELETE unknown", "DELETE done"] });
  await folder.write(file("a"));
  expect(await apply()).toEqual({ code: 0, steps: ["settle", "POST done"] });
});
