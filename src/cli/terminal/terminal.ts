import { type BigIntStats, fstatSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import type { LogEntry } from "../../model/log.ts";
import { systemClock } from "../../model/ports.ts";
import type { LiveDisplay } from "../../report/live-lines.ts";
import { formatLogLine, isShown, type LogContext, type Verbosity, wrapText } from "../../report/log-line.ts";
import { makePalette, type Palette } from "../../report/palette.ts";
import { exitCodeWithoutOutput } from "../runtime/exit-code.ts";
import { LiveArea, type LiveStream } from "./live-area.ts";

/** The only way to the process's streams: results go to `out`, everything else to standard error. */
export interface Terminal {
  out(text: string): void;
  /** {@link Terminal.out} of text for people: on a terminal, long lines break between words. */
  show(text: string): void;
  /** Logs an entry on standard error, in the format and at the level that the flags set. */
  log(entry: LogEntry): boolean;
  /** Whether entries of the level `debug` are printed. */
  readonly isVerbose: boolean;
  /** {@link Terminal.log} of a text that is merely good to know. */
  err(text: string): void;
  readonly paintOut: Palette;
  readonly paintErr: Palette;
  /** Whether a person can be asked: both standard input and standard error are terminals, and no log is wanted. */
  readonly interactive: boolean;
  /** Whether any of the three streams is a terminal, so that a person may close it. */
  readonly isAttached: boolean;
  /** Lines on standard error that are rewritten in place; absent where that cannot be, or is not wanted. */
  readonly live?: LiveDisplay | undefined;
  /** Of standard output, when it is a terminal. */
  readonly columns?: number | undefined;
  /** Everything that comes on standard input. */
  readAll(): Promise<string>;
  /** Asks on standard error; `undefined` when the input ends or the question is interrupted. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
}

/** What the flags of every command say of standard error. */
export interface LogSettings {
  readonly verbosity: Verbosity;
  readonly format: "text" | "json";
  readonly context: LogContext;
  /** Whether `--no-color` was not given. */
  readonly color: boolean;
}

/** The terminal of a process. */
export interface ProcessTerminal extends AdjustableTerminal {
  /** Whether a command of this program was printed, such as one that settles a doubt. */
  readonly hasNamedCommand: boolean;
}

/** A {@link Terminal} that flags may change. */
export interface AdjustableTerminal extends Terminal {
  adjust(settings: Partial<LogSettings>): void;
}

const namedCommand =
  /\bdraftsync\s+(?:apply|import|lock|plan|products|reconcile|resolve|show|state|uploads)\b/;

/** The process's streams. Colour follows https://no-color.org, FORCE_COLOR, and whether the stream is a terminal. */
export function makeTerminal(env: NodeJS.ProcessEnv): ProcessTerminal {
  const { stdout, stderr } = process;
  let settings: LogSettings = { verbosity: "normal", format: "text", context: {}, color: true };
  let isOutputLost = false;
  const { out, err } = openStandardStreams(({ message }) => {
    isOutputLost = true;
    const text = `error: the output cannot be written: ${message}\n`;
    log({ level: "error", text, code: "output-unwritable" });
  });
  process.once("exit", (code) => {
    if (isOutputLost) process.exitCode = exitCodeWithoutOutput(code);
  });
  let hasNamedCommand = false;
  const see = (text: string) => {
    hasNamedCommand ||= namedCommand.test(text);
    return text;
  };
  const area = new LiveArea(liveStream(stderr, err), process);
  const log = (entry: LogEntry) => {
    if (!isShown(entry, settings.verbosity)) return false;
    const text =
      settings.format === "json"
        ? formatLogLine(entry, systemClock.now(), settings.context)
        : wrapText(entry.text, stderr.isTTY ? stderr.columns : undefined);
    if (text !== "") area.above(see(text));
    return text !== "";
  };
  const painted = makePalette(wantsColour(env, stderr.isTTY));
  const paintedOut = makePalette(wantsColour(env, stdout.isTTY));
  const plain = makePalette(false);
  const canBeLive = stderr.isTTY === true && env.TERM !== "dumb" && !isSet(env.CI);
  const write = (text: string) => {
    see(text);
    return stdout.isTTY === true ? area.aside(() => out(text)) : out(text);
  };
  return {
    out: write,
    show: (text) => write(wrapText(text, stdout.isTTY ? stdout.columns : undefined)),
    log,
    get isVerbose() {
      return settings.verbosity === "verbose";
    },
    err: (text) => log({ level: "info", text }),
    get paintOut() {
      return settings.color ? paintedOut : plain;
    },
    get paintErr() {
      return settings.format === "json" || !settings.color ? plain : painted;
    },
    get interactive() {
      return process.stdin.isTTY === true && stderr.isTTY === true && settings.format === "text";
    },
    isAttached: [process.stdin, stdout, stderr].some(({ isTTY }) => isTTY),
    get live() {
      const isWanted = settings.format === "text" && settings.verbosity !== "quiet";
      return canBeLive && isWanted ? area : undefined;
    },
    get columns() {
      return stdout.columns;
    },
    get hasNamedCommand() {
      return hasNamedCommand;
    },
    readAll: () => text(process.stdin),
    ask: async (question, signal) => {
      area.hide();
      const lines = createInterface({ input: process.stdin, output: stderr });
      const ended = new AbortController();
      lines.once("close", () => ended.abort());
      // In raw mode, Ctrl-C reaches only the reader of the line.
      lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
      try {
        return await lines.question(question, { signal: AbortSignal.any([signal, ended.signal]) });
      } catch {
        err("\n");
        return undefined;
      } finally {
        lines.close();
      }
    },
    adjust: (changes) => {
      settings = { ...settings, ...changes };
    },
  };
}

function liveStream(stream: NodeJS.WriteStream, write: (text: string) => void): LiveStream {
  return {
    write,
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
    on: (event, listener) => stream.on(event, listener),
    off: (event, listener) => stream.off(event, listener),
  };
}

/** As CI systems say that they are one: `CI` is set, and not to `false`. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "false" && value !== "0";
}

function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean | undefined): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return env.FORCE_COLOR !== "0";
  return isTerminal === true && env.TERM !== "dumb";
}

type Write = (text: string) => void;
type StandardStream = typeof process.stdout | typeof process.stderr;

/** Ways to the process's standard output and standard error. Writing never throws. */
interface StandardStreams {
  readonly out: Write;
  readonly err: Write;
}

/** Calls `outputFailed` once if standard output cannot be written, unless only its reader has gone. */
function openStandardStreams(outputFailed: (error: Error) => void): StandardStreams {
  const { stdout, stderr } = process;
  const out = guard(stdout, outputFailed);
  return { out, err: isOnePipe(stdout, stderr) ? out : guard(stderr, () => {}) };
}

/**
 * Writes to a stream until it fails. That its reader has left (`draftsync plan | head`) is no error, and must not end
 * the process either: calls may be in flight whose outcome is still to be recorded.
 */
function guard(stream: StandardStream, onFailure: (error: Error) => void): Write {
  let open = true;
  const fail = (error: NodeJS.ErrnoException) => {
    const first = open;
    open = false;
    if (first && !hasLeft(error)) onFailure(error);
  };
  stream.on("error", fail);
  const write = writeTo(stream);
  return (text) => {
    if (!open) return;
    try {
      write(text);
    } catch (error) {
      fail(error as NodeJS.ErrnoException);
    }
  };
}

/** The reader has: of a pipe, or of a connection. */
function hasLeft({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE" || code === "ECONNRESET";
}

/**
 * Node's own stream for a file takes a part that was written for the whole, as it is when the disk fills up: the rest
 * would be lost without a word.
 */
function writeTo(stream: StandardStream): Write {
  const stat = statOf(stream);
  const isQueued = stat === undefined || stream.isTTY === true || isPipe(stat);
  return isQueued ? (text) => void stream.write(text) : (text) => writeFileSync(stream.fd, text);
}

/**
 * Whether both are one pipe (`2>&1 | …`). Each stream has a queue of its own for what a slow reader has not taken yet,
 * and from two queues it would get halves of lines.
 */
function isOnePipe(stdout: StandardStream, stderr: StandardStream): boolean {
  const [one, other] = [statOf(stdout), statOf(stderr)];
  if (one === undefined || other === undefined || !isPipe(one)) return false;
  return one.dev === other.dev && one.ino === other.ino;
}

/** Node gives a pipe to a child as a socket, too. */
function isPipe(stat: BigIntStats): boolean {
  return stat.isFIFO() || stat.isSocket();
}

/**
 * `undefined` if the stream has no file descriptor: in a thread. It uses `bigint`, since Node otherwise stops following links to
 * modules once it has looked at a pipe (nodejs/node#51142), and pnpm installs dependencies as links.
 */
function statOf(stream: StandardStream): BigIntStats | undefined {
  try {
    return fstatSync(stream.fd, { bigint: true });
  } catch {
    return undefined;
  }
}
