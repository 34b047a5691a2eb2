import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startDraftsync } from "../support/cli.ts";
import { holdAnswers } from "../support/faulty-proxy.ts";
import { startOnScreen } from "../support/screen.ts";
import { startWebhook } from "../support/webhook.ts";
import { useWorkspace } from "../support/workspace.ts";

const key = "canary-key-5e4f";
const timeout = 60_000;
const manifest = (count: number, rest = "") => ({
  "manifests/a.yaml": `draft: 1\nproduct_files: [${Array.from({ length: count }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ")}]\n${rest}`,
});

const { sandbox, proxy, folder, config, options, run, confirmLedger, start, holdApply } = useWorkspace({
  files: manifest(2),
  service: { timeout: "10m" },
  sandbox: { key },
});

/** Starts a service and collects one line per run. With the default interval of a day only SIGHUP starts another run. */
function serve(args: readonly string[] = ["--interval", "1d"], env: Record<string, string> = {}) {
  const service = start(["reconcile", ...args, "--listen", "127.0.0.1:0"], env);
  const lines = () =>
    service
      .stderr()
      .match(
        /^\d{4}-\d\d-\d\dT\S+Z (?:ok|deferred|stalled|standby|failing|in doubt|refused|locked|interrupted).*$/gm,
      ) ?? [];
  const line = async (count: number) => {
    await expect.poll(() => lines().length, { timeout }).toBeGreaterThanOrEqual(count);
    return lines()[count - 1] ?? "";
  };
  const again = async () => {
    const count = lines().length + 1;
    service.kill("SIGHUP");
    return line(count);
  };
  const ask = async (path: string) => {
    const [, url = ""] = /listening on (\S+)/.exec(service.stderr()) ?? [];
    const answer = await fetch(`${url}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  return { ...service, line, lines, again, ask };
}

describe("reconcile service", () => {
  test("starts a run immediately, logs one line per run, and exits with 0 on SIGTERM", async () => {
    const service = serve();
    expect(await service.line(1)).toMatch(/ ok: 2 done, 2 calls in .+; next at \d{4}-/);
    expect(await service.again()).toMatch(/ ok: nothing to do in /);
    service.kill("SIGTERM");
    const { code, stdout, stderr } = await service.ended;
    expect(code).toBe(0);
    expect(sandbox.state().attachments).toHaveLength(2);
    // An unchanged plan is not printed again.
    expect(stdout.match(/Plan: 2 to create/g)).toHaveLength(1);
    expect(stdout).not.toContain("No changes.");
    expect(stderr).not.toContain("Applied:");
  });

  test("finishes requests in flight on SIGTERM and exits with 0; a second SIGTERM aborts them with 130", async () => {
    const { held, answer } = holdAnswers();
    proxy.choose = () => held;
    const first = serve();
    await expect.poll(() => proxy.seen.length, { timeout }).toBe(2);
    first.kill("SIGTERM");
    await expect.poll(() => first.stderr(), { timeout }).toContain("Waiting up to 5 s");
    answer();
    expect((await first.ended).code).toBe(0);
    expect(first.lines()).toEqual([expect.stringMatching(/ interrupted: 2 done, 2 calls in [^;]+$/)]);
    await folder.write(manifest(3));
    proxy.choose = () => ({ type: "answer-held" });
    const second = serve();
    await expect.poll(() => proxy.seen.length, { timeout }).toBe(3);
    second.kill("SIGTERM");
    await expect.poll(() => second.stderr(), { timeout }).toContain("Waiting up to 5 s");
    second.kill("SIGTERM");
    expect((await second.ended).code).toBe(130);
  });

  test("keeps its interval after failures, runs immediately on SIGHUP, and prints the same error once", async () => {
    await folder.write({ "manifests/b.yaml": "draft: one\n" });
    const service = serve(["--interval", "1m"]);
    const wait = (line: string) =>
      Date.parse(/next at (\S+)/.exec(line)?.[1] ?? "") - Date.parse(line.slice(0, 20));
    const first = await service.line(1);
    expect(first).toContain(" failing: invalid-input ");
    for (let count = 0; count < 3; count += 1) expect(wait(await service.again())).toBeLessThan(70_000);
    expect(wait(first)).toBeLessThan(70_000);
    expect(service.stderr().match(/\[[a-z-]+\]\n {2}--> manifests\/b\.yaml/g)).toHaveLength(1);
    expect((await service.ask("/readyz")).status).toBe(503);
    expect((await service.ask("/healthz")).status).toBe(200);
    await folder.remove("manifests/b.yaml");
    const third = await service.again();
    expect(third).toContain(" ok: 2 done");
    expect(wait(third)).toBeLessThan(70_000);
    expect(await service.ask("/readyz")).toMatchObject({ status: 200, text: expect.stringContaining("ok") });
  });

  test("reads the config in every run, and changes nothing while it has errors", async () => {
    await confirmLedger();
    await folder.write(manifest(2, "publish: true\n"));
    const service = serve();
    expect(await service.line(1)).toContain(" ok, with changes excluded by policy: 2 done, 1 excluded");
    await folder.write({ ...config("reconcile: { allow: [publish], unknown: 1 }\n"), ...manifest(3) });
    expect(await service.again()).toContain(" failing: ");
    expect(service.stderr()).toContain('"unknown" is not known');
    expect(sandbox.state().attachments).toHaveLength(2);
    await folder.write({ ...config("reconcile: { allow: [publish] }\n"), ...manifest(2, "publish: true\n") });
    expect(await service.again()).toContain(" ok: 1 done, 2 calls");
    expect(sandbox.state().products).toHaveLength(1);
  });

  test("skips a run while another process holds the lock", async () => {
    await folder.write(config("reconcile: { lock_wait: 0s }\n"));
    const holder = await holdApply(2);
    const service = serve();
    expect(await service.line(1)).toContain(" locked: lock-held ");
    holder.answer();
    expect((await holder.ended).code).toBe(0);
    expect(await service.again()).toContain(" ok: nothing to do");
    expect((await service.ask("/metrics")).text).toContain(
      'draftsync_runs_total{status="locked",workspace="w"} 1\n',
    );
  });
});

test("metrics match the calls that the service received and contain no secret", async () => {
  const service = serve();
  await service.line(1);
  proxy.choose = ({ body }) => (body.includes('"file_id":4') ? { type: "answer", status: 422 } : undefined);
  await folder.write(manifest(4));
  expect(await service.again()).toContain(" failing: 1 done, 1 failed, 3 calls");
  const { text } = await service.ask("/metrics");
  const calls = [...text.matchAll(/^draftsync_calls_total\{.*status="(\d+)".*\} (\d+)$/gm)];
  // The 404 is the check whether the refused file was attached already.
  expect(calls.map(([, status, count]) => `${status}: ${count}`)).toEqual(["201: 3", "422: 1", "404: 1"]);
  expect(calls.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(proxy.seen.length);
  expect(sandbox.state().attachments).toHaveLength(3);
  expect(text).toContain('draftsync_changes_total{action="create",outcome="rejected",workspace="w"} 1\n');
  expect(text).toContain('draftsync_failures_in_a_row{workspace="w"} 1\n');
  expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
  expect(text).toMatch(/^draftsync_oldest_unconfirmed_age_seconds\{workspace="w"\} \d/m);
  // Nothing was checked.
  expect(text).not.toMatch(/^draftsync_drift\{/m);
  expect(text).not.toContain(key);
});

test("failures are printed again only when they change", async () => {
  const refuse =
    (title: string) =>
    ({ method }: { method: string }) => {
      if (method !== "POST") return undefined;
      const headers = { "content-type": "application/vnd.api+json" };
      const body = JSON.stringify({ errors: [{ title }] });
      return { type: "answer", status: 422, headers, body } as const;
    };
  proxy.choose = refuse("No such renderer");
  const service = serve();
  const printed = () => service.stderr().match(/^error: .*$/gm)?.length;
  expect(await service.line(1)).toContain(" failing: 2 failed");
  expect(await service.again()).toContain(" failing: 2 failed");
  expect(printed()).toBe(1);
  proxy.choose = refuse("No such format");
  expect(await service.again()).toContain(" failing: 2 failed");
  expect(printed()).toBe(2);
  proxy.choose = () => undefined;
  expect(await service.again()).toContain(" ok: 2 done");
  await folder.write(manifest(3));
  proxy.choose = refuse("No such format");
  expect(await service.again()).toContain(" failing: 1 failed");
  expect(printed()).toBe(3);
});

test("a service that cannot be checked is printed once, whichever file is read first", async () => {
  await folder.write(config("refresh: { attachments: probe }\n"));
  expect((await run("apply", "--auto-approve")).code).toBe(0);
  proxy.choose = () => ({
    type: "answer",
    status: 401,
    headers: { "content-type": "application/vnd.api+json" },
    body: JSON.stringify({ errors: [{ title: "Unauthorized" }] }),
  });
  const service = serve();
  await service.line(1);
  await service.again();
  await service.again();
  expect(service.stderr().match(/the service could not be checked: .*$/gm)).toEqual([
    "the service could not be checked: the service does not accept the key (401): Unauthorized  [unauthorized]",
  ]);
});

test("a replica skips a run that another replica has just completed, unless SIGHUP asks for it or changes remain", async () => {
  await folder.write(config("refresh: { attachments: probe }\n"));
  expect((await run("apply", "--auto-approve")).code).toBe(0);
  const interval = ["--interval", "1h"];
  const first = serve(interval);
  expect(await first.line(1)).toContain(" ok: nothing to do, 2 calls");
  const before = proxy.seen.length;
  const second = serve(interval);
  expect(await second.line(1)).toContain(" standby: nothing to do in ");
  expect(proxy.seen).toHaveLength(before);
  expect((await second.ask("/readyz")).status).toBe(200);
  expect(await second.again()).toContain(" ok: nothing to do, 2 calls");
  await folder.write(manifest(3));
  const third = serve(interval);
  expect(await third.line(1)).toContain(" ok: 1 done");
});

test("a replica reports what is excluded, also when another replica has just completed a run", async () => {
  expect((await run("apply", "--auto-approve")).code).toBe(0);
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: []\n" });
  for (const service of [serve(["--interval", "1h"]), serve(["--interval", "1h"])])
    expect(await service.line(1)).toContain(", with changes excluded");
});

test("a replica that cannot read the service does not stop another replica from checking it", async () => {
  await folder.write(config("refresh: { attachments: probe }\n"));
  expect((await run("apply", "--auto-approve")).code).toBe(0);
  proxy.choose = () => ({ type: "answer", status: 500 });
  expect((await run("reconcile")).code).toBe(1);
  proxy.choose = () => undefined;
  const service = serve(["--interval", "1h"]);
  expect(await service.line(1)).toContain(" ok: nothing to do, 2 calls");
});

test("a run recorded by a clock that was ahead does not stop a replica from checking", async () => {
  await folder.write(config("refresh: { attachments: probe }\n"));
  const shift = "const now = Date.now; Date.now = () => now() + 86_400_000;";
  const ahead = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
  expect((await start(["reconcile"], ahead).ended).code).toBe(0);
  const service = serve(["--interval", "1h"]);
  expect(await service.line(1)).toContain(" ok: nothing to do, 2 calls");
});

test("a workspace whose next change exceeds --max-calls is stalled and not ready", async () => {
  await folder.write({
    "a.bin": "a",
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ source: ../a.bin }]\n",
  });
  const service = serve(["--interval", "1d", "--max-calls", "1"]);
  expect(await service.line(1)).toContain(" stalled: 1 deferred");
  expect(service.stderr()).not.toContain(" deferred to the next run:");
  expect((await service.ask("/readyz")).status).toBe(503);
  expect((await service.ask("/metrics")).text).toContain(
    'draftsync_run_status{status="stalled",workspace="w"} 1\n',
  );
  expect(sandbox.state().attachments).toEqual([]);
});

test("a workspace in which only checks succeed is stalled", async () => {
  const more = "refresh: { attachments: probe }\nreconcile: { allow: [create, update, publish] }\n";
  await folder.write({ ...config(more), ...manifest(2, "publish: true\n") });
  await run("apply", "--auto-approve", "--new-ledger");
  await folder.write(manifest(2, "publish: { revision: 2 }\n"));
  proxy.choose = ({ path }) =>
    path.endsWith("product_files/1") ? { type: "answer", status: 500, body: "" } : undefined;
  const service = serve();
  expect(await service.line(1)).toContain(" stalled: ");
  expect((await service.ask("/readyz")).status).toBe(503);
});

test("every JSON log line has the workspace, and every line of a run has its run id and address", async () => {
  const { code, stderr } = await run("reconcile", "--log-format", "json", "--verbose");
  expect(code).toBe(0);
  const lines = stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.filter(({ workspace }) => workspace !== "w")).toEqual([]);
  const [{ runs }] = [JSON.parse((await run("history", "--json")).stdout)];
  const of = (code: string) => lines.filter((line) => line.code === code);
  const addresses = ["drafts/1/product_files/1", "drafts/1/product_files/2"];
  for (const kind of ["change_finished", "call_finished"]) {
    expect(
      of(kind)
        .map(({ address }) => address)
        .sort(),
    ).toEqual(addresses);
    for (const { run_id } of of(kind)) expect(run_id).toBe(runs[0].run_id);
  }
});

test("every JSON log line of a service has the workspace", async () => {
  const service = start(["reconcile", "--interval", "1d", "--listen", "127.0.0.1:0", "--log-format", "json"]);
  await expect.poll(service.stderr, { timeout }).toContain("2 done");
  service.kill("SIGTERM");
  const { stderr } = await service.ended;
  expect(stderr).toContain("listening on");
  const lines = stderr.trim().split("\n");
  expect(lines.filter((line) => JSON.parse(line).workspace !== "w")).toEqual([]);
});

test("two services on one ledger write one after the other, and only one reports a status change", async () => {
  const webhook = await startWebhook();
  const env = { DRAFTSYNC_NOTIFY_URL: `${webhook.url}/hook` };
  const both = [serve(["--interval", "1d"], env), serve(["--interval", "1d"], env)];
  for (const each of both) await each.line(1);
  expect(sandbox.state().attachments).toHaveLength(2);
  expect(proxy.seen).toHaveLength(2);
  await folder.write({ "manifests/b.yaml": "draft: one\n" });
  for (const each of both) expect(await each.again()).toContain(" failing: invalid-input");
  await expect.poll(() => webhook.notices.length, { timeout }).toBe(1);
  await webhook.close();
  const { runs } = JSON.parse((await run("history", "--json")).stdout);
  const times: { started_at: string; finished_at: string }[] = runs;
  for (const [at, { started_at }] of times.entries()) {
    const before = times[at - 1];
    if (before !== undefined) expect(before.finished_at <= started_at).toBe(true);
  }
});

test("a service that has completed many runs exits without warnings", async () => {
  const service = serve();
  await service.line(1);
  // Node warns above 10 listeners for one signal.
  for (let count = 0; count < 12; count += 1) await service.again();
  service.kill("SIGTERM");
  const { code, stderr } = await service.ended;
  expect(code).toBe(0);
  expect(stderr).not.toMatch(/Warning|MaxListeners/);
});

test("a service that was started in a linked folder reads the release that the link leads to by then", async () => {
  for (const release of [1, 2]) {
    const files = { ...config("state: ../state.db\n"), ...manifest(release + 1) };
    for (const [name, text] of Object.entries(files))
      await folder.write({ [`releases/${release}/${name}`]: text });
  }
  const link = join(folder.path, "current");
  await symlink("releases/1", link);
  const { env } = options();
  const service = startDraftsync(["reconcile", "--interval", "1d"], {
    cwd: link,
    env: { ...env, PWD: link },
  });
  onTestFinished(() => void service.kill("SIGKILL"));
  const attached = () => sandbox.state().attachments.length;
  await expect.poll(attached, { timeout }).toBe(2);
  await expect.poll(service.stderr, { timeout }).toContain(" ok: 2 done");
  await symlink("releases/2", `${link}-next`);
  await rename(`${link}-next`, link);
  service.kill("SIGHUP");
  await expect.poll(attached, { timeout }).toBe(3);
});

test("a service on a terminal ends when the terminal is closed", async () => {
  const screen = await startOnScreen(["reconcile", "--interval", "1d"], { ...options(), columns: 100 });
  await screen.until((lines) => lines.some((line) => line.includes(" ok: 2 done")));
  screen.kill("SIGHUP");
  expect(await screen.ended).toBe(0);
});
