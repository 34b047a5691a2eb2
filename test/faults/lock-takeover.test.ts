import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main, startProcess } from "../support/cli.ts";
import { holdAnswers } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";
import { passing } from "../unit/ledger/ledger-lock-suite.ts";
import { executeIn, freshSchema } from "../unit/ledger/samples.ts";

const { proxy, folder, options, run, apply, start, holdApply } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\n" },
  service: { timeout: "10m", concurrency: "1" },
});

const hour = 3_600_000;

/** A ledger, and the environment that selects it. */
interface LedgerUnderTest {
  readonly location: string;
  readonly env: Readonly<Record<string, string>>;
}

const ledgers = [
  {
    name: "SQLite",
    locate: (): LedgerUnderTest => ({ location: join(folder.path, ".draftsync/state.db"), env: {} }),
  },
  {
    name: "PostgreSQL",
    locate: (): LedgerUnderTest => {
      const location = freshSchema();
      return { location, env: { DRAFTSYNC_STATE: location } };
    },
  },
];

/** A process whose wall clock jumps by this many hours once the file `jump` exists. */
function jumping(hours: number): Readonly<Record<string, string>> {
  const code = `import { existsSync } from "node:fs";
    const now = Date.now; Date.now = () => now() + (existsSync(process.env.JUMP) ? ${hours * hour} : 0);`;
  return {
    JUMP: join(folder.path, "jump"),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
  };
}

describe.each(ledgers)("$name: lock of an apply", ({ locate }) => {
  test("is taken over immediately after a kill, with a note that names the dead process", async () => {
    const { env } = locate();
    const holder = await holdApply(1, env);
    holder.kill("SIGKILL");
    await holder.ended;
    const next = await start(["apply", "--auto-approve"], env).ended;
    expect(next).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`(process ${holder.pid}, apply)`),
    });
    expect(next.stderr).toContain("its process has ended");
  });

  test("is kept by a live process whose clock jumps", async () => {
    for (const hours of [24, -24]) {
      const { env } = locate();
      await folder.write({
        [`manifests/${hours}.yaml`]: `draft: ${30 + hours}\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\n`,
      });
      const holder = await holdApply(1, { ...env, ...jumping(hours) });
      await folder.write({ jump: "" });
      const rival = await start(["apply", "--auto-approve"], env).ended;
      expect(rival).toMatchObject({ code: 6, stderr: expect.stringContaining("[lock-held]") });
      holder.answer();
      expect(await holder.ended).toMatchObject({ code: 0 });
      await folder.remove("jump");
    }
  });

  test("is kept by a process that was stopped for longer than the lease", async () => {
    const { env, location } = locate();
    const holder = await holdApply(1, env);
    holder.kill("SIGSTOP");
    await executeIn(location, passing.all(hour));
    expect(await start(["apply", "--auto-approve"], env).ended).toMatchObject({ code: 6 });
    holder.answer();
    holder.kill("SIGCONT");
    expect(await holder.ended).toMatchObject({ code: 0 });
  });
});

/** Root can create a PID namespace; other users only if the system allows it. */
const canUnshare = spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "true"]).status === 0;
if (!canUnshare) process.stderr.write("skipped: this user cannot make a PID namespace (unshare --pid)\n");

test.runIf(canUnshare)(
  "the lock of a process in another PID namespace is judged by its lease even if its pid exists here",
  async () => {
    const { held, answer } = holdAnswers();
    proxy.choose = () => held;
    const inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const command = [...inside, process.execPath, main, "apply", "--auto-approve"];
    const child = startProcess(command, options());
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBe(1);
    proxy.choose = () => undefined;
    const rival = await apply();
    expect(rival).toMatchObject({ code: 6, stderr: expect.stringContaining("(process 1, apply)") });
    expect(rival.stderr).toContain("its lease ends in");
    const location = join(folder.path, ".draftsync/state.db");
    await executeIn(location, passing.all(60_000));
    // Its call may be in flight for as long as the timeout.
    expect((await run("lock", "status")).stdout).toContain("its lease ends in");
    await executeIn(location, passing.all(hour));
    expect((await run("lock", "status")).stdout).toContain("its lease ended");
    child.kill("SIGKILL");
    answer();
    expect(await apply()).toMatchObject({ code: 0, stderr: expect.stringContaining("its lease ended") });
  },
);
