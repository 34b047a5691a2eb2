import { fstatSync, type Stats, writeFileSync } from "node:fs";

type Write = (text: string) => void;
type StandardStream = typeof process.stdout | typeof process.stderr;

/** Ways to the process's standard output and standard error. Writing never throws. */
export interface StandardStreams {
  readonly out: Write;
  readonly err: Write;
}

/** `outputFailed` is told once, when standard output cannot be written for another reason than that its reader has left. */
export function openStandardStreams(outputFailed: (error: Error) => void): StandardStreams {
  const { stdout, stderr } = process;
  const out = guard(stdout, outputFailed);
  return { out, err: isOnePipe(stdout, stderr) ? out : guard(stderr, () => {}) };
}

/**
 * Writes to a stream until it fails. That its reader has left (`draftsync plan | head`) is no error, and must not end
 * the process either: calls may be on their way whose outcome is still to be recorded.
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
function isPipe(stat: Stats): boolean {
  return stat.isFIFO() || stat.isSocket();
}

/** `undefined` where there is no file descriptor, as in a thread. */
function statOf(stream: StandardStream): Stats | undefined {
  try {
    return fstatSync(stream.fd);
  } catch {
    return undefined;
  }
}
