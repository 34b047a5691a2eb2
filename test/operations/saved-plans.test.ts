import { describe, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { run, apply, start, folder, proxy, config, sandbox } = useWorkspace({
  files: {
    "files/a.blend": "one",
    "manifests/a.yaml": `draft: 1
product_files: [{ file_id: 11, renderer: arnold }, { file_id: 12 }]
publish: true
`,
    "manifests/b.yaml": "draft: 2\nproduct_files: [{ source: ../files/a.blend }, { file_id: 21 }]\n",
    "manifests/c.yaml": "duplicates: [{ name: copy, product: { draft: 1 } }]\n",
  },
});

const jsonApi = { "content-type": "application/vnd.api+json" };
const save = () => run("plan", "--out", "plan.json");

/** Writes to drafts and products that arrive during `work`. */
async function writing(work: () => Promise<unknown>): Promise<readonly string[]> {
  const before = proxy.seen.length;
  await work();
  return proxy.seen
    .slice(before)
    .filter((line) => /^(POST|PATCH|DELETE|PUT) \/api\/(drafts|products)/.test(line));
}

const published = () => sandbox.state().products.filter(({ duplicateOf }) => duplicateOf === null).length;
const copies = () => sandbox.state().products.filter(({ duplicateOf }) => duplicateOf !== null).length;

test("plan --out replaces an earlier plan and refuses to overwrite any other file", async () => {
  expect((await save()).code).toBe(0);
  expect((await save()).code).toBe(0);
  for (const file of ["manifests/a.yaml", "draftsync.yaml"]) {
    const before = await folder.read(file);
    const { code, stderr } = await run("plan", "--out", file);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("[plan-not-saved]") });
    expect(await folder.read(file)).toBe(before);
  }
});

