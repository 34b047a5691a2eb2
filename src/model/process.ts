import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";

/** Identifies a process among all others, past and present. */
export const processSchema = z.strictObject({
  /** One boot of one machine, and its time namespace, which shifts clocks; where the platform has no boot id, the host name. */
  boot: z.string(),
  /** What bounds the meaning of a process id within the machine: the PID namespace (pid_namespaces(7)), or "". */
  namespace: z.string(),
  pid: z.int(),
  /** In clock ticks since the boot (proc_pid_stat(5), field 22); absent where the platform does not show it. */
  startedAt: z.string().exactOptional(),
});

/** {@link processSchema} */
export type ProcessIdentity = Readonly<z.output<typeof processSchema>>;

/** The processes that are visible from this one. */
export interface ProcessTable {
  /** This process. */
  readonly self: ProcessIdentity;
  /** Whether a process still runs; `undefined`: it cannot be judged from here. A stopped process runs, a zombie does not. */
  isAlive(process: ProcessIdentity): boolean | undefined;
}

/** The machine's processes. Like `systemClock`, it reads the machine and nothing else. */
export const systemProcesses: ProcessTable = {
  get self() {
    self ??= identifySelf();
    return self;
  },
  isAlive: ({ boot, namespace, pid, startedAt }) => {
    const own = systemProcesses.self;
    if (boot !== own.boot || namespace !== own.namespace || pid <= 0) return undefined;
    const found = startedAt === undefined || own.startedAt === undefined ? undefined : readStat(String(pid));
    if (found !== undefined) return found.runs && found.startedAt === startedAt;
    if (!exists(pid)) return false;
    // Another process may have its number by now: with `hidepid`, /proc shows those of this user alone.
    return startedAt === undefined ? true : undefined;
  },
};

/** Whether two identities are of the same process. */
export function isSameProcess(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return (
    one.boot === other.boot &&
    one.namespace === other.namespace &&
    one.pid === other.pid &&
    one.startedAt === other.startedAt
  );
}

let self: ProcessIdentity | undefined;

function identifySelf(): ProcessIdentity {
  const { pid } = process;
  // Of a /proc that was mounted in another namespace, the numbers are those of other processes.
  const stat = readStat("self");
  const started = stat?.pid === String(pid) ? { startedAt: stat.startedAt } : {};
  try {
    const boot = `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readLink("/proc/self/ns/time")}`;
    return { boot, namespace: readlinkSync("/proc/self/ns/pid"), pid, ...started };
  } catch {
    return { boot: hostname(), namespace: "", pid, ...started };
  }
}

/** Kernels before 5.6 have no time namespaces. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

interface Stat {
  readonly pid: string;
  readonly runs: boolean;
  readonly startedAt: string;
}

function readStat(name: string): Stat | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${name}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the name, in brackets, and may hold anything.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const startedAt = fields[18];
  if (startedAt === undefined) return undefined;
  return { pid: stat.slice(0, stat.indexOf(" ")), runs: state !== "Z" && state !== "X", startedAt };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
