import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { callByHand } from "../support/by-hand.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";

const key = "canary-key-d41f";
const arrivals: RequestLogEntry[] = [];
let sandbox: Sandbox;
let folder: Folder;

const runIn = ({ path }: Folder, ...args: string[]) =>
  draftsync(args, { cwd: path, env: { DRAFTSYNC_API_KEY: key, DRAFTSYNC_BASE_URL: sandbox.url } });
const run = (...args: string[]) => runIn(folder, ...args);

/** Requests that arrive during `work`. */
async function arriving(work: () => Promise<unknown>): Promise<readonly RequestLogEntry[]> {
  const before = arrivals.length;
  await work();
  return arrivals.slice(before);
}

/** A change by another client. */
const singleCall = (method: string, path: string, attributes?: object) =>
  callByHand(sandbox, key, { method, path, ...(attributes === undefined ? {} : { attributes }) });

const files = "drafts/1/product_files";

beforeAll(async () => {
  sandbox = await startSandbox({
    key,
    rate: { limit: 1000, windowMs: 1000 },
    log: (arrival) => void arrivals.push(arrival),
  });
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: w
service: { base_url: https://api.example.com, rate: { limit: 500, window: 1s }, profile: { settle_delay: 1ms } }
refresh: { attachments: probe }
`,
    "manifests/a.yaml": `draft: 1
product_files:
  - { file_id: 11, renderer: arnold }
  - { file_id: 12, renderer: arnold }
  - { file_id: 13, renderer: arnold }
promotional_files: [{ file_id: 21, description: Front view }]
publish: true
`,
  });
  await run("apply", "--auto-approve");
});
afterAll(async () => {
  await sandbox.close();
  await folder.dispose();
});

describe("drift", () => {
  test("exits with 0 and changes nothing when the service matches the ledger", async () => {
    const before = (await run("state", "export")).stdout;
    const seen = await arriving(async () => {
      const { code, stdout } = await run("drift");
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(
          "No drift. All checked resources match.\nChecked 5 resources (5 API calls).",
        ),
      });
    });
    expect(seen.map(({ method }) => method).sort()).toEqual(["GET", "PATCH", "PATCH", "PATCH", "PATCH"]);
    for (const { method, body } of seen) {
      if (method === "PATCH") expect(body).toEqual({ data: { type: expect.any(String), attributes: {} } });
    }
    expect((await run("state", "export")).stdout).toBe(before);
  });

  test("reports changes made by another client and the last call by draftsync", async () => {
    expect(await singleCall("PATCH", `/api/${files}/11`, { renderer: "`|@all" })).toBe(200);
    expect(await singleCall("DELETE", `/api/${files}/12`)).toBe(204);
    const { code, stdout } = await run("drift", "--format", "json");
    expect(code).toBe(2);
    const report = JSON.parse(stdout);
    const last_call = {
      method: "POST",
      path: `/api/${files}`,
      at: expect.stringMatching(/^20.*Z$/),
      outcome: "done",
      run_id: expect.any(String),
      command: "apply",
    };
    expect(report).toMatchObject({
      format_version: 1,
      workspace: "w",
      refresh: { mode: "budget", attachments: "probe", calls: 5, checked: 5, deferred: 0 },
      drift: [
        {
          address: `${files}/11`,
          type: "changed",
          before: { renderer: "arnold" },
          after: { renderer: "`|@all" },
          attributes: ["renderer"],
          confirmed: { by: "post" },
          last_call,
        },
        { address: `${files}/12`, type: "gone", after: null, last_call },
      ],
    });
    const text = await run("drift", "--target", `${files}/12`);
    expect(text.code).toBe(2);
    expect(text.stdout).toMatch(
      /last call by draftsync: POST (?:just now|.* ago), apply \(run [0-9a-f]{8}\); changed outside draftsync after that/,
    );
    expect(text.stdout).not.toContain(`${files}/11`);
    const { stdout: markdown } = await run("drift", "--format", "markdown");
    expect(markdown.split("\n", 2)).toEqual(["<!-- draftsync:drift workspace=w -->", "### Drift: 2 in `w`"]);
    expect(markdown).toMatch(/^Checked \d+ resources \(\d+ API calls\)\./m);
    expect((await run("drift", "--max-chars", "5000")).stderr).toContain(
      "--max-chars needs --format markdown",
    );
    expect(markdown).toContain('``"`\\|@all"``');
  });

  test("reports how many recorded files were not checked", async () => {
    const config = {
      "draftsync.yaml": "version: 1\nworkspace: w\nservice: { base_url: https://api.example.com }\n",
    };
    const other = await makeFolder({ ...config, "manifests/a.yaml": "draft: 1\nproduct_files: []\n" });
    const { code, stdout } = await runIn(other, "drift", "--state", `${folder.path}/.draftsync/state.db`);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /Checked 1 resource \(1 API call\)\.\n\d not checked, oldest .*: files are only checked by probe/,
    );
    await other.dispose();
  });
});

