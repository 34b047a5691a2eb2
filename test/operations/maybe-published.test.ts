import { beforeEach, describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { useWorkspace } from "../support/workspace.ts";

const manifest = "draft: 1\nproduct_files: [{ file_id: 11 }]\npublish: true\n";
const workspace = useWorkspace({
  files: {
    "manifests/a.yaml": manifest,
    "manifests/c.yaml": "duplicates: [{ name: copy, product: { draft: 1 } }]\n",
  },
});
const { folder, sandbox, options, proxy, config, confirmLedger, start } = workspace;

const run = (...args: string[]) => draftsync(args, { ...options(), confirmsLedger: false });
const apply = (...args: string[]) => run("apply", "--auto-approve", ...args);
const resolve = (...args: string[]) => run("resolve", "drafts/1/product", ...args);
const publishes = () => proxy.seen.filter((request) => request === "POST /api/products").length;
const unattended = "reconcile: { allow: [create, update, publish, duplicate] }\n";
const refused = { code: 5, stderr: expect.stringContaining("[maybe-published]") };

/** The product that the lost ledger recorded. */
let productId = "";

beforeEach(async () => {
  await apply("--new-ledger");
  productId = String(sandbox.state().products[0]?.id);
  await folder.remove(".draftsync");
  proxy.seen.length = 0;
});

const attached = { type: "answer", status: 422, body: '{"errors":[{"status":"422"}]}' } as const;

describe("publish of a draft whose file was attached before the ledger existed", () => {
  test("has a change_excluded event, and so has the duplicate", async () => {
    await apply("--new-ledger");
    const events = (await apply("--json")).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events).toMatchObject([
      { type: "planned" },
      { type: "change_excluded", address: "drafts/1/product", action: "publish", code: "maybe-published" },
      { type: "change_excluded", address: "duplicates/copy", action: "duplicate", code: "maybe-published" },
    ]);
  });

  test.each([429, 425])(
    "is excluded when the attachment is refused with %d although the file is attached",
    async (status) => {
      const throttled = { type: "answer", status, body: "", headers: { "retry-after": "0" } } as const;
      proxy.choose = ({ method, path }) =>
        method === "POST" && path.endsWith("/product_files") ? throttled : undefined;
      expect(await apply("--new-ledger")).toMatchObject(refused);
      proxy.choose = () => undefined;
      expect(await apply()).toMatchObject(refused);
      expect(publishes()).toBe(0);
    },
  );

  describe("after the attachment was refused and the PATCH that adopts the file is in doubt", () => {
    const away = { type: "answer", status: 503, body: "<html>away</html>" } as const;

    beforeEach(async () => {
      proxy.choose = ({ method }) =>
        method === "POST" ? { type: "answer", status: 429, body: "" } : method === "PATCH" ? away : undefined;
      expect(await apply("--new-ledger")).toMatchObject({ code: 4 });
      proxy.choose = () => undefined;
    });

    test.each([
      { settled: "by the next apply", by: [] },
      { settled: "by an operator", by: ["resolve", "drafts/1/product_files/11", "--done"] },
      { settled: "by an import", by: ["import", "drafts/1/product_files/11"] },
      { settled: "by import --all", by: ["import", "--all"] },
    ])("is excluded when the doubt is settled $settled", async ({ by }) => {
      if (by.length > 0) expect((await run(...by)).code).toBe(0);
      expect(await apply()).toMatchObject(refused);
      expect(publishes()).toBe(0);
    });

    test("is excluded when the doubt is settled by a refresh", async () => {
      await folder.write(config(`refresh: { attachments: probe }\n${unattended}`));
      expect(await run("reconcile")).toMatchObject({ code: 5 });
      expect(publishes()).toBe(0);
    });
  });

  test("is excluded from a saved plan whose own run finds the file; the other changes are applied", async () => {
    await folder.write({ "manifests/b.yaml": "draft: 3\nproduct_files: [{ file_id: 31 }]\npublish: true\n" });
    await run("plan", "--out", "p.json");
    expect(await run("apply", "p.json", "--auto-approve")).toMatchObject({ code: 5 });
    expect(await run("apply", "p.json", "--auto-approve", "--new-ledger")).toMatchObject(refused);
    expect(sandbox.state().products.map(({ draftId }) => draftId)).toEqual([1, 1, 3]);
    expect(await run("apply", "p.json", "--auto-approve")).toMatchObject(refused);
  });

  test("is excluded when a later run settles the attachment", async () => {
    proxy.choose = ({ method }) => (method === "PATCH" ? { type: "lost" } : undefined);
    expect(await apply("--new-ledger")).toMatchObject({ code: 4 });
    proxy.choose = () => undefined;
    expect(await apply()).toMatchObject(refused);
    expect(await apply()).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });

  test("is excluded when the file was imported, as the guide for a lost ledger describes", async () => {
    expect(await run("import", "--all")).toMatchObject({ code: 0 });
    expect(await apply("--new-ledger")).toMatchObject(refused);
    expect(publishes()).toBe(0);
    expect(await resolve("--product-id", productId)).toMatchObject({ code: 0 });
    expect(await apply()).toMatchObject({ code: 0 });
  });

  test("is excluded after a run that stopped at --max-calls", async () => {
    const { code, stdout, stderr } = await apply("--new-ledger", "--max-calls", "2");
    expect(code).toBe(7);
    expect(stdout + stderr).toContain("drafts/1/product_files/11 was attached already");
    expect(await apply()).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });

  test("is excluded when the ledger is confirmed after the file was found", async () => {
    proxy.choose = ({ method, path }) =>
      method === "POST" && path.endsWith("product_files") ? attached : undefined;
    expect(await apply()).toMatchObject(refused);
    expect(await apply("--new-ledger")).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });

  test("is excluded after a run that was killed", async () => {
    await folder.write({ "manifests/a.yaml": manifest.replace("}]", "}, { file_id: 12 }]") });
    proxy.choose = ({ body }) => (body.includes('"file_id":12') ? { type: "answer-held" } : undefined);
    const killed = start(["apply", "--auto-approve", "--json"]);
    await expect.poll(killed.stdout, { timeout: 20_000 }).toContain('"was_attached":true');
    killed.kill("SIGKILL");
    await killed.ended;
    proxy.choose = () => undefined;
    expect(await apply()).toMatchObject(refused);
    expect(sandbox.state().attachments).toHaveLength(2);
    expect(publishes()).toBe(0);
  });

  test("is excluded from every reconcile", async () => {
    await folder.write(config(unattended));
    await confirmLedger();
    expect(await run("reconcile")).toMatchObject({ code: 5 });
    for (const _ of [1, 2]) {
      const { code, stdout, stderr } = await run("reconcile");
      expect(code).toBe(5);
      expect(stdout + stderr).toContain("[maybe-published]");
    }
    expect(publishes()).toBe(0);
  });

  test("is excluded when a refresh finds the file", async () => {
    await folder.write(config("refresh: { attachments: probe }\n"));
    expect(await apply("--new-ledger")).toMatchObject(refused);
    expect(await apply()).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });

  test("is excluded when a refresh settles the attachment", async () => {
    proxy.choose = ({ method }) => (method === "PATCH" ? { type: "lost" } : undefined);
    expect(await apply("--new-ledger")).toMatchObject({ code: 4 });
    proxy.choose = () => undefined;
    await folder.write(config("refresh: { attachments: probe }\n"));
    expect(await apply()).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });

  test("is excluded from a plan saved before or after the file was found", async () => {
    await confirmLedger();
    await run("plan", "--out", "before.json");
    expect(await apply()).toMatchObject(refused);
    expect(await apply("before.json")).toMatchObject(refused);
    await run("plan", "--out", "after.json");
    expect(await apply("after.json")).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });

  test("is excluded after an export and import of the ledger", async () => {
    await apply("--new-ledger");
    await folder.write({ "export.json": (await run("state", "export")).stdout });
    await folder.remove(".draftsync");
    expect(await run("state", "import", "export.json")).toMatchObject({ code: 0 });
    expect((await run("state", "list")).stdout).toMatch(/drafts\/1\/product +maybe published/);
    expect(await apply()).toMatchObject(refused);
    expect(publishes()).toBe(0);
  });
});

