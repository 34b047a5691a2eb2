import { execFileSync } from "node:child_process";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { WorkspaceFlags } from "../../../src/cli/cli.ts";
import { loadConfig } from "../../../src/cli/config.ts";
import { DiagnosticsError } from "../../../src/cli/runtime/cli-error.ts";
import { DraftsyncError } from "../../../src/model/errors.ts";
import type { Folder } from "../../support/cli.ts";
import { makeFolder } from "../../support/cli.ts";

let folder: Folder;

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: studio-a
service:
  base_url: https://api.example.com/shop/
  api_key_file: keys/main
  rate: { limit: 5, window: 2s }
  timeout: 1m
state: data/ledger.db
safety: { max_deletes: { percent: 50 } }
`,
    "sandbox/draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "postgres/draftsync.yaml":
      "version: 1\nworkspace: w\nservice: sandbox\nstate: postgres://me@db.example.com/shop\n",
    "password/draftsync.yaml":
      "version: 1\nworkspace: w\nservice: sandbox\nstate: postgres://me:secret@db.example.com/shop\n",
    "below/here/it/is.txt": "",
  });
});
afterAll(() => folder.dispose());

const load = (at = ".", env: NodeJS.ProcessEnv = {}, flags: WorkspaceFlags = {}) =>
  loadConfig({ cwd: at === "." ? folder.path : `${folder.path}/${at}`, env, flags });

describe("the config", () => {
  test("has absolute paths, durations in milliseconds, and defaults", async () => {
    const config = await load();
    expect(config).toMatchObject({
      root: folder.path,
      workspace: "studio-a",
      manifests: ["manifests/**/*.{yaml,yml}"],
      stateLocation: `${folder.path}/data/ledger.db`,
      safety: { maxDeletes: { percent: 50, above: 10 }, removedDrafts: "refuse" },
      service: {
        baseUrl: "https://api.example.com/shop",
        origin: "https://api.example.com/shop",
        apiKeyFile: `${folder.path}/keys/main`,
        rate: { limit: 5, windowMs: 2000 },
        concurrency: 8,
        timeoutMs: 60_000,
        profile: { settle_delay: 30_000, update_method: "PATCH" },
      },
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  test("is overridden by --concurrency", async () => {
    expect((await load(".", {}, { concurrency: 3 })).service.concurrency).toBe(3);
  });

  test("is found in a parent folder", async () => {
    expect((await load("below/here/it")).root).toBe(folder.path);
  });

  test("has no address for the sandbox", async () => {
    const { service } = await load("sandbox");
    expect(service.baseUrl).toBeUndefined();
    expect(service.origin).toBe("sandbox");
    expect(service.rate).toEqual({ limit: 10, windowMs: 1000 });
  });

  test.each([
    ["the file", {}, {}, "https://api.example.com/shop", "data/ledger.db"],
    [
      "the environment over the file",
      { DRAFTSYNC_BASE_URL: "http://env.example.com", DRAFTSYNC_STATE: "env.db" },
      {},
      "http://env.example.com",
      "env.db",
    ],
    [
      "flags over the environment",
      { DRAFTSYNC_BASE_URL: "http://env.example.com", DRAFTSYNC_STATE: "env.db" },
      { baseUrl: "http://flag.example.com/", state: "flag.db" },
      "http://flag.example.com",
      "flag.db",
    ],
    [
      "the file over empty variables",
      { DRAFTSYNC_BASE_URL: "", DRAFTSYNC_STATE: "" },
      {},
      "https://api.example.com/shop",
      "data/ledger.db",
    ],
  ])("takes its values from %s", async (_name, env, flags, url, state) => {
    const config = await load(".", env, flags);
    expect(config.service.baseUrl).toBe(url);
    expect(config.stateLocation).toBe(`${folder.path}/${state}`);
  });

  test("uses an address from the environment instead of the sandbox", async () => {
    const { service } = await load("sandbox", { DRAFTSYNC_BASE_URL: "https://api.example.com" });
    expect(service).toMatchObject({ baseUrl: "https://api.example.com", origin: "https://api.example.com" });
  });

  test("accepts a PostgreSQL URL, with a password from anywhere except the file", async () => {
    const url = "postgres://me:secret@db.example.com/shop?schema=studio_a";
    expect((await load(".", { DRAFTSYNC_STATE: url })).stateLocation).toBe(url);
    expect((await load(".", {}, { state: "postgresql://db/shop" })).stateLocation).toBe(
      "postgresql://db/shop",
    );
    expect((await load("postgres")).stateLocation).toBe("postgres://me@db.example.com/shop");
    const error = await load("password").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "state-password", hint: expect.stringContaining("PGPASSWORD") });
    expect(inspect(error, { depth: 9 })).not.toContain("secret");
    expect((await load("password", { DRAFTSYNC_STATE: "state.db" })).stateLocation).toMatch(/state\.db$/);
  });

  test.each([
    { written: "30", hint: "Write timeout: 30s, or with another unit (ms, m, h, d)" },
    { written: "1.5", hint: "Write timeout: 1.5s, or with another unit (ms, m, h, d)" },
    { written: '"30"', hint: "Write timeout: 30s, or with another unit (ms, m, h, d)" },
    { written: "-5", hint: "Write timeout: a number and a unit, such as 500ms, 30s, 5m, 2h or 1d" },
    { written: "soon", hint: "Write timeout: a number and a unit, such as 500ms, 30s, 5m, 2h or 1d" },
  ])("hints how to write a duration instead of $written", async ({ written, hint }) => {
    await folder.write({
      "duration/draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: https://a.example, timeout: ${written} }\n`,
    });
    const error = await load("duration").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DiagnosticsError);
    expect(error).toMatchObject({ diagnostics: [{ code: "not-a-duration", hint }] });
  });

  test.each([
    ["a URL with another scheme", { baseUrl: "ftp://example.com" }, "base-url-invalid"],
    ["text that is not a URL", { baseUrl: "secret" }, "base-url-invalid"],
    ["a URL with a password", { baseUrl: "https://me:secret@example.com" }, "base-url-invalid"],
    ["a URL with a query", { baseUrl: "https://example.com?key=1" }, "base-url-invalid"],
    ["an unsupported database", { state: "mysql://localhost/x" }, "state-unsupported"],
    ["a URL in quotes", { state: '"postgres://me:secret@db/x"' }, "state-unsupported"],
    ["a URL after a blank", { state: " postgres://me:secret@db/x" }, "state-unsupported"],
    ["a JDBC URL", { state: "jdbc:postgresql://me:secret@db/x" }, "state-unsupported"],
    ["a URL with one slash", { state: "postgres:/me:secret@db/x" }, "state-unsupported"],
    ["an invalid ledger location", { state: "postgres://me:secret@/#x" }, "ledger-location-invalid"],
    ["a missing file", { config: "nowhere.yaml" }, "config-missing"],
    ["a folder for a file", { config: "sandbox" }, "config-unreadable"],
  ])("refuses %s", async (_name, flags, code) => {
    const error = await load(".", {}, flags).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DraftsyncError);
    expect(error).toMatchObject({ code, hint: expect.any(String) });
    expect(String(error)).not.toContain("secret");
  });
});