describe("import", () => {
  test("--write refuses a manifest if the edit would change another entry, and prints the lines to add", async () => {
    const text = "draft: 1\nproduct_files: &files [{ file_id: 11 }]\npromotional_files: *files\n";
    const before = await folder.read("manifests/a.yaml");
    await folder.write({ "manifests/a.yaml": text });
    await singleCall("POST", `/api/${files}`, { file_id: 19, file_format: "fbx" });
    const { code, stderr } = await run("import", `${files}/19`, "--write", "manifests/a.yaml");
    expect(code).toBe(1);
    expect(stderr).toContain("draft: 1\nproduct_files:\n  - file_id: 19\n    file_format: fbx\n");
    expect(stderr).toContain("[manifest-not-extendable]");
    expect(await folder.read("manifests/a.yaml")).toBe(text);
    expect((await run("state", "list")).stdout).not.toContain(`${files}/19`);
    await folder.write({ "manifests/a.yaml": before });
  });

  test("adopts existing files with their attributes and changes nothing at the service", async () => {
    await singleCall("POST", `/api/${files}`, { file_id: 14, file_format: "fbx" });
    const seen = await arriving(async () => {
      const { code, stdout } = await run("import", `${files}/14`, `${files}/11`, `${files}/12`);
      expect(code).toBe(3);
      expect(stdout).toBe(
        `    = ${files}/14  (not in a manifest: the next plan deletes it if a manifest has its list)
    = ${files}/11
    - ${files}/12  (is not there)

Imported: 2 adopted, 1 not there. 3 calls; nothing was changed at the service.
`,
      );
    });
    expect(seen.map(({ method, body }) => ({ method, body }))).toEqual(
      Array.from({ length: 3 }, () => ({
        method: "PATCH",
        body: { data: { type: "product_file", attributes: {} } },
      })),
    );
    const { stdout } = await run("state", "show", `${files}/11`, "--json");
    expect(JSON.parse(stdout).entries[0]).toMatchObject({
      confirmed_by: "import",
      details: { renderer: "`|@all" },
    });
  });

  test("accepts products by id and reads addresses from a file", async () => {
    const other = await makeFolder({
      "draftsync.yaml":
        "version: 1\nworkspace: w\nservice: { base_url: https://api.example.com, rate: { limit: 500, window: 1s } }\n",
      "manifests/a.yaml":
        "draft: 1\nproduct_files: [{ file_id: 11 }]\npublish: { revision: 3 }\n---\nduplicates: [{ name: copy, product: { draft: 1 } }]\n",
      "list.txt":
        "# what was made outside draftsync\r\ndrafts/1/product=9000000001\r\n\r\n drafts/1/product_files/11 \r\n",
    });
    const there = (...args: string[]) => runIn(other, ...args);
    const early = await there("import", "duplicates/copy=9000000001");
    expect(early).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("import the publication of its draft first"),
    });
    expect(await there("import", "--file", "list.txt")).toMatchObject({ code: 0 });
    const plan = JSON.parse((await there("plan", "--format", "json")).stdout);
    expect(plan.summary).toEqual({ duplicate: 1, noop: 2 });
    await other.write({ "manifests/b.yaml": "duplicates: [{ name: other, product: 9000000009 }]\n" });
    const own = { code: 1, stderr: expect.stringContaining("product 9000000009 is what it is a copy of") };
    expect(await there("import", "duplicates/other=9000000009")).toMatchObject(own);
    expect(await there("resolve", "duplicates/other", "--product-id", "9000000009")).toMatchObject(own);
    expect(await there("import", "duplicates/copy=9000000009")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("- duplicates/copy  (is not there)"),
    });
    await other.dispose();
  });

  test.each([
    [["import"], "no address to import was given"],
    [["import", "--all", `${files}/11`], "--all cannot be combined with addresses"],
    [["import", "drafts/1"], "drafts/1: not the address of a file"],
    [["import", "drafts/1/product_files/source:x.glb"], "no manifest declares it"],
    [["import", "drafts/1/product=abc"], "is not a valid id"],
    [["import", "drafts/2/product=5"], "no manifest publishes this draft"],
    [["import", "drafts/1/product_files/11=12"], "the address contains another id than 12"],
    [["import", "--file", "nowhere.txt"], "the list of addresses cannot be read"],
  ])("rejects %j before any call", async (args, message) => {
    const seen = await arriving(async () => {
      const { code, stderr } = await run(...args);
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    });
    expect(seen).toEqual([]);
  });

  test("--write adds the imported resources to a manifest, so that the next plan is empty", async () => {
    for (const [id, attributes] of [
      [21, { file_format: "fbx", format_version: "2020" }],
      [22, {}],
    ] as const)
      await singleCall("POST", "/api/drafts/5/product_files", { file_id: id, ...attributes });
    const description = "First\n\n  second: # no comment\n";
    await singleCall("POST", "/api/drafts/6/promotional_files", { file_id: 23, description });
    await singleCall("POST", "/api/drafts/6/promotional_files", { file_id: 24, description: "yes" });
    const other = await makeFolder({
      "draftsync.yaml":
        "version: 1\nworkspace: w\nservice: { base_url: https://api.example.com, rate: { limit: 500, window: 1s } }\n",
      "manifests/x/a.yaml":
        "# Ours.\ndraft: 5 # the first\nproduct_files:\n  # Found before.\n  - file_id: 21\n    file_format: 'fbx'\n---\nduplicates: []\n",
    });
    onTestFinished(() => other.dispose());
    const there = (...args: string[]) => runIn(other, ...args);
    await other.write({ "maker.yaml": "draft: 6\npublish: true\n" });
    const maker =
      "version: 1\nworkspace: maker\nmanifests: [maker.yaml]\nservice: { base_url: https://api.example.com }\nstate: maker.db\n";
    await other.write({ "maker.config.yaml": maker });
    const args = ["--config", "maker.config.yaml", "--auto-approve", "--new-ledger", "--json"];
    const made = await there("apply", ...args);
    const [, productId] = /"product_id":(\d+)/.exec(made.stdout) ?? [];
    const addresses = ["drafts/5/product_files/21", "drafts/5/product_files/22"];
    expect(await there("import", ...addresses, "--write", "manifests/b.yaml")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Use --write manifests/x/a.yaml for it."),
    });
    const { stdout, stderr } = await there("import", ...addresses, "--write", "manifests/x/a.yaml");
    expect(stdout).toContain(`    = ${addresses[1]}\n`);
    expect(stderr).toContain("Wrote manifests/x/a.yaml.");
    expect(await other.read("manifests/x/a.yaml")).toBe(
      "# Ours.\ndraft: 5 # the first\nproduct_files:\n  # Found before.\n  - file_id: 21\n    file_format: 'fbx'\n  - file_id: 22\n---\nduplicates: []\n",
    );
    const promotional = ["drafts/6/promotional_files/23", "drafts/6/promotional_files/24"];
    expect(
      await there("import", ...promotional, `drafts/6/product=${productId}`, "--write", "manifests/new.yml"),
    ).toMatchObject({ code: 0 });
    expect(await other.read("manifests/new.yml")).toBe(
      `draft: 6\npromotional_files:\n  - file_id: 23\n    description: "First\\n\\n  second: # no comment\\n"\n  - file_id: 24\n    description: "yes"\npublish: true\n`,
    );
    expect((await there("plan")).stdout).toContain("No changes.");
  });

  describe("import --write", () => {
    const settings = "version: 1\nworkspace: w\nservice: { base_url: https://api.example.com }\n";
    let other: Folder;
    const there = (...args: string[]) => runIn(other, ...args);
    beforeEach(async () => {
      other = await makeFolder({ "draftsync.yaml": settings });
      onTestFinished(() => other.dispose());
    });

    test("refuses a file that a manifest already declares by its source", async () => {
      const text = "draft: 20\nproduct_files: [{ source: a.bin }]\n";
      await other.write({ "manifests/a.yaml": text, "manifests/a.bin": "x" });
      expect((await there("apply", "--auto-approve")).code).toBe(0);
      const file = sandbox.state().attachments.find(({ draftId }) => draftId === 20);
      const address = `drafts/20/product_files/${file?.fileId}`;
      expect(await there("import", address, "--write", "manifests/a.yaml")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          "declared already, as drafts/20/product_files/source:manifests/a.bin",
        ),
      });
      expect(await other.read("manifests/a.yaml")).toBe(text);
    });

    test("creates the first manifest of a workspace", async () => {
      await singleCall("POST", "/api/drafts/9/product_files", { file_id: 41 });
      const imported = await there("import", "drafts/9/product_files/41", "--write", "manifests/a.yaml");
      expect(imported).toMatchObject({ code: 0 });
      expect(await other.read("manifests/a.yaml")).toBe("draft: 9\nproduct_files:\n  - file_id: 41\n");
    });

    test.each([
      ["drafts/14/product=5", "drafts/14/product=6", "named with two ids, 5 and 6"],
      ["drafts/14/product=5", "drafts/15/product=5", "product 5 is named for drafts/14/product, too"],
    ])("refuses %s together with %s", async (one, two, message) => {
      const { code, stderr } = await there("import", one, two, "--write", "manifests/a.yaml");
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    });

    test("adds the recorded files of a list that no manifest declares, so that no plan deletes them", async () => {
      await other.write({
        "manifests/a.yaml":
          "draft: 10\nproduct_files: [{ file_id: 51 }, { file_id: 52, renderer: arnold }]\n",
      });
      expect(await there("apply", "--auto-approve")).toMatchObject({ code: 0 });
      await singleCall("POST", "/api/drafts/10/product_files", { file_id: 53 });
      await other.write({ "manifests/a.yaml": "draft: 10\n" });
      const imported = await there("import", "drafts/10/product_files/53", "--write", "manifests/a.yaml");
      expect(imported).toMatchObject({ code: 0 });
      expect((await there("plan")).stdout).toContain("No changes.");
      await other.remove("manifests/a.yaml");
      await there("import", "drafts/10/product_files/53", "--write", "manifests/c.yaml");
      expect((await there("plan")).stdout).toContain("No changes.");
    });

    test.each(["draftsync.yaml", "other/x.yaml", "other/new.yaml"])(
      "refuses %s because no manifest pattern matches it",
      async (file) => {
        await other.write({ "manifests/a.yaml": "draft: 12\npublish: true\n" });
        await there("apply", "--auto-approve");
        const { id = 0 } = sandbox.state().products.findLast(({ draftId }) => draftId === 12) ?? {};
        await other.write({ "manifests/a.yaml": "draft: 13\n", "other/x.yaml": "a: 1\n" });
        const read = () => other.read(file).catch(() => undefined);
        const before = await read();
        const imported = await there("import", `drafts/12/product=${id}`, "--write", file);
        expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining("no pattern of") });
        expect(await read()).toBe(before);
      },
    );
  });

  test("--all reads every file that the manifests declare", async () => {
    const { code, stdout } = await run("import", "--all", "--json");
    expect(code).toBe(3);
    const view = JSON.parse(stdout);
    expect(view.adopted.map(({ address }: { address: string }) => address)).toEqual([
      `${files}/11`,
      `${files}/13`,
      "drafts/1/promotional_files/21",
    ]);
    expect(view.absent).toEqual([`${files}/12`]);
  });
});