test("every plan format shows the excluded publish and both resolve commands", async () => {
  await apply("--new-ledger");
  const { stdout, stderr } = await run("plan");
  const markdown = (await run("plan", "--format", "markdown")).stdout;
  const html = (await run("plan", "--format", "html")).stdout;
  const json = (await run("plan", "--format", "json")).stdout;
  for (const text of [stdout + stderr, markdown, html, json]) {
    expect(text).toContain("maybe-published");
    expect(text).toContain("draftsync resolve drafts/1/product --product-id ID");
    expect(text).toContain("draftsync resolve drafts/1/product --not-done");
  }
  const { diagnostics } = JSON.parse(json);
  expect(diagnostics).toHaveLength(1);
});

test("resolve records the product of a draft that may be published", async () => {
  await apply("--new-ledger");
  expect(await resolve()).toMatchObject({ code: 1, stderr: expect.stringContaining("--not-done") });
  expect(await resolve("--done")).toMatchObject({ code: 1 });
  expect(await resolve("--product-id", productId)).toMatchObject({ code: 0 });
  expect((await run("state", "list")).stdout).not.toContain("maybe published");
  expect(await apply()).toMatchObject({ code: 0 });
  expect(publishes()).toBe(0);
});

test("a draft whose product is recorded is not affected by a file attached before the ledger existed", async () => {
  await confirmLedger();
  expect(await resolve("--product-id", productId)).toMatchObject({ code: 0 });
  await folder.write({ "manifests/c.yaml": "duplicates: []\n" });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  expect(publishes()).toBe(0);
});

