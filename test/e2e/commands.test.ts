import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder, startDraftsync } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";
import { filesBelow } from "../support/source-files.ts";

let folder: Folder;
const config = "version: 1\nworkspace: w\nservice: sandbox\n";
const manifest = "draft: 7\nproduct_files:\n  - file_id: 10\n    file_format: fbx\npublish: true\n";

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": config,
    "manifests/a.yaml": manifest,
    "files/a.txt": "content",
  });
});
afterAll(() => folder.dispose());

const run = (...args: string[]) => draftsync(args, { cwd: folder.path });

describe("command line", () => {
  test("--version prints the version of the package", async () => {
    const { version } = JSON.parse(
      filesBelow(".", "package.json").find(({ path }) => path === "./package.json")?.text ?? "{}",
    );
    expect(await run("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test.each([
    { args: ["plna"], message: "Did you mean plan?" },
    { args: ["help", "nope"], message: "Commands: init, validate, plan," },
    { args: ["products", "get", "07"], message: "A product id is a plain number" },
  ])("rejects $args with a suggestion", async ({ args, message }) => {
    const { code, stdout, stderr } = await run(...args);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain(message);
  });

  test.each([
    { args: ["apply", "--yes"], hint: "`draftsync apply --help` the flags of apply." },
    { args: ["--yes"], hint: "`draftsync plan --help` the flags of one." },
  ])("an unknown flag in $args names the help that lists the flags", async ({ args, hint }) => {
    expect((await run(...args)).stderr).toContain(hint);
  });

  test("printed commands come with the flags that name another workspace, ledger or service", async () => {
    const flags = ["--config", "draftsync.yaml", "--state=other ledger.db"];
    const { stderr } = await run("plan", ...flags, "--out", "a plan.json");
    expect(stderr).toMatch(
      /: draftsync apply 'a plan.json'\nnote: the commands above need the same --config and --state as this one\n$/,
    );
    const quiet = await run("apply", "gone.json", ...flags, "--quiet");
    expect(quiet.stderr).toContain("need the same --config and --state");
    expect((await run("show", "a plan.json")).stdout).toMatch(/\nWorkspace: \S+ at sandbox\n$/);
    expect((await run("plan", "--out", "a.json")).stderr).not.toContain("commands above");
    expect((await run("validate", ...flags)).stderr).not.toContain("commands above");
  });

  test("an unknown command is one JSON log line with a hint", async () => {
    const { stderr } = await run("--log-format", "json", "bogus");
    expect(JSON.parse(stderr)).toMatchObject({
      level: "error",
      message: "unknown command 'bogus'",
      code: "bad-usage",
      hint: expect.stringContaining("draftsync --help"),
    });
    expect((await run("explain", "bad-usage")).stdout).toContain("\nExit code 1.\n");
  });

  test.each([
    [[], "Usage: draftsync [options] [command]"],
    [["plan"], "Usage: draftsync plan [options]"],
    [["state", "export"], "Usage: draftsync state export [options]"],
  ])("help %j prints the same text as --help", async (names, usage) => {
    const { code, stdout, stderr } = await run("help", ...names);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(usage);
    expect((await run(...names, "--help")).stdout).toBe(stdout);
  });
});

describe("validate", () => {
  test("counts manifests, drafts, attachments and duplicates", async () => {
    expect(await run("validate")).toMatchObject({
      code: 0,
      stdout: "Valid: 1 manifest, 1 draft, 1 attachment, 0 duplicates.\n",
    });
  });

  test("prints every error of every manifest and creates no ledger", async () => {
    const bad = await makeFolder({
      "draftsync.yaml": config,
      "manifests/a.yaml": 'draft: "7"\n',
      "manifests/b.yaml": "draft: 8\nproduct_files:\n  - file_id: 10\n    format_version: 2020\n",
    });
    const { code, stdout, stderr } = await draftsync(["validate"], { cwd: bad.path });
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain("manifests/a.yaml:1:8");
    expect(stderr).toContain("manifests/b.yaml:4:21");
    expect(stderr).toContain("2 errors; nothing was changed");
    await expect(bad.read(".draftsync/state.db")).rejects.toThrow("ENOENT");
    await bad.dispose();
  });

  test("prints every error of the config", async () => {
    const bad = await makeFolder({ "draftsync.yaml": `${config}rat: 3\nstate: 5\n` });
    const { code, stderr } = await draftsync(["validate"], { cwd: bad.path });
    await bad.dispose();
    expect(code).toBe(1);
    expect(stderr).toContain("draftsync.yaml:4:1");
    expect(stderr).toContain("draftsync.yaml:5:8");
  });

  test("reports only on the given file", async () => {
    const bad = await makeFolder({
      "draftsync.yaml": config,
      "manifests/a.yaml": "draft: 7\ntitel: x\n",
      "manifests/b.yaml": "draft: 8\nproduct_files: [{ file_id: 1 }]\n",
      "manifests/c.yaml": "draft: 8\n",
    });
    onTestFinished(() => bad.dispose());
    const validate = (...files: string[]) => draftsync(["validate", ...files], { cwd: bad.path });
    expect((await validate("manifests/a.yaml")).stderr).toMatch(/a\.yaml:2:1[\s\S]*1 error/);
    expect((await validate("manifests/a.yaml")).stderr).not.toContain("duplicate-draft");
    expect((await validate("manifests/c.yaml")).stderr).toContain("[duplicate-draft]");
    expect(await validate("./manifests/b.yaml")).toEqual({
      code: 0,
      stdout: "Valid: 1 manifest.\n",
      stderr: "note: other manifests have errors: draftsync validate\n",
    });
    expect(await validate("manifests/none.yaml")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[manifest-not-found]"),
    });
  });

  test("reports errors in the defaults of a given file, and --print shows a draft with its defaults", async () => {
    const shop = await makeFolder({
      "draftsync.yaml": config,
      "manifests/a.yaml": "defaults: { product_files: { renderer: arnold } }\n",
      "manifests/b.yaml": "defaults: { product_files: { renderer: vray } }\n",
      "manifests/x/c.yaml": "draft: 1\ntitle: Sea Serpent\nproduct_files:\n  - file_id: 3\n",
    });
    onTestFinished(() => shop.dispose());
    const validate = (...args: string[]) => draftsync(["validate", ...args], { cwd: shop.path });
    expect(await validate("manifests/x/c.yaml")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[duplicate-defaults]"),
    });
    expect(await validate("--print", "1")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("[duplicate-defaults]"),
    });
    await shop.write({ "manifests/b.yaml": "duplicates: []\n" });
    expect(await validate("--print", "sea serpent")).toEqual({
      code: 0,
      stdout:
        "# manifests/x/c.yaml:1\n\ndraft: 1\ntitle: Sea Serpent\nproduct_files:\n  - file_id: 3\n    renderer: arnold # manifests/a.yaml:1\n",
      stderr: "",
    });
    await shop.write({ "manifests/a.yaml": "defaults: { product_files: { renderer: 7 } }\n" });
    expect((await validate("manifests/x/c.yaml")).stderr).toContain("manifests/a.yaml:1:40");
  });
});

