import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

const BUILT = new URL("../../../dist/sandbox/server.js", import.meta.url);

const SCRIPT = `
  const { startSandbox } = await import(process.argv[1]);
  const sandbox = await startSandbox(JSON.parse(process.argv[2]));
  console.log(sandbox.url);
`;

/** Starts a sandbox of the built package in a separate process, which is killed after the test. */
export async function startChild(options: object): Promise<{ url: string; kill(): Promise<void> }> {
  if (!existsSync(BUILT)) throw new Error("The built sandbox is missing; `npm run build` makes it.");
  const child = spawn(
    process.execPath,
    ["--input-type=module", "--eval", SCRIPT, BUILT.href, JSON.stringify(options)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = exitOf(child);
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const url = await Promise.race([firstLine(child), ended.then(() => undefined)]);
  if (url === undefined) throw new Error("The sandbox's process ended before it listened.");
  return { url, kill };
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("close", () => resolve()));
}

async function firstLine(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  for await (const line of createInterface({ input: child.stdout })) return line;
  return undefined;
}
