import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { z } from "zod";
import { messageOf } from "../model/errors.ts";
import { eventSchema } from "../model/event-schema.ts";
import { parseJson } from "../model/parse-json.ts";
import type { RateBound } from "../model/rate.ts";
import { formatDuration } from "../model/time.ts";
import { onAbort } from "../model/wait.ts";
import { FleetError } from "./fleet-database.ts";
import type { EndedRun, RunError } from "./fleet-store.ts";

/** An API key that several workspaces share. */
export interface FleetKey {
  readonly file: string;
  readonly rate: RateBound | undefined;
}

/** Variables of the worker that a run receives: programs, files, proxies and certificates. */
const passed =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|XDG_CACHE_HOME|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|DRAFTSYNC_RECOVERY|PG\w+)$/i;

/**
 * The environment of a run, without the secrets of other workspaces. A key of the fleet is one that several workspaces share;
 * they share its rate reservations, too. Throws {@link FleetError}.
 */
export async function environmentOf(
  keyName: string | null,
  { keys, rates, env }: { keys: ReadonlyMap<string, FleetKey>; rates: string; env: NodeJS.ProcessEnv },
): Promise<NodeJS.ProcessEnv> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => passed.test(name)));
  if (keyName === null) return own;
  const key = keys.get(keyName);
  if (key === undefined) {
    throw new FleetError(`fleet.yaml of this worker has no key ${keyName}`, {
      code: "unknown-key-name",
      hint: `Add ${keyName} to \`keys\`, or run \`draftsync fleet apply\` if it was removed.`,
    });
  }
  const { file, rate } = key;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new FleetError(`the API key file ${file} cannot be read: ${messageOf(error)}`, {
      code: "api-key-file",
      hint: `Check keys.${keyName}.api_key_file in fleet.yaml.`,
    });
  });
  if (text.trim() === "") {
    throw new FleetError(`no API key: ${file} is empty`, {
      code: "api-key-missing",
      hint: `Write the key into the file of keys.${keyName}.`,
    });
  }
  return {
    ...own,
    DRAFTSYNC_API_KEY: text.trim(),
    DRAFTSYNC_RATE_SHARED: rates,
    ...(rate === undefined ? {} : { DRAFTSYNC_RATE: `${rate.limit}/${rate.windowMs}ms` }),
  };
}

/** A run of one workspace in its own process. */
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
  /** Interrupts the run. */
  readonly signal: AbortSignal;
}

type RunEnd = Omit<EndedRun, "commit">;

/** When a process that does not end after SIGTERM is killed, milliseconds. */
const graceMs = 10_000;

/**
 * Runs `draftsync reconcile` once. Outcomes that an earlier run could not record, such as when the database of its ledger was
 * unreachable, are replayed first. Never throws: an error is in the result.
 */
export async function runChild(run: ChildRun): Promise<RunEnd> {
  const first = await reconcile(run);
  if (first.error?.code !== "recovery-pending") return first;
  const { child, ended } = startChild(["state", "recover"], run);
  child.stdout.resume();
  child.stderr.resume();
  const { exitCode } = await ended;
  return exitCode === 0 ? reconcile(run) : first;
}

async function reconcile(run: ChildRun): Promise<RunEnd> {
  // Before the deadline it ends by itself, and its refresh has left time for the changes.
  const until = formatDuration(Math.ceil(0.9 * run.deadlineMs));
  const { child, ended, isLate } = startChild(["reconcile", "--json", "--until", until], run);
  const [{ result, failure }, logged, { exitCode, how }] = await Promise.all([
    readEvents(child.stdout),
    readLog(child.stderr),
    ended,
  ]);
  if (isLate()) {
    const seconds = Math.round(run.deadlineMs / 1000);
    const message = `the run was ended after ${seconds} s, the deadline of fleet.yaml`;
    return failed(exitCode, { code: "run-too-long", message });
  }
  if (result !== null) {
    return { status: result.status, exit_code: exitCode, result, error: logged ?? failure };
  }
  // The signal may have arrived before the process handled signals.
  if (run.signal.aborted) return { status: "interrupted", exit_code: exitCode, result, error: null };
  return failed(exitCode, logged ?? { code: "run-crashed", message: `the run ended ${how}` });
}

/** The end of a run without a result: an error in its config is a failure, anything else a crash. */
export function failed(exitCode: number | null, error: RunError): RunEnd {
  const isCrash = ["run-crashed", "run-too-long", "defect"].includes(error.code);
  return { status: isCrash ? "crashed" : "failing", exit_code: exitCode, result: null, error };
}

/** Starts a command of the program in the workspace; the deadline and the signal end it. */
function startChild(
  command: readonly string[],
  { main, config, env, memoryMb, deadlineMs, signal }: ChildRun,
) {
  const flags = ["--config", config, "--lock-timeout", "0s", "--log-format", "json"];
  const child = spawn(process.execPath, [`--max-old-space-size=${memoryMb}`, main, ...command, ...flags], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // An interrupt from the terminal reaches the worker only, which passes it on.
    detached: true,
  });
  let isLate = false;
  const leave = onAbort(signal, () => endChild(child));
  // The signal may have been aborted since the run was claimed.
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

function endChild(child: ChildProcess): void {
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), graceMs);
  child.once("exit", () => clearTimeout(kill));
}

function exitOf(child: ChildProcess): Promise<{ readonly exitCode: number | null; readonly how: string }> {
  return new Promise((done) => {
    child.once("error", (error) => done({ exitCode: null, how: `before it began: ${messageOf(error)}` }));
    child.once("close", (exitCode, signal) => {
      const how = signal === null ? `with exit code ${exitCode} and no result` : `by ${signal}`;
      done({ exitCode, how });
    });
  });
}

/** The last event of a reconcile, and the first failure among its changes. */
async function readEvents(output: Readable) {
  let result: Extract<z.output<typeof eventSchema>, { type: "reconcile_finished" }> | null = null;
  let failure: RunError | null = null;
  for await (const line of createInterface({ input: output })) {
    if (!/^\{"type":"(reconcile_finished|change_finished)"/.test(line)) continue;
    const event = eventSchema.safeParse(parseJson(line)).data;
    if (event?.type === "reconcile_finished") result = event;
    if (event?.type === "change_finished" && event.failure !== undefined && failure === null) {
      const { code, message, hint } = event.failure;
      failure = { code, message, hint };
    }
  }
  return { result, failure };
}

const logLine = z.object({
  level: z.enum(["debug", "info", "warning", "error"]),
  code: z.string().default(""),
  message: z.string(),
  hint: z.string().optional(),
  place: z.string().optional(),
});

/** The first logged error, or the last line that is not a log entry. */
async function readLog(output: Readable): Promise<RunError | null> {
  let error: RunError | null = null;
  let other: RunError | null = null;
  for await (const line of createInterface({ input: output })) {
    const entry = logLine.safeParse(parseJson(line)).data;
    if (entry === undefined) other = { code: "run-crashed", message: line.slice(0, 500) };
    else if (entry.level === "error" && error === null) {
      const { code, message, hint, place } = entry;
      error = { code, message: place === undefined ? message : `${place}: ${message}`, hint };
    }
  }
  return error ?? other;
}
