import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { SlotProcess } from "../model/slots.ts";

/**
 * This process. On Linux a process id means something within one boot of one machine, and there within one PID namespace
 * (pid_namespaces(7)); elsewhere within the machine, by its name.
 */
export function identifyProcess(): SlotProcess {
  const startedAt = startOf(process.pid)?.at;
  return { space: ownSpace(), pid: process.pid, ...(startedAt === undefined ? {} : { startedAt }) };
}

/** Whether a process still runs; `undefined` when it is of another machine or container. */
export function isProcessAlive({ space, pid, startedAt }: SlotProcess): boolean | undefined {
  if (space !== ownSpace()) return undefined;
  if (startedAt !== undefined) {
    const found = startOf(pid);
    return found?.runs === true && found.at === startedAt;
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

let space: string | undefined;

function ownSpace(): string {
  space ??= findSpace();
  return space;
}

function findSpace(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

/** The start of a process in clock ticks since the boot, and whether it is more than a remnant (proc_pid_stat(5)). */
function startOf(pid: number): { readonly at: string; readonly runs: boolean } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the name, in brackets, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const at = fields[19];
  return at === undefined ? undefined : { at, runs: state !== "Z" && state !== "X" };
}