describe("flags shared by several commands", () => {
  test.each([
    ["state", "list"],
    ["history"],
    ["lock", "status"],
    ["explain", "lock-held"],
    ["plan"],
    ["uploads", "list"],
  ])("%s %s prints the same with --json and --format json", async (...command) => {
    const [short, long] = [await run(...command, "--json"), await run(...command, "--format", "json")];
    expect(long.code).toBe(0);
    expect(long.stdout).toBe(short.stdout);
    expect(JSON.parse(long.stdout)).toBeDefined();
    expect((await run(...command, "--format", "yaml")).stderr).toContain("Allowed choices are text, json");
  });

  test("--format html and --json conflict", async () => {
    expect(await run("history", "--format", "html", "--json")).toMatchObject({ code: 1, stdout: "" });
    expect((await run("history", "--format", "html")).stdout).toMatch(/^<!doctype html>/);
  });

  test("--no-color overrides FORCE_COLOR", async () => {
    const env = { FORCE_COLOR: "1" };
    expect((await draftsync(["plan"], { cwd: folder.path, env })).stdout).toContain("\u001b[");
    expect((await draftsync(["plan", "--no-color"], { cwd: folder.path, env })).stdout).not.toContain(
      "\u001b[",
    );
  });

  test("--concurrency must be a number of calls", async () => {
    expect(await run("plan", "--concurrency", "0")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--concurrency must be an integer from 1 to 256"),
    });
  });
});

describe("schema", () => {
  test.each(["manifest", "config", "events", "fleet", "plan"])(
    "%s prints the checked-in schema",
    async (what) => {
      const { code, stdout } = await run("schema", what);
      expect(code).toBe(0);
      const checkedIn = filesBelow("manifests", `${what}.schema.json`)[0]?.text;
      expect(stdout).toBe(checkedIn);
    },
  );
});

describe("apply", () => {
  test("requires approval and refuses without a terminal", async () => {
    const { code, stderr } = await run("apply");
    expect(code).toBe(1);
    expect(stderr).toContain("[approval-needed]");
    expect(stderr).toContain("--auto-approve");
  });

  test("--json prints only events to standard output", async () => {
    const { code, stdout } = await run("apply", "--auto-approve", "--json");
    expect(code).toBe(0);
    const events = parseEvents(stdout);
    expect(events.at(0)).toMatchObject({ type: "planned", format_version: 1 });
    expect(events.at(1)).toMatchObject({ type: "run_started", summary: { create: 1, publish: 1 } });
    expect(events.at(-1)).toMatchObject({ type: "run_finished", totals: { done: 2, failed: 0, calls: 2 } });
  });
});

