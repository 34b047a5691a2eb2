import { expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";
import { useWorkspace } from "../support/workspace.ts";

const manifests = Array.from(
  { length: 300 },
  (_none, at) => `draft: ${at + 1}\nproduct_files: [{ file_id: ${at + 1} }]\npublish: true\n`,
);
const { apply, folder, options, proxy, run, start } = useWorkspace({
  files: { "manifests/all.yaml": manifests.join("---\n") },
});

const errorsIn = (stderr: string) => stderr.split("\n").filter((line) => /^(error|in doubt):/.test(line));
const answer = (status: number, ...errors: object[]) =>
  ({
    type: "answer",
    status,
    headers: { "content-type": "application/vnd.api+json" },
    body: JSON.stringify({ errors }),
  }) as const;

test("a key refused for 300 drafts is one message with a count", async () => {
  proxy.choose = () => answer(401, { title: "Unauthorized", detail: "The key was revoked." });
  const { code, stderr } = await apply();
  expect(code).toBe(1);
  expect(
    stderr
      .replaceAll(/[\d,]+ (changes? |failed|skipped|calls?)/g, "N $1")
      .replace(/in [\d.]+ m?s\./, "in T."),
  ).toContain(`
error: the service does not accept the key (401)  [unauthorized]
  service: Unauthorized: The key was revoked.
  N changes failed, and the run stopped.
  hint: Check DRAFTSYNC_API_KEY or service.api_key_file; the key may have been revoked.

Nothing was applied: N failed, N skipped. N calls in T.
`);
  expect(errorsIn(stderr)).toHaveLength(1);
  expect(stderr).not.toContain("drafts/");
});

test("a run that stops still has an event for every change, and --verbose lists each skipped change with its reason", async () => {
  proxy.choose = () => answer(401);
  const { stdout } = await apply("--json");
  expect(parseEvents(stdout).filter(({ type }) => type === "change_finished")).toHaveLength(600);
  const { stderr } = await apply("--verbose");
  expect(stderr).toMatch(/! drafts\/300\/product skipped: the run stopped \(unauthorized\)\n/);
  expect(stderr).toMatch(
    /\+ drafts\/\d+\/product_files\/\d+ failed: POST .*: the service does not accept the key/,
  );
});

test("an import with a refused key is one message with a count", async () => {
  proxy.choose = () => answer(401, { title: "Unauthorized", detail: "The key was revoked." });
  const { code, stdout, stderr } = await run("import", "--all");
  expect([code, errorsIn(stderr).length]).toEqual([1, 1]);
  const lines = stdout.replaceAll(/\d+/g, "N").split("\n");
  expect(lines.slice(0, 2)).toEqual([
    "    ? drafts/N/product_files/N  (could not be read: the service does not accept the key (N): The key was revoked.)",
    "      and N more for the same cause; --json lists them",
  ]);
  expect(lines.slice(7, 10)).toEqual([
    "      and N more; --json lists them",
    "",
    expect.stringMatching(/^Imported: N adopted, N could not be read, N not checked\. N calls;/),
  ]);
});

test("a service that is down is one message", async () => {
  proxy.choose = () => ({ type: "lost" });
  const down = await run("apply", "--auto-approve", "--base-url", "http://127.0.0.1:9");
  expect(errorsIn(down.stderr)).toEqual([expect.stringContaining("[connection-refused]")]);
  expect(down.code).toBe(1);
});

test("one failure among 300 drafts names the change, its manifest line and the reason of the service", async () => {
  proxy.choose = ({ path }) =>
    path === "/api/drafts/17/product_files"
      ? answer(422, {
          title: "Not valid",
          detail: "no known format",
          source: { pointer: "/data/attributes/file_format" },
        })
      : undefined;
  const { code, stderr } = await apply();
  expect(code).toBe(3);
  expect(stderr).toContain(`
error: the service rejected the request as invalid (422)  [invalid]
  service: Not valid: no known format (/data/attributes/file_format)
  1 change failed:
    drafts/17/product_files/17 (manifests/all.yaml:66:17)
  hint: Correct the values that the errors name.

Applied in part: 598 done, 1 failed, 1 skipped.`);
});

test("responses lost on every call are one message with a count", async () => {
  await folder.write({ "manifests/all.yaml": manifests.slice(0, 20).join("---\n") });
  proxy.choose = () => ({ type: "lost" });
  const { code, stderr } = await apply();
  expect([code, errorsIn(stderr).length]).toEqual([4, 1]);
  expect(stderr).toContain("    and 15 more; `draftsync plan` lists them\n");
});

test("Ctrl-C prints what it waits for and what is left, and names no single file as the cause", async () => {
  proxy.choose = () => ({ type: "answer-held" });
  const running = start(["apply", "--auto-approve"]);
  await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBeGreaterThan(4);
  running.kill("SIGINT");
  await expect
    .poll(running.stderr, { timeout: 60_000 })
    .toContain("Waiting up to 5 s for requests in flight.");
  running.kill("SIGINT");
  const { code, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(errorsIn(stderr).length).toBeLessThanOrEqual(1);
  expect(stderr).not.toContain("skipped because of");
  expect(stderr.trimEnd().split("\n").at(-1)).toBe("Interrupted. Run `draftsync plan` to see what's left.");
});

test("no change is reported as skipped because of itself", async () => {
  let refusals = 0;
  proxy.choose = ({ path }) => {
    if (path !== "/api/drafts/1/product_files") return undefined;
    refusals += 1;
    return refusals === 1 ? answer(404) : undefined;
  };
  const files = Array.from({ length: 60 }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
  await folder.write({ "manifests/all.yaml": `draft: 1\nproduct_files: [${files}]\n` });
  const { stdout } = await apply("--json");
  const finished = parseEvents(stdout).filter((event) => event.type === "change_finished");
  expect(finished.filter(({ outcome }) => outcome === "skipped").length).toBeGreaterThan(0);
  for (const { address, because } of finished) expect(because).not.toBe(address);
});

test.each([[["--quiet"]], [["--log-format", "json"]]])("%j prints the cause once", async (flags) => {
  proxy.choose = () => answer(401);
  const { stderr } = await apply(...flags);
  expect(stderr.match(/the service does not accept the key/g)).toHaveLength(1);
});

test.each([["apply", "--auto-approve"], ["reconcile"]])(
  "%s without a key fails before it shows a plan",
  async (...args) => {
    const { DRAFTSYNC_API_KEY: _key, ...env } = options().env ?? {};
    const { code, stdout, stderr } = await draftsync(args, { ...options(), env });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("[api-key-missing]");
  },
);
