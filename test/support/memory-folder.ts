import { accessSync, constants, readFileSync, statfsSync } from "node:fs";

const folder = "/dev/shm";
const minFreeBytes = 2 ** 30;

/**
 * A folder in memory for the tests' temporary files, if the system has one with space in which programs may
 * run. Every commit of a ledger waits for the disk, but no test depends on a loss of power.
 */
export function memoryFolder(): string | undefined {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .findLast((line) => line.split(" ")[1] === folder);
    if (mount === undefined || mount.includes("noexec") || bavail * bsize < minFreeBytes) return undefined;
    return folder;
  } catch {
    return undefined;
  }
}
