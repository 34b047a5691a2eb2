import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { z } from "zod";
import { messageOf } from "../model/errors.ts";
import { eventSchema } from "../model/event-schema.ts";
import { onAbort } from "../model/on-abort.ts";
import type { EndedRun, RunError } from "./fleet-store.ts";

/** A run of one workspace in a process of its own. */
export interface ChildRun {
  /** The program's main file. */
  readonly main: string;
  /** Absolute. */
  readonly config: string;
  /** The whole environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  /** Megabytes. */
  readonly memoryMb: number;
  readonly deadlineMs: number;
  /** Ends the run as an interrupt ends an apply. */
  readonly signal: AbortSignal;
}

/** A process that was asked to end and has not is killed after so long, milliseconds. */
const graceMs = 10_000;

const logLine = z.object({
  level: z.enum(["debug", "info", "warning", "error"]),
  code: z.string().default(""),
  message: z.string(),
  hint: z.string().optional(),
  place: z.string().optional(),
});

/**
 * Runs `draftsync reconcile` once. Outcomes that an earlier run could not record, as when the database of its ledger was away, are
 * replayed first. Never throws: what went wrong is in the result.
 */
export async function runChild(run: ChildRun): Promise<Omit<EndedRun, "commit">> {
  const ended = await reconcile(run);
  if (ended.error?.code !== "recovery-pending") return ended;
  const { child, ended: end } = startChild(["state", "recover"], run);
  child.stdout.resume();
  child.stderr.resume();
  const { exitCode } = await end;
  return exitCode === 0 ? reconcile(run) : ended;
}

async function reconcile(run: ChildRun): Promise<Omit<EndedRun, "commit">> {
  const { child, ended: end, isLate } = startChild(["reconcile", "--json"], run);
  const [{ result, failure }, error, ended] = await Promise.all([
    lastResult(child.stdout),
    lastError(child.stderr),
    end,
  ]);
  if (isLate()) return crashed(ended.exitCode, { code: "run-too-long", message: tooLong(run.deadlineMs) });
  // It may have been asked to end before it could listen.
  if (result === null && run.signal.aborted)
    return { status: "interrupted", exit_code: ended.exitCode, result, error: null };
  if (result === null) {
    return crashed(ended.exitCode, error ?? { code: "run-crashed", message: `the run ended ${ended.how}` });
  }
  return { status: result.status, exit_code: ended.exitCode, result, error: error ?? failure };
}

/** Starts a command of the program in the workspace; it is ended at the deadline, and by the signal. */
function startChild(
  command: readonly string[],
  { main, config, env, memoryMb, deadlineMs, signal }: ChildRun,
) {
  const flags = ["--config", config, "--lock-timeout", "0s", "--log-format", "json"];
  const child = spawn(process.execPath, [`--max-old-space-size=${memoryMb}`, main, ...command, ...flags], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // An interrupt from the terminal goes to the worker alone, which passes it on.
    detached: true,
  });
  let isLate = false;
  const leave = onAbort(signal, () => endChild(child));
  // It may have come since the run was claimed.
  if (signal.aborted) endChild(child);
  const deadline = setTimeout(() => {
    isLate = true;
    endChild(child);
  }, deadlineMs);
  const ended = exitOf(child).finally(() => {
    clearTimeout(deadline);
    leave();
  });
  return { child, ended, isLate: () => isLate };
}

function tooLong(deadlineMs: number): string {
  return `the run was ended after ${Math.round(deadlineMs / 1000)} s, the deadline of fleet.yaml`;
}

/** A mistake in the config is a failure as any other; a run that says nothing of its end has crashed. */
export function crashed(exitCode: number | null, error: RunError): Omit<EndedRun, "commit"> {
  const isSilent = error.code === "run-crashed" || error.code === "run-too-long" || error.code === "defect";
  return { status: isSilent ? "crashed" : "failing", exit_code: exitCode, result: null, error };
}

function endChild(child: ChildProcess): void {
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), graceMs);
  child.once("exit", () => clearTimeout(kill));
}

function exitOf(child: ChildProcess): Promise<{ readonly exitCode: number | null; readonly how: string }> {
  return new Promise((done) => {
    child.once("error", (error) => done({ exitCode: null, how: `before it began: ${messageOf(error)}` }));
    child.once("close", (code, signal) =>
      done({
        exitCode: code,
        how: signal === null ? `with exit code ${code} and no result` : `by ${signal}`,
      }),
    );
  });
}

/** The event that a reconcile ends with, and the first failure among its changes. */
async function lastResult(output: Readable): Promise<Result> {
  let result: Result["result"] = null;
  let failure: RunError | null = null;
  for await (const line of createInterface({ input: output })) {
    if (!/^\{"type":"(reconcile_finished|change_finished)"/.test(line)) continue;
    const event = eventSchema.safeParse(parseJson(line)).data;
    if (event?.type === "reconcile_finished") result = event;
    if (event?.type === "change_finished" && event.failure !== undefined && failure === null) {
      failure = runErrorOf(event.failure);
    }
  }
  return { result, failure };
}

/** What a run wrote to standard output. */
interface Result {
  readonly result: Extract<z.output<typeof eventSchema>, { type: "reconcile_finished" }> | null;
  readonly failure: RunError | null;
}

/** The first error that it logged, or the last line of what is no log. */
async function lastError(output: Readable): Promise<RunError | null> {
  let error: RunError | null = null;
  let other: RunError | null = null;
  for await (const line of createInterface({ input: output })) {
    const entry = logLine.safeParse(parseJson(line));
    if (!entry.success) other = { code: "run-crashed", message: line.slice(0, 500) };
    else if (entry.data.level === "error" && error === null) {
      const { code, message, hint, place } = entry.data;
      error = runErrorOf({ code, message: place === undefined ? message : `${place}: ${message}`, hint });
    }
  }
  return error ?? other;
}

/** What is kept of a failure, or of an entry of the log. */
export function runErrorOf({
  code,
  message,
  hint,
}: {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}): RunError {
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
