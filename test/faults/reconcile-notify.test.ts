import { readdirSync, renameSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import type { Webhook } from "../support/webhook.ts";
import { startWebhook } from "../support/webhook.ts";
import { useWorkspace } from "../support/workspace.ts";

const secret = "canary-key-hook";
let webhook: Webhook;

const good = { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" };
const bad = { "manifests/a.yaml": "draft: one\n" };

const { sandbox, folder, config, options } = useWorkspace({ files: good });

beforeEach(async () => {
  webhook = await startWebhook();
});

afterEach(() => webhook.close());

/** The webhook URL is a secret; the canary key in it makes every test search its output and files for it. */
const hook = () => `${webhook.url}/services/${secret}`;
const reconcile = (
  env: Record<string, string> = { DRAFTSYNC_NOTIFY_URL: hook() },
  ...args: readonly string[]
) => draftsync(["reconcile", ...args], options(env));
const notified = () => webhook.notices.map(({ body }) => [body.former_status, body.status]);

describe("webhook", () => {
  test("is notified only when the status changes between runs", async () => {
    const codes: number[] = [];
    const reconcileEach = async (...count: unknown[]) => {
      for (const _each of count) codes.push((await reconcile()).code);
    };
    await reconcileEach(1, 2);
    expect(notified()).toEqual([]);
    await folder.write(bad);
    await reconcileEach(1, 2, 3);
    expect(notified()).toEqual([["ok", "failing"]]);
    await folder.write({ "manifests/a.yaml": `${good["manifests/a.yaml"]}publish: true\n` });
    await reconcileEach(1, 2);
    await folder.write(good);
    await reconcileEach(1, 2);
    expect(notified()).toEqual([
      ["ok", "failing"],
      ["failing", "excluded"],
      ["excluded", "ok"],
    ]);
    expect(codes).toEqual([0, 0, 1, 1, 1, 0, 0, 0, 0]);
    const [first] = webhook.notices;
    expect(first).toMatchObject({
      path: `/services/${secret}`,
      type: "application/json",
      body: { workspace: "w", code: "invalid-input", format_version: 1 },
    });
    expect(first?.body.text).toMatch(/^draftsync: workspace w is failing \(was ok\): invalid-input\. /);
  });

  test("is notified again when the reason of a failure changes", async () => {
    await reconcile();
    await folder.write(bad);
    for (const _each of [1, 2]) await reconcile();
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\n" });
    const wrongKey = { DRAFTSYNC_NOTIFY_URL: hook(), DRAFTSYNC_API_KEY: "canary-key-wrong" };
    for (const _each of [1, 2]) expect((await reconcile(wrongKey)).code).toBe(1);
    expect(notified()).toEqual([
      ["ok", "failing"],
      ["failing", "failing"],
    ]);
    expect(webhook.notices[1]?.body).toMatchObject({
      reason: "unauthorized",
      former_reason: "invalid-input",
    });
    expect(webhook.notices[1]?.body.text).toContain("is failing (was failing: invalid-input): ");
  });

  test("is notified of a first run that fails", async () => {
    await folder.write(bad);
    await reconcile();
    expect(notified()).toEqual([[undefined, "failing"]]);
  });

  test("is notified by only one of several instances", async () => {
    await reconcile();
    await folder.write(bad);
    await Promise.all([reconcile(), reconcile(), reconcile()]);
    expect(notified()).toEqual([["ok", "failing"]]);
  });

  test("is notified again by the next run after a refused notification, which is only a warning", async () => {
    await folder.write({
      ...config("reconcile: { allow: [create] }\n"),
      "manifests/a.yaml": "draft: 1\npublish: true\n",
    });
    for (const status of [500, 302]) {
      webhook.status = status;
      const { code, stderr } = await reconcile();
      expect(code).toBe(0);
      expect(stderr).toContain(
        `warning: the webhook notification to ${webhook.url} failed: status ${status}\n`,
      );
    }
    webhook.status = 200;
    expect((await reconcile()).stderr).not.toContain("warning: the webhook");
    await reconcile();
    expect(notified()).toEqual(Array.from({ length: 3 }, () => [undefined, "excluded"]));
    expect(webhook.notices.every(({ path }) => path === `/services/${secret}`)).toBe(true);
  });

  test.each([
    ["workspace", "workspace: w\n", "workspace: other\n"],
    ["service", /base_url: .*/, "base_url: http://127.0.0.1:1"],
    ["ledger", "workspace: w\n", "workspace: w\nstate: manifests\n"],
  ])(
    "is notified once while the config names another %s, not through the ledger, and again when it is right",
    async (_what, own, other) => {
      await reconcile();
      const { "draftsync.yaml": right } = config();
      for (const _round of [1, 2]) {
        await folder.write({ "draftsync.yaml": right.replace(own, other) });
        for (const _each of [1, 2]) expect((await reconcile()).code).toBe(1);
        await folder.write(config());
        for (const _each of [1, 2]) expect((await reconcile()).code).toBe(0);
      }
      const twice = [
        [undefined, "failing"],
        ["failing", "ok"],
      ];
      expect(notified()).toEqual([...twice, ...twice]);
      const history = await draftsync(["history", "--json"], { cwd: folder.path });
      const runs: readonly { status: string }[] = JSON.parse(history.stdout).runs;
      expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "done"));
    },
  );

  test("is notified once while the ledger cannot be read, and again when it can", async () => {
    await reconcile();
    const state = `${folder.path}/.draftsync/state.db`;
    renameSync(state, `${state}.away`);
    await folder.write({ ".draftsync/state.db": "no database" });
    for (const _each of [1, 2]) expect((await reconcile()).code).toBe(1);
    expect(notified()).toEqual([[undefined, "failing"]]);
    const kept = () => readdirSync(`${folder.path}/.draftsync`).filter((name) => name.endsWith(".notice"));
    expect(kept()).toEqual(["draftsync.yaml.notice"]);
    expect(await folder.read(`.draftsync/${kept()[0]}`)).toMatch(/^failing ledger-[a-z-]+$/);
    renameSync(`${state}.away`, state);
    for (const _each of [1, 2]) expect((await reconcile()).code).toBe(0);
    expect(notified()).toEqual([
      [undefined, "failing"],
      ["failing", "ok"],
    ]);
    expect(kept()).toEqual([]);
  });

  test("is notified once when another config in the folder fails", async () => {
    await reconcile();
    const { "draftsync.yaml": own } = config();
    const other = own.replace("workspace: w\n", "workspace: other\n");
    await folder.write({ "other.yaml": other });
    for (const _each of [1, 2]) {
      expect((await reconcile(undefined, "--config", "other.yaml")).code).toBe(1);
      expect((await reconcile()).code).toBe(0);
    }
    expect(notified()).toEqual([[undefined, "failing"]]);
  });
});