test("a later revision is not published after a file was found attached, until a person settles it", async () => {
  await confirmLedger();
  expect(await resolve("--product-id", productId)).toMatchObject({ code: 0 });
  await folder.write({ "manifests/a.yaml": manifest.replace("true", "{ revision: 2 }") });
  expect(await apply()).toMatchObject(refused);
  expect(await apply()).toMatchObject(refused);
  expect(publishes()).toBe(0);
  expect(await resolve("--not-done")).toMatchObject({ code: 0 });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(publishes()).toBe(1);
});

test("a later revision that was published into the same product is recorded with --done, and not with its id", async () => {
  await confirmLedger();
  expect(await resolve("--product-id", productId)).toMatchObject({ code: 0 });
  await folder.write({
    "manifests/a.yaml": manifest.replace("true", "{ revision: 2 }"),
    "manifests/c.yaml": "duplicates: []\n",
  });
  expect(await apply()).toMatchObject(refused);
  expect(await resolve("--product-id", productId)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/product-recorded-elsewhere[\s\S]*--done\. If it has not: .* --not-done/),
  });
  expect(await resolve("--done")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`recorded as product ${productId} at revision 2`),
  });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(publishes()).toBe(0);
});

test("--done is refused for a draft whose revisions are different products", async () => {
  await confirmLedger();
  expect(await resolve("--product-id", productId)).toMatchObject({ code: 0 });
  const revision = (number: number, files = "") =>
    folder.write({ "manifests/a.yaml": `draft: 1\n${files}publish: { revision: ${number} }\n` });
  await revision(2);
  expect(await apply()).toMatchObject({ code: 0 });
  await revision(3, "product_files: [{ file_id: 11 }]\n");
  expect(await apply()).toMatchObject(refused);
  expect(await resolve("--done")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("[resolution-needed]"),
  });
  expect(publishes()).toBe(1);
});
