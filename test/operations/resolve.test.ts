import { describe, expect, test } from "vitest";
import { holdAnswers } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, folder, run, start, apply, holdApply } = useWorkspace({
  files: {
    "manifests/a.yaml": "draft: 1\npublish: true\n---\nduplicates: [{ name: copy, product: 5 }]\n",
  },
});

/** Applies and loses every response to a publish or duplicate. */
async function loseAnswers(): Promise<void> {
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.startsWith("/api/products") ? { type: "answer-lost" } : undefined;
  expect((await apply()).code).toBe(4);
  proxy.choose = () => undefined;
  proxy.seen.splice(0);
}

describe("resolve", () => {
  test("--product-id checks the product with the service and records it without sending the publish again", async () => {
    await loseAnswers();
    const published = sandbox.state().products.find((product) => product.draftId === 1);
    const resolved = await run("resolve", "drafts/1/product", "--product-id", String(published?.id));
    expect(resolved).toMatchObject({ code: 0, stdout: "", stderr: expect.not.stringContaining("warning") });
    expect(proxy.seen).toEqual([`GET /api/products/${published?.id}`]);
    const { stdout } = await run("state", "show", "drafts/1/product", "--json");
    expect(JSON.parse(stdout).entries).toMatchObject([
      { type: "publication", confirmed_by: "operator", details: { product_id: published?.id, revision: 1 } },
    ]);
    expect((await run("plan", "--target", "drafts/1")).stdout).toContain("No changes.");
    const again = await run("resolve", "drafts/1/product", "--product-id", String(published?.id));
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        `^drafts/1/product is recorded as product ${published?.id} already \\(workspace w at http://\\S+\\)\\.\n$`,
      ),
    });
    const history = (await run("history")).stdout;
    expect(history).toMatch(/UTC: settled by \S+ on \S+: it took effect/);
    expect(history).toMatch(/ {2}resolve {2}done, 1 done, in .*\n {2}by \S+ on /);
  });

  test("--product-id refuses a product that does not exist or is recorded for another draft", async () => {
    await loseAnswers();
    const copy = sandbox.state().products.find((product) => product.draftId !== 1);
    const unknown = await run("resolve", "drafts/1/product", "--product-id", "9000009999");
    expect(unknown.code).toBe(1);
    await folder.write({ "manifests/a.yaml": "draft: 2\npublish: true\n---\ndraft: 1\npublish: true\n" });
    await apply("--target", "drafts/2");
    const other = sandbox.state().products.find((product) => product.draftId === 2);
    const wrong = await run("resolve", "drafts/1/product", "--product-id", String(other?.id));
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("[product-recorded-elsewhere]") });
    expect(wrong.stderr).toContain("is already recorded for drafts/2/product; nothing was settled");
    expect(copy).toBeDefined();
    expect((await run("plan")).stdout).toContain("? product");
  });

  test.each([{ id: 777 }, { id: "777" }, [{ id: "777" }]])(
    "--product-id refuses a product that names another draft: %j",
    async (data) => {
      await loseAnswers();
      const document = { data: { type: "product", id: 9, relationships: { draft: { data } } } };
      const headers = { "content-type": "application/vnd.api+json; com.service.api.version=1" };
      proxy.choose = ({ path }) =>
        path === "/api/products/9"
          ? { type: "answer", status: 200, headers, body: JSON.stringify(document) }
          : undefined;
      const resolved = await run("resolve", "drafts/1/product", "--product-id", "9");
      expect(resolved).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("[product-of-another-draft]"),
      });
      proxy.choose = () => undefined;
    },
  );

  test("--product-id accepts a product that names no draft, with a warning", async () => {
    await loseAnswers();
    const resolved = await run("resolve", "drafts/1/product", "--product-id", "777");
    expect(resolved.code).toBe(0);
    expect(resolved.stderr).toContain("warning: product 777 names no draft from which it was published");
  });

  test("warns that declared copies may exist too when a product is older than the ledger", async () => {
    const manifest = "draft: 1\npublish: true\n---\nduplicates: [{ name: copy, product: { draft: 1 } }]\n";
    await folder.write({ "manifests/a.yaml": manifest });
    const warning = "run `draftsync import duplicates/copy=ID` first";
    expect((await run("resolve", "drafts/1/product", "--product-id", "777")).stderr).toContain(warning);
    const copied = await run("import", "duplicates/copy=778");
    expect(copied).toMatchObject({ code: 0, stderr: expect.not.stringContaining(warning) });
    expect((await run("plan")).stdout).toContain("No changes.");
  });

  test("settles each of two publishes that a restored ledger has in doubt, by the id of its call", async () => {
    await loseAnswers();
    const exported = JSON.parse((await run("state", "export")).stdout);
    const publish = exported.operations.find(({ kind }: { kind: string }) => kind === "publish");
    const later = { ...publish, id: "later", intent: { ...publish.intent, revision: 2 } };
    await folder.write({
      "exported.json": JSON.stringify({ ...exported, operations: [...exported.operations, later] }),
      "manifests/a.yaml": "draft: 1\npublish: { revision: 2 }\n",
    });
    await folder.remove(".draftsync");
    expect(await run("state", "import", "exported.json")).toMatchObject({ code: 0 });
    const refused = await run("resolve", "drafts/1/product", "--not-done");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[resolution-needed]") });
    expect(refused.stderr).toContain(`${publish.id} (revision 1, sent at `);
    expect(refused.stderr).toContain("later (revision 2, sent at ");
    expect(await run("resolve", publish.id, "--not-done")).toMatchObject({ code: 0 });
    expect(await run("resolve", publish.id, "--not-done")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[nothing-in-doubt]"),
    });
    expect((await run("plan")).stdout).toContain("? product");
    const product = String(sandbox.state().products.find(({ draftId }) => draftId === 1)?.id);
    expect(await run("resolve", "later", "--product-id", product)).toMatchObject({ code: 0 });
    expect((await run("plan", "--target", "drafts/1")).stdout).toContain("No changes.");
  });

  test("--product-id refuses the product of an earlier revision or the source of a copy", async () => {
    await apply();
    const [copy] = sandbox.state().products.filter(({ draftId }) => draftId === undefined);
    const [first] = sandbox.state().products.filter(({ draftId }) => draftId === 1);
    await folder.write({
      "manifests/a.yaml":
        "draft: 1\npublish: { revision: 2 }\n---\nduplicates: [{ name: copy, product: 5 }, { name: other, product: 5 }]\n",
    });
    await loseAnswers();
    const resolve = (address: string, id: unknown) => run("resolve", address, "--product-id", String(id));
    const refused = { code: 1, stderr: expect.stringContaining("[product-recorded-elsewhere]") };
    expect(await resolve("drafts/1/product", first?.id)).toMatchObject(refused);
    expect(await resolve("duplicates/other", 5)).toMatchObject(refused);
    expect(await resolve("duplicates/other", copy?.id ?? first?.id)).toMatchObject(refused);
    const imported = await run("import", `drafts/1/product=${sandbox.state().products.at(-1)?.id}`);
    expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining("in doubt") });
  });

  test("quotes the name of a copy that is not recorded in the command that imports it", async () => {
    await loseAnswers();
    const published = sandbox.state().products.find(({ draftId }) => draftId === 1);
    await folder.remove(".draftsync");
    await folder.write({
      "manifests/a.yaml":
        "draft: 1\npublish: true\n---\nduplicates: [{ name: 'a $(b) c', product: { draft: 1 } }]\n",
    });
    const { stderr } = await run("resolve", "drafts/1/product", "--product-id", String(published?.id));
    expect(stderr).toContain("`draftsync import 'duplicates/a $(b) c'=ID`");
  });

  test("--done records that a draft was published into its product once more", async () => {
    await apply();
    const [first] = sandbox.state().products.filter(({ draftId }) => draftId === 1);
    await folder.write({
      "manifests/a.yaml":
        "draft: 1\npublish: { revision: 2 }\n---\nduplicates: [{ name: copy, product: 5 }]\n",
    });
    await loseAnswers();
    expect(await run("resolve", "drafts/1/product", "--product-id", String(first?.id))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("draftsync resolve drafts/1/product --done"),
    });
    expect(await run("resolve", "drafts/1/product", "--done")).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        `^drafts/1/product is settled: it took effect, and kept product ${first?.id} \\(workspace w at http://\\S+\\)\\.\n$`,
      ),
    });
    expect((await run("plan", "--target", "drafts/1")).stdout).toContain("No changes.");
  });

  test("--done is refused for a draft whose revisions are different products", async () => {
    const revision = (number: number) =>
      folder.write({ "manifests/a.yaml": `draft: 1\npublish: { revision: ${number} }\n` });
    for (const number of [1, 2]) {
      await revision(number);
      expect(await apply()).toMatchObject({ code: 0 });
    }
    await revision(3);
    await loseAnswers();
    expect(await run("resolve", "drafts/1/product", "--done")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[resolution-needs-product]"),
    });
  });

  test("is quoted for a shell wherever a command names a duplicate", async () => {
    const name = "winter $(touch pwned)";
    await folder.write({ "manifests/a.yaml": `duplicates: [{ name: "${name}", product: 5 }]\n` });
    await loseAnswers();
    expect((await run("state", "rm", `duplicates/${name}`, "--auto-approve")).stderr).toContain(
      `draftsync resolve 'duplicates/${name}' --product-id ID`,
    );
  });

  test("accepts the id of a draft with one address in doubt, and refuses a pattern", async () => {
    await loseAnswers();
    const unknown = await run("resolve", "2", "--not-done");
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing is in doubt at 2") });
    const pattern = await run("resolve", "*", "--not-done");
    expect(pattern).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing is in doubt at *") });
    expect((await run("resolve", "1", "--not-done")).stderr).toContain("drafts/1/product is settled");
  });

  test("accepts the address that the manifests give an attachment in doubt by now", async () => {
    const key = `incoming/${"a".repeat(64)}/a.glb`;
    const list = (entry: string) => ({ "manifests/a.yaml": `draft: 1\nproduct_files: [{ ${entry} }]\n` });
    await folder.write(list(`upload_key: ${key}`));
    proxy.choose = ({ path }) => (path.startsWith("/api/drafts") ? { type: "answer-lost" } : undefined);
    expect((await apply()).code).toBe(4);
    const [attachment] = sandbox.state().attachments;
    await folder.write(list(`file_id: ${attachment?.fileId}`));
    expect((await run("plan")).stdout).toContain(`? drafts/1/product_files/upload_key:${key}`);
    const address = `drafts/1/product_files/${attachment?.fileId}`;
    expect((await run("resolve", address, "--done")).code).toBe(0);
    expect((await run("plan")).stdout).not.toContain("in doubt");
  });

  test("--not-done plans the operation again, and apply sends it once", async () => {
    await loseAnswers();
    expect((await run("resolve", "duplicates/copy", "--not-done")).code).toBe(0);
    expect(proxy.seen).toEqual([]);
    expect((await run("plan", "--target", "duplicates/copy")).stdout).toContain("! copy");
    await apply("--target", "duplicates/copy");
    expect(proxy.seen).toEqual(["GET /api/uploads/0", "POST /api/products/5/duplicate"]);
  });

  test("refuses a resolution that does not fit the operation, and the plan still shows it in doubt", async () => {
    await loseAnswers();
    const refusals = [
      { args: ["drafts/1/product", "--done"], code: "resolution-needs-product" },
      { args: ["drafts/1/product", "--done", "--not-done"], code: "invalid-flag" },
      { args: ["drafts/1/product"], code: "resolution-needed" },
      { args: ["drafts/9/product", "--not-done"], code: "nothing-in-doubt" },
    ];
    for (const { args, code } of refusals) {
      expect(await run("resolve", ...args), args.join(" ")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`[${code}]`),
      });
    }
    const { stdout } = await run("plan");
    expect(stdout).toContain("? product");
    expect(stdout).toContain("draftsync resolve drafts/1/product --product-id ID | --not-done");
    expect(stdout).toContain("draftsync resolve duplicates/copy --product-id ID | --not-done");
  });

  test("the plan names a process that holds the lock and has no call in flight", async () => {
    const { held, answer } = holdAnswers();
    proxy.choose = ({ path }) => (path.startsWith("/api/uploads/") ? held : undefined);
    await folder.write({
      "a.bin": "a",
      "manifests/a.yaml": "draft: 1\nproduct_files: [{ source: ../a.bin }]\n",
    });
    const before = proxy.seen.length;
    const holder = start(["apply", "--auto-approve", "--new-ledger"]);
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBeGreaterThan(before);
    expect((await run("plan")).stdout).toMatch(
      / is running: its changes may be missing here +\[run-under-way\]/,
    );
    proxy.choose = () => undefined;
    answer();
    expect(await holder.ended).toMatchObject({ code: 0 });
  });

  test("refuses a call in flight, and the plan names the process that sent it", async () => {
    const holder = await holdApply(2);
    const { stdout, stderr } = await run("plan");
    expect(stdout + stderr).toMatch(
      / is running: calls that it has sent are shown as in doubt +\[run-under-way\]/,
    );
    expect(await run("resolve", "drafts/1/product", "--not-done")).toMatchObject({ code: 6 });
    expect((await run("state", "export")).stderr).toContain(
      "what it records from now on is not in this export",
    );
    holder.answer();
    expect(await holder.ended).toMatchObject({ code: 0 });
    expect((await run("plan")).stdout).not.toContain("run-under-way");
    expect((await run("state", "export")).stderr).toBe("");
  });
});