describe("a config that extends another", () => {
  const base = `version: 1
service:
  base_url: https://api.example.com
  api_key_file: keys/shared
  ca_file: /etc/ca.pem
  rate: { limit: 5, shared: rates.db }
  profile: { settle_delay: 5s }
safety: { removed_drafts: delete }
`;
  const own = "version: 1\nextends: ../base.yaml\nworkspace: w\n";
  const loadWith = async (files: Readonly<Record<string, string>>) => {
    const made = await makeFolder(files);
    onTestFinished(() => made.dispose());
    return { root: made.path, config: loadConfig({ cwd: `${made.path}/a`, env: {}, flags: {} }) };
  };
  const problemsOf = async (files: Readonly<Record<string, string>>) => {
    const error = await (await loadWith(files)).config.catch((thrown: unknown) => thrown);
    if (!(error instanceof DiagnosticsError)) throw error;
    return error.diagnostics.map(
      ({ code, place }) => `${place?.file}:${place?.line}:${place?.column} ${code}`,
    );
  };

  test("merges the settings of both, and its own take precedence", async () => {
    const text = `${own}service:\n  rate: { limit: 3 }\n  profile: { update_method: PUT }\nstate: x.db\n`;
    const { root, config } = await loadWith({ "base.yaml": base, "a/draftsync.yaml": text });
    expect(await config).toMatchObject({
      root: `${root}/a`,
      workspace: "w",
      stateLocation: `${root}/a/x.db`,
      safety: { removedDrafts: "delete" },
      service: {
        origin: "https://api.example.com",
        apiKeyFile: `${root}/keys/shared`,
        caFile: "/etc/ca.pem",
        sharedRates: `${root}/rates.db`,
        rate: { limit: 3, windowMs: 1000 },
        profile: { settle_delay: 5000, update_method: "PUT" },
      },
    });
  });

  test("may extend a config that extends a third, in a different folder", async () => {
    const files = {
      "base.yaml": base,
      "x/mid.yaml": "extends: ../base.yaml\nservice: { api_key_file: mid }\n",
      "a/draftsync.yaml": own.replace("../base", "../x/mid"),
    };
    const { root, config } = await loadWith(files);
    expect((await config).service).toMatchObject({ apiKeyFile: `${root}/x/mid`, caFile: "/etc/ca.pem" });
  });

  test("replaces values that are not mappings as a whole", async () => {
    const text = `${own}service: sandbox\nreconcile: { allow: [publish] }\n`;
    const files = { "base.yaml": `${base}reconcile: { allow: [create] }\n`, "a/draftsync.yaml": text };
    const config = await (await loadWith(files)).config;
    expect(config.service.origin).toBe("sandbox");
    expect([...config.reconcile.allow]).toEqual(["publish"]);
  });

  test.each([
    ["a wrong value", base.replace("limit: 5", "limit: zero"), own, ["../base.yaml:6:18 wrong-type"]],
    ["an unknown key", base.replace("ca_file", "ca_fle"), own, ["../base.yaml:5:3 unknown-key"]],
    [
      "an unknown key in each",
      base.replace("ca_file", "ca_fle"),
      `${own}service: { rat: 1 }\n`,
      ["draftsync.yaml:4:12 unknown-key", "../base.yaml:5:3 unknown-key"],
    ],
    ["a misspelled key that is required", "version: 1\nserviec: {}\n", own, ["../base.yaml:2:1 unknown-key"]],
    [
      "a misspelled required key in its own file",
      "version: 1\n",
      `${own}serviec: {}\n`,
      ["draftsync.yaml:4:1 unknown-key"],
    ],
    ["a key that is missing in both", "version: 1\nservice: {}\n", own, ["draftsync.yaml:1:1 missing-key"]],
    ["broken YAML", "version: [", own, ["../base.yaml:1:10 yaml-syntax"]],
    [
      "a base that is not a mapping",
      "- version: 1\n",
      `${own}service: sandbox\n`,
      ["../base.yaml:1:1 wrong-type"],
    ],
    ["an empty base", "", own, ["../base.yaml:1:1 empty-file"]],
    [
      "keys that belong to one workspace",
      `${base}workspace: w\nstate: x.db\n`,
      own,
      ["../base.yaml:9:1 extends-own-key", "../base.yaml:10:1 extends-own-key"],
    ],
    ["a cycle", `extends: a/draftsync.yaml\n`, own, ["../base.yaml:1:10 extends-cycle"]],
    ["a missing base", base, own.replace("base", "bse"), ["draftsync.yaml:2:10 config-missing"]],
    ["a folder as base", base, own.replace("../base.yaml", ".."), ["draftsync.yaml:2:10 config-unreadable"]],
    [
      "a list as base",
      base,
      `${own.replace("../base.yaml", "[x]")}service: sandbox\n`,
      ["draftsync.yaml:2:10 wrong-type"],
    ],
  ])("reports %s at its line", async (_name, shared, text, problems) => {
    expect(await problemsOf({ "base.yaml": shared, "a/draftsync.yaml": text })).toEqual(problems);
  });

  test("does not wait for a base that is a pipe", async () => {
    const made = await makeFolder({ "draftsync.yaml": own.replace("../base.yaml", "base.yaml") });
    onTestFinished(() => made.dispose());
    execFileSync("mkfifo", [`${made.path}/base.yaml`]);
    await expect(loadConfig({ cwd: made.path, env: {}, flags: {} })).rejects.toMatchObject({
      diagnostics: [{ code: "config-unreadable" }],
    });
  });
});