describe("state", () => {
  test("list, show and export print the recorded resources", async () => {
    const list = await run("state", "list");
    expect(list.stdout).toMatch(
      /^drafts\/7 · a\.yaml\n {2}drafts\/7\/product +product \d+, revision 1 {2}confirmed by POST /,
    );
    expect(list.stdout).toContain("drafts/7/product_files/10");
    const shown = await run("state", "show", "drafts/7/product_files/10", "--json");
    expect(JSON.parse(shown.stdout).entries).toMatchObject([
      { details: { file_id: 10, file_format: "fbx" } },
    ]);
    const exported = await run("state", "export");
    expect(JSON.parse(exported.stdout)).toMatchObject({
      attachments: [{ address: "drafts/7/product_files/10" }],
    });
  });

  test("show rejects an address without a record", async () => {
    expect(await run("state", "show", "drafts/8")).toMatchObject({ code: 1 });
  });
});

describe("commands that make a single call", () => {
  test("uploads credentials, create, get and list work, and no secret is printed", async () => {
    const credentials = JSON.parse((await run("uploads", "credentials")).stdout);
    expect(credentials).toMatchObject({
      key_prefix: expect.stringContaining("/"),
      secret_key: "(hidden)",
      session_token: "(hidden)",
      expiration: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    expect(Object.keys(credentials).filter((name) => /[A-Z]/.test(name))).toEqual([]);
    const created = JSON.parse((await run("uploads", "create", "files/a.txt", "--wait")).stdout);
    expect(created).toMatchObject({ status: "success", file_id: expect.any(Number) });
    const got = JSON.parse((await run("uploads", "get", created.upload_id)).stdout);
    expect(got).toEqual(created);
    expect(JSON.parse((await run("uploads", "list", "--json")).stdout)).toEqual([created]);
    const { code, stdout, stderr } = await run("uploads", "list", created.upload_id, "no-such");
    expect({ code, stdout }).toEqual({
      code: 3,
      stdout: `${created.upload_id}  success  file ${created.file_id}  ${created.upload_key}\n`,
    });
    expect(stderr).toContain("the service does not return 1 of 2 uploads: no-such  [uploads-missing]");
    expect(await run("uploads", "list", "no-such")).toMatchObject({ code: 1 });
  });

  test("products get includes a relation, and products duplicate requires approval", async () => {
    const [publication] = JSON.parse((await run("state", "export")).stdout).publications;
    const id = String(publication.product_id);
    const got = await run("products", "get", id, "--include", "draft");
    expect(got.code).toBe(0);
    expect(got.stdout).toContain('"7"');
    expect(JSON.parse(got.stdout)).toMatchObject({ product_id: Number(id), type: "product" });
    expect(await run("products", "duplicate", id)).toMatchObject({ code: 1, stdout: "" });
    const copy = await run("products", "duplicate", id, "--auto-approve");
    expect(JSON.parse(copy.stdout)).toMatchObject({ copy_of: Number(id), product_id: expect.any(Number) });
  });
});

describe("sandbox", () => {
  test("runs with the requested behavior until it is interrupted", async () => {
    const running = startDraftsync(
      ["sandbox", "--port", "0", "--key", "k1", "--drafts", "7", "--behavior", "updateStatus=204"],
      {
        cwd: folder.path,
      },
    );
    await expect.poll(() => running.stderr(), { timeout: 10_000 }).toContain("The sandbox is running");
    const url = running.stdout().trim();
    const headers = {
      accept: "application/vnd.api+json; com.service.api.version=1",
      authorization: "Token k1",
    };
    const answer = await fetch(`${url}/api/drafts/8/product_files/1`, { method: "DELETE", headers });
    expect(answer.status).toBe(404);
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  test("rejects an unknown behavior", async () => {
    const { code, stderr } = await run("sandbox", "--behavior", "colour=blue");
    expect(code).toBe(1);
    expect(stderr).toContain("colour");
  });

  test("rejects invalid fault rules with their lines, and a missing rules file", async () => {
    await folder.write({
      "faults.yaml": "rules:\n  - { fault: rset }\n  - { fault: reset, tims: 2 }\n",
    });
    const bad = await run("sandbox", "--faults", "faults.yaml");
    expect(bad.code).toBe(1);
    for (const words of ["faults.yaml:2:14", 'Did you mean "reset"?', "faults.yaml:3:21", "[unknown-key]"]) {
      expect(bad.stderr).toContain(words);
    }
    const missing = await run("sandbox", "--faults", "none.yaml");
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("[faults-unreadable]");
  });
});

test.each([
  { args: ["sandbox", "--processing", "300"], flag: "--processing" },
  { args: ["reconcile", "--interval", "300"], flag: "--interval" },
  { args: ["apply", "--lock-timeout", "300"], flag: "--lock-timeout" },
])("$flag rejects a duration without a unit", async ({ args, flag }) => {
  const { code, stderr } = await draftsync(args, { cwd: "/" });
  expect(code).toBe(1);
  expect(stderr).toContain(', not "300", which has no unit');
  expect(stderr).toContain(`Use ${flag} 300s, or with another unit (ms, m, h, d).`);
});
