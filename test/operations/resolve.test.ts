import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import type { FaultyProxy } from "../support/faulty-proxy.ts";
import { startFaultyProxy } from "../support/faulty-proxy.ts";

const key = "canary-key-6e52";
let sandbox: Sandbox;
let proxy: FaultyProxy;
let folder: Folder;

beforeEach(async () => {
  sandbox = await startSandbox({ key });
  proxy = await startFaultyProxy(sandbox.url);
  folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice:\n  base_url: ${proxy.url}\n  profile: { settle_delay: 1ms }\n`,
    "manifests/a.yaml": "draft: 1\npublish: true\n---\nduplicates: [{ name: copy, product: 5 }]\n",
  });
});
afterEach(async () => {
  await proxy.close();
  await sandbox.close();
  await folder.dispose();
});

const run = (...args: string[]) => draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });

/** Applies with every answer of a publication or duplication lost. */
async function loseAnswers(): Promise<void> {
  proxy.choose = ({ path }) => (path.startsWith("/api/products") ? { type: "answer-lost" } : undefined);
  expect((await run("apply", "--auto-approve")).code).toBe(4);
  proxy.choose = () => undefined;
  proxy.seen.splice(0);
}

describe("resolve", () => {
  test("--product-id: checked with the service, recorded on a person's word, never sent again", async () => {
    await loseAnswers();
    const published = sandbox.state().products.find((product) => product.draftId === 1);
    const resolved = await run("resolve", "drafts/1/product", "--product-id", String(published?.id));
    expect(resolved).toMatchObject({ code: 0, stdout: "" });
    expect(proxy.seen).toEqual([`GET /api/products/${published?.id}`]);
    const { stdout } = await run("state", "show", "drafts/1/product", "--json");
    expect(JSON.parse(stdout).entries).toMatchObject([
      { type: "publication", confirmed_by: "person", details: { product_id: published?.id, revision: 1 } },
    ]);
    expect((await run("plan", "--target", "drafts/1")).stdout).toContain("No changes.");
  });

  test("--product-id of a product that does not exist, or is another draft's, settles nothing", async () => {
    await loseAnswers();
    const copy = sandbox.state().products.find((product) => product.draftId !== 1);
    const unknown = await run("resolve", "drafts/1/product", "--product-id", "9000009999");
    expect(unknown.code).toBe(1);
    await folder.write({ "manifests/a.yaml": "draft: 2\npublish: true\n---\ndraft: 1\npublish: true\n" });
    await run("apply", "--auto-approve", "--target", "drafts/2");
    const other = sandbox.state().products.find((product) => product.draftId === 2);
    const wrong = await run("resolve", "drafts/1/product", "--product-id", String(other?.id));
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("[product-of-another-draft]") });
    expect(copy).toBeDefined();
    expect((await run("plan")).stdout).toContain("? product");
  });

  test("--not-done: it is planned again, and sent once more", async () => {
    await loseAnswers();
    expect((await run("resolve", "duplicates/copy", "--not-done")).code).toBe(0);
    expect(proxy.seen).toEqual([]);
    expect((await run("plan", "--target", "duplicates/copy")).stdout).toContain("! copy");
    await run("apply", "--auto-approve", "--target", "duplicates/copy");
    expect(proxy.seen).toEqual(["POST /api/products/5/duplicate"]);
  });

  test("a word that cannot be taken is refused, and settles nothing; the plan goes on asking", async () => {
    await loseAnswers();
    const refusals = [
      { args: ["drafts/1/product", "--done"], code: "resolution-needs-product" },
      { args: ["drafts/1/product", "--done", "--not-done"], code: "bad-flag" },
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
});