describe("saved plan", () => {
  test("stays fresh while other drafts change and reconcile confirms recorded files", async () => {
    await folder.write(config("refresh: { attachments: probe }\n"));
    expect(await apply()).toMatchObject({ code: 0 });
    await folder.write({
      "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11, renderer: vray }]\npublish: true\n",
    });
    await run("plan", "--out", "plan.json", "--refresh", "none");
    const other = "draft: 2\nproduct_files: [{ source: ../files/a.blend }]\n";
    const reviewed = await folder.read("manifests/a.yaml");
    await folder.write({
      "manifests/a.yaml":
        "draft: 1\nproduct_files: [{ file_id: 11, renderer: arnold }, { file_id: 12 }]\npublish: true\n",
      "manifests/b.yaml": other,
    });
    expect(await run("reconcile")).toMatchObject({ code: 0 });
    expect(await run("reconcile")).toMatchObject({ code: 0 });
    await folder.write({ "manifests/a.yaml": reviewed });
    const calls = await writing(async () => {
      expect(await apply("plan.json")).toMatchObject({ code: 0 });
    });
    expect(calls).toEqual(["PATCH /api/drafts/1/product_files/11", "DELETE /api/drafts/1/product_files/12"]);
  });

  test("stays fresh after a stop at --max-calls, and is applied once however often apply runs", async () => {
    await save();
    const codes: number[] = [];
    const calls = await writing(async () => {
      for (let round = 0; round < 12 && codes.at(-1) !== 0; round += 1) {
        codes.push((await apply("plan.json", "--max-calls", "6")).code);
      }
    });
    expect(codes.slice(0, -1)).not.toContain(6);
    expect(codes.at(0)).toBe(7);
    expect(codes.at(-1)).toBe(0);
    expect(calls.filter((line) => line.startsWith("POST"))).toHaveLength(6);
    const again = await apply("plan.json");
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout + again.stderr).toContain("Nothing to do: this plan was applied completely");
    expect({ published: published(), copies: copies() }).toEqual({ published: 1, copies: 1 });
  });

  test("registers a file again whose upload the service has forgotten since", async () => {
    const answer = (status: number, body: object) =>
      ({ type: "answer", status, headers: jsonApi, body: JSON.stringify(body) }) as const;
    proxy.choose = ({ method, path, body }) => {
      if (!path.startsWith("/api/uploads") || path.endsWith("credentials")) return undefined;
      if (method === "GET") return answer(404, { errors: [{ status: "404", title: "Not found" }] });
      const { upload_key } = JSON.parse(body).data.attributes;
      return answer(201, {
        data: { id: "u-1", type: "upload", attributes: { upload_key, status: "queued" } },
      });
    };
    const target = ["--target", "drafts/2/product_files/source:files/a.blend"];
    expect((await apply("--max-calls", "2", ...target)).code).toBe(7);
    await run("plan", "--out", "plan.json", ...target);
    expect((await apply("plan.json")).code).toBe(3);
    proxy.choose = () => undefined;
    expect((await apply("plan.json")).code).toBe(0);
    expect(sandbox.state().attachments).toHaveLength(1);
  });

  test("stays fresh after a failure, and the rest is applied once the service accepts it", async () => {
    await save();
    proxy.choose = ({ body }) =>
      body.includes("12")
        ? { type: "answer", status: 400, body: '{"errors":[{"status":"400"}]}' }
        : undefined;
    expect(await apply("plan.json")).toMatchObject({ code: 3 });
    expect(published()).toBe(0);
    proxy.choose = () => undefined;
    const calls = await writing(async () => {
      const rest = await apply("plan.json");
      expect(rest).toMatchObject({ code: 0 });
      expect(rest.stdout + rest.stderr).toMatch(
        /Continuing this plan: \d changes? already applied \(.*\), \d left\./,
      );
    });
    expect(calls.filter((line) => line.includes("/drafts/1/"))).toHaveLength(1);
    expect({ published: published(), copies: copies() }).toEqual({ published: 1, copies: 1 });
  });

  test("stays fresh after SIGKILL; a lost attachment is settled, and a lost publish waits for an operator", async () => {
    await save();
    await killAt("/api/drafts/1/product_files");
    await killAt("/api/products");
    const calls = await writing(async () => {
      expect(await apply("plan.json")).toMatchObject({ code: 4 });
    });
    expect(calls.filter((line) => /drafts\/1|products/.test(line))).toEqual([]);
    const [product] = sandbox.state().products;
    expect(await run("resolve", "drafts/1/product", "--product-id", String(product?.id))).toMatchObject({
      code: 0,
    });
    expect(await apply("plan.json")).toMatchObject({ code: 0 });
    expect({ published: published(), copies: copies() }).toEqual({ published: 1, copies: 1 });
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });

  test("stays fresh after SIGKILL within a replace; the old file is detached and nothing is uploaded again", async () => {
    await apply();
    await folder.write({ "files/a.blend": "two" });
    await save();
    await killAt("/api/drafts/2/product_files/", "DELETE");
    const calls = await writing(async () => {
      expect(await apply("plan.json")).toMatchObject({ code: 0 });
    });
    expect(calls).toEqual([expect.stringMatching(/^DELETE \/api\/drafts\/2\/product_files\/\d+$/)]);
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await writing(() => apply("plan.json"))).toEqual([]);
  });

  test("settles the new file of a replace that was killed, and detaches the old one in the next run", async () => {
    await apply();
    await folder.write({ "files/a.blend": "two" });
    await save();
    await killAt("/api/drafts/2/product_files");
    const settling = await writing(async () => {
      expect(await apply("plan.json")).toMatchObject({
        code: 7,
        stderr: expect.stringContaining("note: 1 draft has changes that wait; apply the plan again"),
      });
    });
    expect(settling).toEqual([expect.stringMatching(/^PATCH /)]);
    const rest = await writing(async () => {
      expect(await apply("plan.json")).toMatchObject({ code: 0 });
    });
    expect(rest).toEqual([expect.stringMatching(/^DELETE /)]);
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });

  test("leaves what follows from a file in doubt to the next plan", async () => {
    const list = (entries: string, more = "") => `draft: 1\nproduct_files: [${entries}]\n${more}`;
    await folder.write({
      "manifests/a.yaml": list("{ file_id: 11 }, { file_id: 12 }"),
      "manifests/c.yaml": "duplicates: []\n",
    });
    proxy.choose = ({ method, path }) =>
      method === "POST" && path.endsWith("/product_files")
        ? { type: "answer-lost" }
        : path.endsWith("/12")
          ? { type: "lost" }
          : undefined;
    expect((await apply()).code).toBe(4);
    proxy.choose = () => undefined;
    await folder.write({ "manifests/a.yaml": list("{ file_id: 11 }", "publish: true\n") });
    await save();
    expect(await apply("plan.json")).toMatchObject({
      code: 7,
      stderr: expect.stringContaining("make a new plan and apply it"),
    });
    expect(await apply("plan.json")).toMatchObject({ code: 6 });
    expect(published()).toBe(0);
    expect(await apply()).toMatchObject({ code: 0 });
    expect(sandbox.state().attachments.map(({ fileId }) => fileId)).not.toContain(12);
  });
});