describe("webhook address", () => {
  test("is read from the config or from a file that the config names", async () => {
    await folder.write({
      ...config("notify: { url_file: secrets/hook }\n"),
      ...bad,
      "secrets/hook": `${hook()}\n`,
    });
    await reconcile({});
    expect(notified()).toEqual([[undefined, "failing"]]);
    await folder.write({ ...config(`notify: { url: "${hook()}" }\n`), ...good });
    await reconcile({});
    expect(notified()).toHaveLength(2);
  });

  test("that cannot be reached is a warning that shows only its origin", async () => {
    await webhook.close();
    await folder.write(bad);
    const { code, stderr } = await reconcile();
    expect(code).toBe(1);
    expect(stderr).toContain(`warning: the webhook notification to ${webhook.url} failed: ECONNREFUSED\n`);
  });

  test.each([
    { name: "uses http on another host", env: `http://hooks.example/${secret}`, code: "notify-url-invalid" },
    { name: "has a password", env: `https://me:${secret}@hooks.example/`, code: "notify-url-invalid" },
    { name: "is not a URL", env: secret, code: "notify-url-invalid" },
    {
      name: "is in a missing file",
      more: "notify: { url_file: nowhere }\n",
      code: "notify-url-file",
    },
    {
      name: "is set twice",
      more: `notify: { url: "https://hooks.example/${secret}", url_file: a }\n`,
      code: "notify-url-twice",
    },
  ])("that $name is refused before anything else happens", async ({ env, more, code }) => {
    await folder.write(config(more));
    const ended = await reconcile(env === undefined ? {} : { DRAFTSYNC_NOTIFY_URL: env });
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(`[${code}]`) });
    expect(sandbox.state().attachments).toEqual([]);
  });
});
