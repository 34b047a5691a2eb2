import { cp, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { startOnScreen } from "../support/screen.ts";
import { useWorkspace } from "../support/workspace.ts";

const workspace = useWorkspace({
  files: {
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11, renderer: arnold }]\npublish: true\n",
    "manifests/c.yaml":
      "duplicates: [{ name: copy, product: { draft: 1 } }, { name: other, product: { draft: 1 } }]\n",
  },
});
const { folder, sandbox, options, proxy, config, holdApply } = workspace;

const unattended = "reconcile: { allow: [create, update, publish, duplicate] }\n";

const run = (...args: string[]) => draftsync(args, { ...options(), confirmsLedger: false });
const apply = (...args: string[]) => run("apply", "--auto-approve", ...args);
const products = () => sandbox.state().products;
const removeLedger = () => folder.remove(".draftsync");

describe("new ledger", () => {
  test("publishes and duplicates nothing, applies the rest, and exits with 5", async () => {
    const { code, stderr } = await apply();
    expect(code).toBe(5);
    expect(stderr).toContain("[new-ledger]");
    expect(stderr).toContain("draftsync apply --new-ledger");
    expect(stderr).toContain("draftsync resolve drafts/1/product --product-id");
    expect(products()).toEqual([]);
    expect(sandbox.state().attachments).toHaveLength(1);
    expect(await apply()).toMatchObject({ code: 5 });
    expect(products()).toEqual([]);
  });

  test("publishes after apply --new-ledger and stays confirmed", async () => {
    await apply();
    expect(await apply("--new-ledger")).toMatchObject({ code: 0 });
    expect(products()).toHaveLength(3);
    await folder.write({
      "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 21 }]\npublish: true\n",
    });
    expect(await apply()).toMatchObject({ code: 0 });
    expect(products()).toHaveLength(4);
  });

  test("publishes nothing a second time when it replaces a lost ledger", async () => {
    expect(await apply("--new-ledger")).toMatchObject({ code: 0 });
    await removeLedger();
    await folder.write(config(unattended));
    expect(await apply()).toMatchObject({ code: 5 });
    expect(await run("reconcile")).toMatchObject({ code: 5 });
    expect(products()).toHaveLength(3);
  });

  test("is reported in the first line of every plan format", async () => {
    const line = "New or restored ledger: apply will leave out 1 publish and 2 duplicates";
    expect((await run("plan")).stdout.split("\n")[0]).toBe(`${line}.`);
    const markdown = (await run("plan", "--format", "markdown")).stdout.split("\n");
    expect(markdown[0]).toMatch(/^<!-- draftsync:plan/);
    expect(markdown[1]).toContain(`**${line}.**`);
    const html = (await run("plan", "--format", "html")).stdout;
    expect(html.slice(html.indexOf("<main")).match(/<h2[^>]*>([^<]*)/)?.[1]).toBe(line);
    await run("plan", "--out", "plan.json");
    expect(JSON.parse(await folder.read("plan.json"))).toMatchObject({ new_ledger: true });
    expect((await run("show", "plan.json")).stdout.split("\n")[0]).toBe(`${line}.`);
    await apply("--new-ledger");
    expect((await run("plan")).stdout).not.toContain("New ledger");
    expect(JSON.parse((await run("plan", "--format", "json")).stdout)).toMatchObject({ new_ledger: false });
  });

  test("lets a saved plan continue with --new-ledger", async () => {
    await run("plan", "--out", "plan.json");
    expect(await apply("plan.json")).toMatchObject({ code: 5 });
    expect(products()).toEqual([]);
    expect(await apply("plan.json")).toMatchObject({ code: 5 });
    expect(await apply("plan.json", "--new-ledger")).toMatchObject({ code: 0 });
    expect(products()).toHaveLength(3);
    expect(await apply("plan.json")).toMatchObject({ code: 0 });
    expect(products()).toHaveLength(3);
  });

  test("is not confirmed by attachments, imports or reconcile; an export keeps its confirmation", async () => {
    await folder.write(config(unattended));
    await apply();
    expect(await run("import", "--all")).toMatchObject({ code: 0 });
    expect(await run("reconcile")).toMatchObject({ code: 5 });
    const move = async (name: string) => {
      await folder.write({ [`${name}.json`]: (await run("state", "export")).stdout });
      await removeLedger();
      expect(await run("state", "import", `${name}.json`)).toMatchObject({ code: 0 });
    };
    await move("new");
    expect(await apply()).toMatchObject({ code: 5 });
    await folder.write({ "manifests/c.yaml": "duplicates: []\n" });
    await apply("--new-ledger");
    await move("confirmed");
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 21 }]\npublish: true\n" });
    expect(await apply()).toMatchObject({ code: 0 });
    expect(products()).toHaveLength(2);
  });

  test("is confirmed by the answer to a terminal prompt", async () => {
    const applyOnScreen = async (answer: string) => {
      const screen = await startOnScreen(["apply"], { ...options(), columns: 100 });
      const has = (text: string) => screen.until((lines) => lines.join("\n").includes(text));
      await has("anything else leaves publishes");
      screen.type(`${answer}\r`);
      await has("Apply these changes?");
      screen.type("yes\r");
      return screen.ended;
    };
    expect(await applyOnScreen("no")).toBe(5);
    expect(products()).toEqual([]);
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 21 }]\n" });
    expect(await applyOnScreen("yes")).toBe(0);
    expect(products()).toHaveLength(3);
  });

  test("accepts products published before it and does not publish them again", async () => {
    await apply("--new-ledger");
    const [published, copy] = products();
    const other = products()[2];
    await removeLedger();
    await apply();
    const early = await run("resolve", "duplicates/copy", "--product-id", String(copy?.id));
    expect(early).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("drafts/1/product --product-id"),
    });
    for (const [address, product] of [
      ["drafts/1/product", published],
      ["duplicates/copy", copy],
      ["duplicates/other", other],
    ] as const) {
      const { code, stderr } = await run("resolve", address, "--product-id", String(product?.id));
      expect({ code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("made before this ledger"),
      });
    }
    expect(await run("resolve", "drafts/1/product", "--product-id", "1")).toMatchObject({ code: 1 });
    expect(await apply()).toMatchObject({ code: 0 });
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    expect(products()).toHaveLength(3);
  });
});