/** Kills an apply of the plan after a call to this path has taken effect and before its response arrives. */
async function killAt(path: string, method = "POST"): Promise<void> {
  let held = false;
  proxy.choose = (request) => {
    if (held || request.method !== method || !request.path.startsWith(path)) return undefined;
    if (path === "/api/products" && request.path !== path) return undefined;
    held = true;
    return { type: "answer-held" };
  };
  const running = start(["apply", "plan.json", "--auto-approve"]);
  await expect.poll(() => held, { timeout: 60_000 }).toBe(true);
  running.kill("SIGKILL");
  await running.ended;
  proxy.choose = () => undefined;
}

describe("stale saved plan", () => {
  const refused = async () => {
    const calls = await writing(async () => {
      const { code, stderr } = await apply("plan.json");
      expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining("[plan-stale]") });
    });
    expect(calls).toEqual([]);
  };

  test("is refused after another apply has changed one of its drafts", async () => {
    await save();
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11 }]\n" });
    expect(await apply("--target", "drafts/1")).toMatchObject({ code: 0 });
    await refused();
  });

  test("is refused by a ledger that was restored from a backup and has recorded other files since", async () => {
    const target = ["--target", "drafts/2"];
    const source = await folder.read("manifests/b.yaml");
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: []\n" });
    expect((await apply()).code).toBe(0);
    const backup = (await run("state", "export")).stdout;
    const applySource = async () => {
      await folder.write({ "files/a.blend": "one", "manifests/b.yaml": source });
      expect((await apply(...target)).code).toBe(0);
    };
    await applySource();
    await folder.write({ "files/a.blend": "two" });
    await run("plan", "--out", "plan.json", ...target);
    await folder.remove(".draftsync");
    await folder.write({ "backup.json": backup });
    expect(await run("state", "import", "backup.json")).toMatchObject({ code: 0 });
    await applySource();
    await folder.write({ "files/a.blend": "two" });
    await refused();
  });

  test("is refused after a local file has changed whose upload is done", async () => {
    proxy.choose = ({ method, path }) =>
      method === "POST" && path === "/api/drafts/2/product_files"
        ? { type: "answer", status: 400, headers: jsonApi, body: '{"errors":[{"status":"400"}]}' }
        : undefined;
    expect((await apply("--target", "drafts/2/product_files/source:files/a.blend")).code).toBe(3);
    proxy.choose = () => undefined;
    await save();
    await folder.write({ "files/a.blend": "two" });
    expect(await apply("plan.json")).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("[plan-source-changed]"),
    });
  });

  test("is refused once it was applied and its draft has changes that waited for that", async () => {
    const protect = "draft: 1\nprotect: true\nproduct_files: [{ file_id: 11 }]\n";
    await folder.write({ "manifests/a.yaml": protect });
    await apply("--target", "drafts/1");
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: []\n" });
    await run("plan", "--out", "plan.json", "--target", "drafts/1");
    expect((await apply("plan.json")).code).toBe(7);
    await refused();
    expect((await apply("--target", "drafts/1")).code).toBe(0);
    expect(sandbox.state().attachments.filter(({ draftId }) => draftId === 1)).toEqual([]);
  });

  test("is refused after its own draft has changed since it was applied, and never publishes again", async () => {
    await save();
    expect(await apply("plan.json")).toMatchObject({ code: 0 });
    await folder.write({
      "manifests/a.yaml":
        "draft: 1\nproduct_files: [{ file_id: 11, renderer: vray }, { file_id: 12 }]\npublish: true\n",
    });
    expect(await apply()).toMatchObject({ code: 0 });
    await refused();
    expect(await run("state", "rm", "duplicates/copy", "--auto-approve")).toMatchObject({ code: 0 });
    await refused();
    expect({ published: published(), copies: copies() }).toEqual({ published: 1, copies: 1 });
  });

  test("is refused after another run has changed an unmanaged attribute between two of its own runs", async () => {
    await save();
    proxy.choose = ({ path, method }) =>
      method === "POST" && path === "/api/products"
        ? {
            type: "answer",
            status: 422,
            body: '{"errors":[{"status":"422"}]}',
            headers: { "content-type": "application/vnd.api+json" },
          }
        : undefined;
    expect((await apply("plan.json")).code).toBe(3);
    proxy.choose = () => undefined;
    await folder.write({
      "manifests/a.yaml":
        "draft: 1\nproduct_files: [{ file_id: 11, renderer: arnold }, { file_id: 12, file_format: fbx }]\n",
      "manifests/c.yaml": "duplicates: []\n",
    });
    expect(await apply()).toMatchObject({ code: 0 });
    await refused();
    expect(published()).toBe(0);
  });

  const declare = (...entries: string[]) =>
    folder.write({
      "manifests/a.yaml": `draft: 1\nproduct_files: [{ file_id: 11, renderer: arnold }${entries.map((entry) => `, ${entry}`).join("")}]\n`,
      "manifests/c.yaml": "duplicates: []\n",
    });
  const gone = () => sandbox.detach({ draftId: 1, kind: "product_file", fileId: 12 });

  test.each([
    { name: "attaches", wanted: ["{ file_id: 12 }"] },
    { name: "leaves out", wanted: [] },
  ])(
    "is refused after another run has attached a detached file again that it $name now",
    async ({ wanted }) => {
      await folder.write(config("refresh: { attachments: probe }\n"));
      await declare("{ file_id: 12 }");
      expect(await apply()).toMatchObject({ code: 0 });
      gone();
      await declare(...wanted);
      expect(await run("plan", "--refresh", "full", "--out", "plan.json")).toMatchObject({
        stdout: expect.stringContaining("not attached any more"),
      });
      await declare("{ file_id: 12 }");
      expect(await run("reconcile")).toMatchObject({ code: 0 });
      expect(sandbox.state().attachments.map(({ fileId }) => fileId)).toContain(12);
      await refused();
    },
  );

  test("is refused when another run has undone what it changed in the ledger alone", async () => {
    await declare("{ file_id: 12 }");
    await folder.write({ "manifests/b.yaml": "draft: 2\nprotect: true\nproduct_files: [{ file_id: 21 }]\n" });
    expect(await apply()).toMatchObject({ code: 0 });
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 21 }]\n" });
    await save();
    expect(await apply("plan.json")).toMatchObject({ code: 0 });
    await folder.write({ "manifests/b.yaml": "draft: 2\nprotect: true\nproduct_files: [{ file_id: 21 }]\n" });
    expect(await apply()).toMatchObject({ code: 0 });
    await refused();
  });

  test("is refused once a file that it updates is not attached any more", async () => {
    await apply();
    await folder.write({
      "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11, renderer: vray }, { file_id: 12 }]\n",
    });
    await save();
    proxy.choose = ({ method }) =>
      method === "PATCH"
        ? { type: "answer", status: 404, headers: jsonApi, body: '{"errors":[{"status":"404"}]}' }
        : undefined;
    expect((await apply("plan.json")).code).toBe(3);
    proxy.choose = () => undefined;
    expect(await apply("plan.json")).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("[plan-stale]"),
    });
  });

  test("is refused after a person has settled one of its files", async () => {
    await declare();
    expect(await apply()).toMatchObject({ code: 0 });
    await folder.write({
      "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11, renderer: vray }]\n",
    });
    await save();
    proxy.choose = ({ method }) => (method === "PATCH" ? { type: "answer-lost" } : undefined);
    expect(await apply("plan.json")).toMatchObject({ code: 4 });
    proxy.choose = () => undefined;
    expect(await run("resolve", "drafts/1/product_files/11", "--done")).toMatchObject({ code: 0 });
    await refused();
  });
});
