// How long the real binary takes, and how much memory.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** The middle one of figures, or the mean of the two in the middle. */
export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Runs Node with arguments to its end. `ms` from spawn to exit; `rss` is the most memory it had, in bytes, where the system reports. */
export async function runNode(args, { cwd, env = {}, ends = 0 } = {}) {
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, DRAFTSYNC_API_KEY: "bench", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  let rss = 0;
  const watch = setInterval(() => {
    rss = Math.max(rss, highWater(child.pid));
  }, 10);
  const ended = once(child, "exit");
  const closed = once(child, "close");
  const [code] = await ended;
  const ms = performance.now() - begun;
  clearInterval(watch);
  await closed;
  if (code !== ends) throw new Error(`${args.join(" ")} ended ${code}: ${stderr.slice(-2000)}`);
  return { ms, rss, stdout, stderr };
}

/** The median of several runs; `before` prepares each and is not measured. */
export async function time(args, { runs = 5, before = () => {}, ...options } = {}) {
  const figures = [];
  let rss = 0;
  for (let run = 0; run < runs; run += 1) {
    await before();
    const ended = await runNode(args, options);
    figures.push(ended.ms);
    rss = Math.max(rss, ended.rss);
  }
  return { ms: median(figures), rss };
}

/** https://www.kernel.org/doc/html/latest/filesystems/proc.html: VmHWM. 0 where there is none. */
function highWater(pid) {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** A share, as readers see it. */
export const percent = (share) => `${Math.round(100 * share)} %`;

/** What the processors' time has been spent on since the start of the machine, in ticks; nothing where the system does not tell. */
export function processorTicks() {
  try {
    const [, ...ticks] = readFileSync("/proc/stat", "utf8").split("\n")[0].trim().split(/\s+/);
    return ticks.map(Number).slice(0, 8);
  } catch {
    return [];
  }
}

/**
 * The share of the processors' time since then that was wanted here and given to others: what the host of a virtual machine
 * withholds. `undefined` where the system does not tell. https://www.kernel.org/doc/html/latest/filesystems/proc.html: "steal", the eighth.
 */
export function withheldSince(before) {
  const spent = processorTicks().map((ticks, at) => ticks - before[at]);
  const all = spent.reduce((sum, ticks) => sum + ticks, 0);
  return all > 0 ? spent[7] / all : undefined;
}