test("apply with the embedded sandbox needs no --new-ledger", async () => {
  await folder.write({ "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n" });
  expect(await apply()).toMatchObject({ code: 0 });
});

test("a file attached before the ledger existed excludes the publish of its draft, even with --new-ledger", async () => {
  await folder.write({ "manifests/c.yaml": "duplicates: []\n" });
  await apply();
  await removeLedger();
  const { code, stderr } = await apply("--new-ledger");
  expect(code).toBe(5);
  expect(stderr).toContain("drafts/1/product_files/11 was attached already");
  expect(stderr).toContain("draftsync resolve drafts/1/product --product-id ID");
  expect(products()).toEqual([]);
  expect(proxy.seen).not.toContain("POST /api/products");
  expect(await run("resolve", "drafts/1/product", "--not-done")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("draft 1 has no product that is not recorded"),
  });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(products()).toHaveLength(1);
});

test("a file that import finds after a restored backup excludes the publish of a later revision", async () => {
  await apply("--new-ledger");
  const backup = (await run("state", "export")).stdout;
  const later = "draft: 1\nproduct_files: [{ file_id: 11 }, { file_id: 12 }]\npublish: { revision: 2 }\n";
  await folder.write({ "manifests/a.yaml": later, "backup.json": backup });
  expect(await apply()).toMatchObject({ code: 0 });
  const published = products().length;

  await removeLedger();
  await run("state", "import", "backup.json");
  expect(await run("import", "--all")).toMatchObject({ code: 0 });
  expect(await apply()).toMatchObject({ code: 5, stderr: expect.stringContaining("[maybe-published]") });
  expect(products()).toHaveLength(published);
});

test("a ledger that lacks a call of the recovery log makes no second copy: it counts as new", async () => {
  await folder.write({ "manifests/c.yaml": "duplicates: []\n" });
  expect(await apply("--new-ledger")).toMatchObject({ code: 0 });
  const file = (name: string) => join(folder.path, name);
  await cp(file(".draftsync/state.db"), file("backup.db"));
  await folder.write({ "manifests/c.yaml": "duplicates: [{ name: copy, product: { draft: 1 } }]\n" });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(products()).toHaveLength(2);

  await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 21 }]\n" });
  const holder = await holdApply(1);
  await rename(file("backup.db"), file(".draftsync/state.db"));
  holder.answer();
  expect(await holder.ended).toMatchObject({ code: 4 });
  for (const rest of ["wal", "shm"]) await folder.remove(`.draftsync/state.db-${rest}`).catch(() => {});
  expect(await run("state", "recover")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("counts as new"),
  });
  expect(await apply()).toMatchObject({ code: 5 });
  expect(products()).toHaveLength(2);
});

test("reconcile reports a new ledger in its status", async () => {
  expect(await run("reconcile")).toMatchObject({ code: 0, stdout: expect.stringContaining("policy") });
  await folder.write(config(unattended));
  const { code, stdout, stderr } = await run("reconcile", "--metrics-file", "metrics.prom");
  expect(code).toBe(5);
  expect(stdout + stderr).toContain("[new-ledger]");
  expect(await folder.read("metrics.prom")).toMatch(
    /draftsync_run_status\{[^}]*status="new_ledger"[^}]*\} 1/,
  );
  const again = await run("reconcile");
  expect(again.code).toBe(5);
  expect(again.stdout).toContain("No changes. Remaining changes need manual approval.");
});
