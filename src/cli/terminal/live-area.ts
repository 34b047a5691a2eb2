import type { EventEmitter } from "node:events";
import type { LiveDisplay, LiveLine, LiveLines } from "../../report/live-lines.ts";

/** The terminal that a {@link LiveArea} is on. */
export interface LiveStream {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** The process that restores the terminal. */
export interface LiveProcess extends Pick<EventEmitter, "on" | "off" | "listenerCount"> {
  readonly pid: number;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

/** Private mode 2026: the terminal shows everything between the two as one frame. Other terminals ignore it. */
const beginFrame = "\u001b[?2026h";
const endFrame = "\u001b[?2026l";
const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
const eraseBelow = "\u001b[J";
const eraseRight = "\u001b[K";

/** Signals of a terminal or a user that end a process without a listener. */
const ending = ["SIGHUP", "SIGQUIT"] as const;

/**
 * A few lines at the bottom of a terminal that are redrawn in place, one write a frame. Other output goes above them, through
 * {@link LiveArea.aside}.
 *
 * ```
 *   hidden ──show──► shown ──hide, exit, SIGHUP, SIGQUIT──► hidden (erased, cursor visible)
 *                    │   ▲
 *            SIGTSTP ▼   │ SIGCONT
 *                   stopped (erased, cursor visible)
 * ```
 *
 * Between frames the cursor is in the first column of the last line, so that the number of rows to the first line is known even
 * if a resize wraps the lines.
 */
export class LiveArea implements LiveDisplay {
  readonly #stream: LiveStream;
  readonly #process: LiveProcess;
  #render: LiveLines | undefined;
  #drawn: readonly LiveLine[] = [];
  #isStopped = false;

  constructor(stream: LiveStream, process: LiveProcess) {
    this.#stream = stream;
    this.#process = process;
  }

  show(render: LiveLines): void {
    if (this.#render === undefined) this.#listen();
    this.#render = render;
    this.#draw();
  }

  hide(): void {
    if (this.#render === undefined) return;
    this.#render = undefined;
    this.#leave();
    this.#erase();
  }

  /** Writes text that ends with a line feed above the lines. */
  above(text: string): void {
    if (this.#render === undefined || this.#isStopped) {
      this.#stream.write(text);
      return;
    }
    this.#frame(this.#lines(), text);
  }

  /** Erases the lines while `write` writes to the same terminal. */
  aside(write: () => void): void {
    this.#erase();
    write();
    this.#draw();
  }

  #draw(): void {
    if (this.#render === undefined || this.#isStopped) return;
    const lines = this.#lines();
    const isSame =
      lines.length === this.#drawn.length && lines.every(({ text }, at) => text === this.#drawn[at]?.text);
    if (!isSame) this.#frame(lines, "");
  }

  #frame(lines: readonly LiveLine[], above: string): void {
    const start = this.#drawn.length === 0 ? hideCursor : this.#toFirst();
    const cleared = above === "" ? "" : `${eraseBelow}${above}`;
    const shown = lines.map(({ text }) => `${text}${eraseRight}`).join("\n");
    this.#drawn = lines;
    const end = lines.length === 0 ? showCursor : "\r";
    this.#stream.write(`${beginFrame}${start}${cleared}${shown}${eraseBelow}${end}${endFrame}`);
  }

  #erase(): void {
    if (this.#drawn.length === 0) return;
    const start = this.#toFirst();
    this.#drawn = [];
    this.#stream.write(`${beginFrame}${start}${eraseBelow}${showCursor}${endFrame}`);
  }

  /** The lines may be wrapped if the terminal has become narrower. */
  #toFirst(): string {
    const { columns = 80 } = this.#stream;
    const rows = this.#drawn
      .slice(0, -1)
      .reduce((sum, { width }) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rows === 0 ? "\r" : `\r\u001b[${rows}A`;
  }

  /** As many as fit: lines that scroll away cannot be erased. */
  #lines(): readonly LiveLine[] {
    const { columns = 80, rows = 24 } = this.#stream;
    return (this.#render?.(columns - 1) ?? []).slice(0, Math.max(1, rows - 1));
  }

  #listen(): void {
    this.#stream.on("resize", this.#onResize);
    this.#process.on("exit", this.#onExit);
    this.#process.on("SIGTSTP", this.#onStop);
    this.#process.on("SIGCONT", this.#onContinue);
    for (const signal of ending) this.#process.on(signal, this.#onEnding);
  }

  #leave(): void {
    this.#stream.off("resize", this.#onResize);
    this.#process.off("exit", this.#onExit);
    this.#process.off("SIGTSTP", this.#onStop);
    this.#process.off("SIGCONT", this.#onContinue);
    for (const signal of ending) this.#process.off(signal, this.#onEnding);
  }

  readonly #onResize = (): void => this.#draw();

  readonly #onExit = (): void => this.hide();

  /** Restores the terminal, then stops as without a listener. */
  readonly #onStop = (): void => {
    this.#erase();
    this.#isStopped = true;
    this.#process.off("SIGTSTP", this.#onStop);
    this.#process.kill(this.#process.pid, "SIGTSTP");
  };

  readonly #onContinue = (): void => {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#process.on("SIGTSTP", this.#onStop);
    this.#draw();
  };

  /** This listener would keep the process alive, so without another listener the signal is sent again. */
  readonly #onEnding = (signal: NodeJS.Signals): void => {
    if (this.#process.listenerCount(signal) > 1) return;
    this.hide();
    this.#process.kill(this.#process.pid, signal);
  };
}
