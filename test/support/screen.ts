import { type ChildProcess, spawn } from "node:child_process";
import xterm from "@xterm/headless";
import { expectNoKey } from "./canary.ts";
import { main } from "./cli.ts";

/** How big a terminal is, and where and with what a command runs in it. */
export interface ScreenOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows?: number;
}

/** A command in a pseudo-terminal, and what an emulator makes of its output. */
export interface Screen {
  /** The lines that are shown and those that were scrolled away, without what is empty at the end. */
  lines(): readonly string[];
  /** Everything that was written, escape sequences included. */
  written(): string;
  isCursorVisible(): boolean;
  /** Waits until what is on the screen fulfils a condition. */
  until(holds: (lines: readonly string[]) => boolean): Promise<void>;
  /** Has the keys typed: `\u0003` is Ctrl-C. */
  type(keys: string): void;
  /** Signals the command. */
  kill(signal: NodeJS.Signals): void;
  /** What the shell has as its exit code; 128 and more: ended by a signal. */
  readonly ended: Promise<number>;
}

/**
 * A pseudo-terminal of a given size by python's standard library: it needs no native module, and tells the size to the
 * command, which `script` of util-linux does not. Its first line of output is the command's process id.
 */
const pty = `
import fcntl, os, pty, select, signal, struct, sys, termios
columns, rows, *command = sys.argv[1:]
pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
    os.execvp(command[0], command)
os.write(1, b"%d\\n" % pid)
inputs = [0, master]
while True:
    for ready in select.select(inputs, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:
            data = b""
        if ready == 0:
            if data: os.write(master, data)
            else: inputs.remove(0)
        elif data: os.write(1, data)
        else:
            _, status = os.waitpid(pid, 0)
            sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
`;

/** Starts the real binary in a terminal. Throws where there is no python3 to make one. */
export async function startOnScreen(
  args: readonly string[],
  { cwd, env = {}, columns, rows = 24 }: ScreenOptions,
): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 5000 });
  const command = [process.execPath, main, ...args];
  const child = spawn("python3", ["-c", pty, String(columns), String(rows), ...command], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const listeners = new Set<() => void>();
  let written = "";
  let pid: number | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text;
    const [first = "", ...rest] = written.split("\n");
    const isFirst = pid === undefined && rest.length > 0;
    if (isFirst) {
      pid = Number(first);
      written = rest.join("\n");
    }
    if (pid === undefined) return;
    terminal.write(isFirst ? written : text, () => {
      for (const listener of listeners) listener();
    });
  });
  const lines = () => {
    const { active } = terminal.buffer;
    const all = Array.from(
      { length: active.length },
      (_none, at) => active.getLine(at)?.translateToString(true) ?? "",
    );
    return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
  };
  const ended = endOf(child, () => written, terminal);
  return {
    lines,
    written: () => written,
    isCursorVisible: () => written.lastIndexOf("\u001b[?25l") <= written.lastIndexOf("\u001b[?25h"),
    until: (holds) =>
      new Promise((done, failed) => {
        const check = () => {
          if (!holds(lines())) return;
          listeners.delete(check);
          done();
        };
        listeners.add(check);
        const tooLate = () =>
          failed(new Error(`it ended before that; the screen has:\n${lines().join("\n")}`));
        void ended.then(() => (listeners.has(check) ? tooLate() : undefined), failed);
        check();
      }),
    type: (keys) => void child.stdin.write(keys),
    kill: (signal) => {
      if (pid === undefined) throw new Error("the command has not been started yet");
      process.kill(pid, signal);
    },
    ended,
  };
}

/** Ends when the emulator has read everything. */
function endOf(child: ChildProcess, written: () => string, terminal: xterm.Terminal): Promise<number> {
  return new Promise((done, failed) => {
    child.once("error", (error) => {
      failed(
        new Error(`tests of the terminal need python3, which makes a pseudo-terminal: ${error.message}`),
      );
    });
    child.once("close", (code) => {
      terminal.write("", () => {
        try {
          expectNoKey(written(), "the output on a terminal");
          done(code ?? -1);
        } catch (error) {
          failed(error);
        }
      });
    });
  });
}
