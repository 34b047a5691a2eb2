import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { systemProcesses } from "../../../src/model/process.ts";

const { isAlive, self } = systemProcesses;
/** Elsewhere, a process cannot be distinguished from a later one of its number. */
const hasStartTimes = self.startedAt !== undefined;

function startOf(pid: number): string | undefined {
  if (!hasStartTimes) return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** The identity of a child, as it would note it itself. */
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

test("this process is alive, and an earlier one of its number is not", () => {
  expect(self).toMatchObject({ pid: process.pid, boot: expect.stringMatching(/./) });
  expect(isAlive(self)).toBe(true);
  if (hasStartTimes) expect(isAlive({ ...self, startedAt: "1" })).toBe(false);
  const { startedAt: _, ...unknownStart } = self;
  expect(isAlive(unknownStart)).toBe(true);
});

test("a process of a different boot, or of a different PID namespace, cannot be judged", () => {
  expect(isAlive({ ...self, boot: "another" })).toBeUndefined();
  expect(isAlive({ ...self, namespace: "pid:[1]" })).toBeUndefined();
  expect(isAlive({ ...self, pid: 0 })).toBeUndefined();
});

test("a process that is stopped is alive", async () => {
  const child = startChild("sleep", "1000");
  const identity = identityOf(child.pid ?? 0);
  child.kill("SIGSTOP");
  expect(isAlive(identity)).toBe(true);
});

test("a process that was killed is dead, also while it is a zombie", async () => {
  // The shell never waits for its child, which stays behind as a zombie.
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
