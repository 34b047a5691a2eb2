import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemProcesses } from "../../../src/model/process.ts";

const { isAlive, self } = systemProcesses;
/** Without start times, a process cannot be distinguished from a later one with its pid. */
const hasStartTimes = self.startedAt !== undefined;

function startOf(pid: number): string | undefined {
  if (!hasStartTimes) return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** The identity that a child would record for itself. */
function identityOf(pid: number) {
  const startedAt = startOf(pid);
  return {
    boot: self.boot,
    namespace: self.namespace,
    pid,
    ...(startedAt === undefined ? {} : { startedAt }),
  };
}

function startChild(...command: readonly [string, ...string[]]): ChildProcess {
  const [file, ...args] = command;
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

describe("isAlive", () => {
  test("reports this process as alive, and an earlier one with its pid as dead", () => {
    expect(self).toMatchObject({ pid: process.pid, boot: expect.stringMatching(/./) });
    expect(isAlive(self)).toBe(true);
    if (hasStartTimes) expect(isAlive({ ...self, startedAt: "1" })).toBe(false);
    const { startedAt: _, ...unknownStart } = self;
    expect(isAlive(unknownStart)).toBe(true);
  });

  test("cannot tell whether a process of a different boot or PID namespace is alive", () => {
    expect(isAlive({ ...self, boot: "another" })).toBeUndefined();
    expect(isAlive({ ...self, namespace: "pid:[1]" })).toBeUndefined();
    expect(isAlive({ ...self, pid: 0 })).toBeUndefined();
  });

  test("reports a stopped process as alive", async () => {
    const child = startChild("sleep", "1000");
    const identity = identityOf(child.pid ?? 0);
    child.kill("SIGSTOP");
    expect(isAlive(identity)).toBe(true);
  });

  test("reports a killed process as dead, also while it is a zombie", async () => {
    // The shell never waits for its child, which remains as a zombie.
    const shell = startChild("sh", "-c", "sleep 1000 & echo $!; exec sleep 1000");
    const [line] = await once(shell.stdout ?? shell, "data");
    const identity = identityOf(Number(String(line).trim()));
    expect(isAlive(identity)).toBe(true);
    process.kill(identity.pid, "SIGKILL");
    if (hasStartTimes) await expect.poll(() => isAlive(identity)).toBe(false);
    const parent = identityOf(shell.pid ?? 0);
    shell.kill("SIGKILL");
    await once(shell, "close");
    expect(isAlive(parent)).toBe(false);
  });
});
