import { beforeEach, expect, test } from "vitest";
import { answerRegistration } from "../support/registrations.ts";
import { useWorkspace } from "../support/workspace.ts";

const list = (...entries: string[]) => `draft: 1\nproduct_files: [${entries.join(", ")}]\n`;
const byKey = (key: string) => `{ upload_key: ${key}, renderer: r${key} }`;
const source = "{ source: ../x.glb, renderer: rx }";
const { sandbox, proxy, folder, arrivals, confirmLedger, run, apply } = useWorkspace({ files: {} });

const attachedFiles = () =>
  sandbox
    .state()
    .attachments.map(({ fileId }) => fileId)
    .sort();

/** The file that the service has for an upload key. */
let fileOf: (uploadKey: string) => number;
let lastKey = "";

beforeEach(() => {
  proxy.choose = (request) =>
    answerRegistration(request, (uploadKey) => {
      lastKey = uploadKey;
      return fileOf(uploadKey);
    });
});

/** Attaches file 11, the upload of the source's first content. */
async function attachFirst(manifest: string): Promise<void> {
  fileOf = () => 11;
  await folder.write({ "manifests/a.yaml": manifest, "x.glb": "first" });
  await apply();
  await confirmLedger();
}

test("a continued plan attaches no uploaded file that another entry has, and publishes nothing", async () => {
  fileOf = () => 50;
  await folder.write({ "manifests/a.yaml": list(byKey("a")) });
  await apply();
  await confirmLedger();
  await folder.write({ "manifests/a.yaml": `${list(byKey("a"), byKey("b"))}publish: true\n` });
  await run("plan", "--out", "plan.json");
  expect((await apply("plan.json", "--max-calls", "1")).code).toBe(7);
  expect(await apply("plan.json")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("[same-file-attached]"),
  });
  expect(sandbox.state().products).toEqual([]);
  expect(sandbox.state().attachments).toMatchObject([{ fileId: 50, attributes: { renderer: "ra" } }]);
});

test("a continued plan keeps the old file of a replacement for the entry that takes it over", async () => {
  await attachFirst(list(source));
  fileOf = (key) => (key === "b" ? 11 : 12);
  await folder.write({ "manifests/a.yaml": list(source, byKey("b")), "x.glb": "second" });
  await run("plan", "--out", "plan.json");
  // The first run ends after the uploads. In the second, the new file of the replacement is attached last.
  expect((await apply("plan.json", "--max-calls", "3")).code).toBe(7);
  arrivals.length = 0;
  const { choose } = proxy;
  const isTakenOver = () => arrivals.some(({ method }) => method === "PATCH");
  proxy.choose = (request) =>
    request.method === "POST" && request.path.endsWith("/product_files")
      ? { type: "answer-held", until: expect.poll(isTakenOver, { timeout: 10_000 }).toBe(true) }
      : choose(request);
  expect((await apply("plan.json")).code).toBe(0);
  expect(arrivals.map(({ method }) => method).sort()).toEqual(["PATCH", "POST"]);
  const files = sandbox.state().attachments.map(({ fileId, attributes }) => [fileId, attributes.renderer]);
  expect(files.sort()).toEqual([
    [11, "rb"],
    [12, "rx"],
  ]);
  expect((await run("plan")).stdout).toContain("No changes");
});

test("a continued plan keeps the old file of a changed source that another entry names", async () => {
  await attachFirst(list(source));
  fileOf = () => 12;
  const manifest = `${list(source, `{ upload_id: u-${lastKey}, renderer: rx }`)}publish: true\n`;
  await folder.write({ "manifests/a.yaml": manifest, "x.glb": "second" });
  await run("plan", "--out", "plan.json");
  // The first run adopts the old file and uploads the new one.
  expect((await apply("plan.json", "--max-calls", "2")).code).toBe(7);
  arrivals.length = 0;
  expect((await apply("plan.json")).code).toBe(0);
  expect(arrivals.map(({ method }) => method)).not.toContain("DELETE");
  expect(attachedFiles()).toEqual([11, 12]);
  expect(sandbox.state().products).toHaveLength(1);
  expect((await run("plan")).stdout).toContain("No changes");
});

test.each([
  { name: "a lost call", fault: { type: "answer-lost" } as const },
  { name: "no fault", fault: undefined },
])("a file that another entry kept is protected after $name", async ({ fault }) => {
  const protectedList = (...entries: string[]) => `${list(...entries)}protect: true\n`;
  await attachFirst(protectedList(source));
  fileOf = () => 12;
  await folder.write({ "manifests/a.yaml": protectedList(source, "{ file_id: 11 }"), "x.glb": "second" });
  const target = ["--target", "drafts/1/product_files/source:x.glb"];
  const { choose } = proxy;
  let isLost = fault !== undefined;
  proxy.choose = (request) => {
    const isAttach = request.path.includes("/product_files");
    if (isAttach && request.method === "PATCH" && isLost) return { type: "lost" };
    return isAttach && request.method === "POST" ? fault : choose(request);
  };
  expect((await apply(...target)).code).toBe(fault === undefined ? 0 : 4);
  isLost = false;
  expect((await apply(...target)).code).toBe(0);
  await folder.write({ "manifests/a.yaml": protectedList(source) });
  expect(await apply()).toMatchObject({ code: 5, stderr: expect.stringContaining("[draft-protected]") });
  expect(attachedFiles()).toEqual([11, 12]);
});

test("a taken file whose former entry was in doubt stays attached", async () => {
  await attachFirst(list(source));
  fileOf = () => 12;
  await folder.write({ "x.glb": "second" });
  const { choose } = proxy;
  proxy.choose = (request) => (request.path.includes("/product_files") ? { type: "lost" } : choose(request));
  expect((await apply()).code).toBe(4);
  proxy.choose = choose;
  fileOf = () => 11;
  await folder.write({ "manifests/a.yaml": `${list(source, byKey("b"))}publish: true\n` });
  arrivals.length = 0;
  expect((await apply()).code).toBe(7);
  expect((await apply()).code).toBe(0);
  expect(arrivals.map(({ method }) => method)).not.toContain("DELETE");
  expect(attachedFiles()).toEqual([11, 12]);
  expect(sandbox.state().products).toHaveLength(1);
});
