import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { main, startProcess, startShell } from "../support/cli.ts";
import { listenLocally } from "../support/listen.ts";
import { useWorkspace } from "../support/workspace.ts";

const draft = (id: number, files: number) =>
  `draft: ${id}\nproduct_files: [${Array.from({ length: files }, (_none, at) => `{ file_id: ${at + 1} }`)}]\n`;

const { sandbox, proxy, folder, options, run, apply } = useWorkspace({
  files: { "manifests/a.yaml": `${draft(1, 12)}publish: true\n` },
  // Long enough that all files of the draft wait for it at the same time.
  service: { profile: "{ settle_delay: 300ms }" },
});

/** Runs a shell command in the workspace. */
const shell = (line: string) => startShell(line, options()).ended;

describe("output whose reader has closed it", () => {
  test.each([
    { name: "standard output", line: "$draftsync apply --auto-approve --new-ledger --json | head -1" },
    { name: "standard error", line: "$draftsync apply --auto-approve --new-ledger 2> >(head -1 >/dev/null)" },
  ])("does not stop apply: $name", async ({ line }) => {
    expect((await shell(line)).code).toBe(0);
    expect((await run("plan")).stdout).toContain("No changes.");
  });

  test("does not stop apply if it is a connection, and is not an error", async () => {
    const server = createServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const port = await listenLocally(server);
    const { code, stderr } = await shell(
      `$draftsync apply --auto-approve --new-ledger --json > /dev/tcp/127.0.0.1/${port}`,
    );
    server.close();
    expect(code).toBe(0);
    expect(stderr).not.toContain("cannot be written");
  });

  test("is not an error for plan | head", async () => {
    const { code, stderr } = await shell("$draftsync plan 2>/dev/null | head -1");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("output to a full disk", () => {
  test.each([
    { name: "no byte fits", line: "$draftsync schema > /dev/full", message: "ENOSPC" },
    { name: "no byte of --version fits", line: "$draftsync --version > /dev/full", message: "ENOSPC" },
    { name: "no byte of --help fits", line: "$draftsync --help > /dev/full", message: "ENOSPC" },
    { name: "no byte of explain fits", line: "$draftsync explain > /dev/full", message: "ENOSPC" },
    { name: "some bytes fit", line: "ulimit -f 2; $draftsync schema > schema.json", message: "EFBIG" },
  ])("is reported in one sentence when $name", async ({ line, message }) => {
    const { code, stderr } = await shell(line);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^error: the output cannot be written: ${message}.*\\n$`));
  });

  test.each(["", "--json"])("lets apply %j finish and exit with 1", async (flag) => {
    const { code, stderr } = await shell(`$draftsync apply --auto-approve --new-ledger ${flag} > /dev/full`);
    expect(code).toBe(1);
    expect(stderr).toContain("error: the output cannot be written");
    expect(sandbox.state().products).toHaveLength(1);
    expect((await run("plan")).stdout).toContain("No changes.");
  });

  test.each(["", "--json"])(
    "does not hide a publish in doubt from the exit code of apply %j",
    async (flag) => {
      proxy.choose = ({ path }) => (path === "/api/products" ? { type: "answer-lost" } : undefined);
      const { code, stderr } = await shell(
        `$draftsync apply --auto-approve --new-ledger ${flag} > /dev/full`,
      );
      expect(code).toBe(4);
      expect(stderr).toContain("error: the output cannot be written");
    },
  );

  test("changes the exit code of plan --detailed-exitcode to 1, because the plan was not shown", async () => {
    expect((await shell("$draftsync plan --detailed-exitcode > /dev/null")).code).toBe(2);
    expect((await shell("$draftsync plan --detailed-exitcode > /dev/full")).code).toBe(1);
  });
});

describe("reader that does not read", () => {
  /** More output than the system buffers for a reader. */
  const files = 1000;
  const command = [process.execPath, main, "apply", "--auto-approve", "--new-ledger", "--json", "--verbose"];
  const hasEnded = async () => {
    const { code, stdout } = await run("history", "--json");
    return code === 0 && JSON.parse(stdout).runs[0]?.finished_at != null;
  };

  test("gets whole lines of both streams in order once it reads", async () => {
    await folder.write({ "manifests/a.yaml": draft(1, files) });
    const line =
      "mkfifo come; $draftsync apply --auto-approve --new-ledger --json --verbose 2>&1 | { read < come; cat; }";
    const { ended } = startShell(line, options());
    await expect.poll(hasEnded, { timeout: 60_000 }).toBe(true);
    await folder.write({ come: "\n" });
    const lines = (await ended).stdout
      .trimEnd()
      .split("\n")
      .filter((each) => /^[{P]/.test(each));
    // Both lines of a call are written together.
    let ahead = 0;
    let furthest = 0;
    for (const each of lines) {
      if (each.startsWith("POST ")) ahead -= 1;
      else if (JSON.parse(each).type === "call_finished") ahead += 1;
      furthest = Math.max(furthest, Math.abs(ahead));
    }
    expect([lines.filter((each) => each.startsWith("POST ")).length, ahead, furthest]).toEqual([files, 0, 1]);
  });

  test("does not keep the process from exiting on SIGTERM", async () => {
    await folder.write({ "manifests/a.yaml": draft(1, files) });
    const child = startProcess(command, options());
    await expect.poll(hasEnded, { timeout: 60_000 }).toBe(true);
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    // A shell reports this as 130.
    expect(await once(child, "exit")).toEqual([null, "SIGINT"]);
  });
});

test("an outage in which many files of a draft wait to settle causes no Node warning", async () => {
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.endsWith("/product_files") ? { type: "answer-lost" } : undefined;
  const { code, stderr } = await apply();
  expect(code).toBe(0);
  expect(stderr).not.toContain("warning");
  proxy.choose = () => undefined;
  expect((await run("plan")).stdout).toContain("No changes.");
});
