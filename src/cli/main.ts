#!/usr/bin/env node
import { readFileSync } from "node:fs";

await start(process.argv.slice(2)).catch((error: unknown) => {
  // Node opens many modules at a time, and fails before any of them can report it.
  if (!(error instanceof Error && "code" in error && error.code === "EMFILE")) throw error;
  process.stderr.write(`error: ${error.message}\n  hint: Raise the limit of open files: ulimit -n 4096\n`);
  process.exitCode = 1;
});

async function start(args: readonly string[]): Promise<void> {
  const version = readVersion();
  const [first, second] = args;
  if (second === undefined && (first === "--version" || first === "-V")) {
    process.stdout.on("error", ({ message }) => {
      process.stderr.write(`error: the output cannot be written: ${message}\n`);
      process.exitCode = 1;
    });
    process.stdout.write(`${version}\n`);
  } else if (first === "__complete") {
    const { completeForShell } = await import("./completion/complete.ts");
    await completeForShell(args.slice(1), version);
  } else {
    const { run } = await import("./run.ts");
    await run(args, version);
  }
}

function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? "unknown";
}
