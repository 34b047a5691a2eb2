import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { expectNoKey } from "./canary.ts";
import { main } from "./cli.ts";

/** The size of a terminal, and the folder and environment of its command. */
export interface ScreenOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows?: number;
}

/** A text of one style. */
export interface StyledText {
  readonly text: string;
  /** 0 to 15 of the terminal's palette; absent: the default. */
  readonly color?: number;
  readonly bold: boolean;
  readonly dim: boolean;
}

/** A command in a pseudo-terminal, with its output in an emulator. */
export interface Screen {
  /** All lines, also those scrolled away, without empty ones at the end. */
  lines(): readonly string[];
  /** {@link Screen.lines} with their styles. */
  styledLines(): readonly (readonly StyledText[])[];
  /** The complete output with escape sequences. */
  written(): string;
  isCursorVisible(): boolean;
  /** Waits until the screen fulfills a condition. */
  until(holds: (lines: readonly string[]) => boolean): Promise<void>;
  /** Types keys: `\u0003` is Ctrl-C. */
  type(keys: string): void;
  /** Signals the command. */
  kill(signal: NodeJS.Signals): void;
  /** The exit code as in a shell; 128 and more: ended by a signal. */
  readonly ended: Promise<number>;
}

/** Starts the real binary in a terminal. */
export async function startOnScreen(
  args: readonly string[],
  { cwd, env = {}, columns, rows = 24 }: ScreenOptions,
): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 5000 });
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, TERM: "xterm-256color", ...env },
    cols: columns,
    rows,
  });
  const listeners = new Set<() => void>();
  let written = "";
  child.onData((text) => {
    written += text;
    terminal.write(text, () => {
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
  const styledLines = () => lines().map((_text, at) => styledLine(terminal.buffer.active.getLine(at)));
  const ended = endOf(child, () => written, terminal);
  return {
    lines,
    styledLines,
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
          failed(
            new Error(
              `the command ended before the condition was fulfilled; the screen has:\n${lines().join("\n")}`,
            ),
          );
        void ended.then(() => (listeners.has(check) ? tooLate() : undefined), failed);
        check();
      }),
    type: (keys) => child.write(keys),
    kill: (signal) => void process.kill(child.pid, signal),
    ended,
  };
}

function styledLine(line: xterm.IBufferLine | undefined): StyledText[] {
  const texts: StyledText[] = [];
  for (let at = 0; at < (line?.length ?? 0); at += 1) {
    const cell = line?.getCell(at);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const color = cell.isFgPalette() ? { color: cell.getFgColor() } : {};
    const style = { ...color, bold: cell.isBold() !== 0, dim: cell.isDim() !== 0 };
    const text = cell.getChars() || " ";
    const last = texts.at(-1);
    const isSame = last?.color === style.color && last?.bold === style.bold && last?.dim === style.dim;
    if (last !== undefined && isSame) texts.splice(-1, 1, { ...last, text: last.text + text });
    else texts.push({ text, ...style });
  }
  return texts;
}

/** Resolves when the emulator has read all output. */
function endOf(child: IPty, written: () => string, terminal: xterm.Terminal): Promise<number> {
  return new Promise((done, failed) => {
    child.onExit(({ exitCode, signal = 0 }) => {
      terminal.write("", () => {
        try {
          expectNoKey(written(), "the output on a terminal");
          done(signal === 0 ? exitCode : 128 + signal);
        } catch (error) {
          failed(error);
        }
      });
    });
  });
}
