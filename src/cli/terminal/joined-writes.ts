type Write = (text: string) => void;

/**
 * Writes what one turn of the event loop brings at once, in the order in which it came: each write takes as long as a
 * call's share of a commit. Several streams share one, since what is read together (`2>&1`) is to stay in order.
 */
export class JoinedWrites {
  #write: Write | undefined;
  #text = "";
  #turn: NodeJS.Immediate | undefined;
  #isLast = false;

  /** `process` tells of its end: after that there is no further turn. */
  constructor(process: { once(event: "exit", listener: () => void): unknown }) {
    process.once("exit", () => {
      this.#isLast = true;
      this.flush();
    });
  }

  /** The same, joined with what else is written by way of this. */
  join(write: Write): Write {
    return (text) => {
      if (write !== this.#write) this.flush();
      this.#write = write;
      this.#text += text;
      if (this.#isLast) this.flush();
      else this.#turn ??= setImmediate(() => this.flush());
    };
  }

  /** Writes what is there now. */
  flush(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#write?.(text);
  }
}
