import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { identifyProcess, isProcessAlive } from "../../../src/service/process-identity.ts";

test("this process is alive, and tells itself from an earlier one of the same number", () => {
  const own = identifyProcess();
  expect(own).toMatchObject({ pid: process.pid, space: expect.stringMatching(/./) });
  expect(isProcessAlive(own)).toBe(true);
  expect(isProcessAlive({ ...own, startedAt: "1" })).toBe(false);
  const { startedAt: _, ...unknownStart } = own;
  expect(isProcessAlive(unknownStart)).toBe(true);
});

test("of another machine nothing is known", () => {
  expect(isProcessAlive({ ...identifyProcess(), space: "elsewhere" })).toBeUndefined();
});

test("a process that was killed is not alive, also before anybody took note of its end", async () => {
  // The shell never asks what became of its child, which stays behind as a remnant.
  const shell = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(shell.stdout, "data");
  const pid = Number(String(line).trim());
  const { space } = identifyProcess();
  expect(isProcessAlive({ space, pid })).toBe(true);
  process.kill(pid, "SIGKILL");
  const { startedAt } = identifyProcess();
  if (startedAt !== undefined) expect(isProcessAlive({ space, pid, startedAt })).toBe(false);
  shell.kill("SIGKILL");
  await once(shell, "close");
  expect(isProcessAlive({ space, pid: shell.pid ?? 0 })).toBe(false);
});
