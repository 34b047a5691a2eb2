import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listenForInterrupts } from "../../../src/cli/runtime/interrupts.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listen() {
  const signals = new EventEmitter();
  const output: string[] = [];
  const exits: (number | "left process")[] = [];
  const interrupts = listenForInterrupts({
    signals,
    say: (text) => void output.push(text.trim()),
    exit: (code) => void exits.push(code),
    leave: () => void exits.push("left process"),
  });
  const state = () => ({
    drain: interrupts.drain.aborted,
    abortInFlight: interrupts.abortInFlight.aborted,
    exits,
  });
  return { signals, output, interrupts, state };
}

describe.each(["SIGINT", "SIGTERM"])("%s", (signal) => {
  test("drains at once, aborts calls in flight after 5 s, and ends the process within 7 s", () => {
    const { signals, state, output } = listen();
    expect(state()).toEqual({ drain: false, abortInFlight: false, exits: [] });
    signals.emit(signal);
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    vi.advanceTimersByTime(4_999);
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    vi.advanceTimersByTime(1);
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [] });
    vi.advanceTimersByTime(1_999);
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [130] });
    expect(output).toEqual([
      expect.stringMatching(/^Waiting up to 5 s/),
      expect.stringMatching(/did not complete within 5 s/),
    ]);
  });

  test("aborts calls in flight at the second signal, and allows 2 s to record that", () => {
    const { signals, state, output } = listen();
    signals.emit(signal);
    vi.advanceTimersByTime(1_000);
    signals.emit(signal);
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [] });
    vi.advanceTimersByTime(1_999);
    expect(state().exits).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(state().exits).toEqual([130]);
    expect(output).toEqual([expect.stringMatching(/^Waiting up to 5 s/), expect.stringMatching(/^Aborting/)]);
  });

  test("ends the process at the third signal", () => {
    const { signals, state } = listen();
    for (let times = 0; times < 3; times += 1) signals.emit(signal);
    expect(state().exits).toEqual([130]);
  });
});

describe("SIGHUP", () => {
  test("interrupts once, even if it is repeated", () => {
    const { signals, state, output } = listen();
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    expect(output).toEqual([expect.stringMatching(/^Waiting up to 5 s/)]);
    signals.emit("SIGTERM");
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [] });
  });

  test("is left to a command that handles it itself", () => {
    const { signals, interrupts, state } = listen();
    interrupts.spareHangup();
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: false, abortInFlight: false, exits: [] });
    expect(signals.listenerCount("SIGHUP")).toBe(0);
  });
});

describe("a command that has ended", () => {
  test("cancels the timers that would end its process", () => {
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === "Timeout").length;
    const before = timers();
    const { signals, interrupts } = listen();
    signals.emit("SIGINT");
    signals.emit("SIGTERM");
    expect(timers() - before).toBe(2);
    interrupts.commandEnded();
    expect(timers() - before).toBe(0);
  });

  test("ends its process in time after an interrupt, even if its output is blocked", () => {
    const { signals, interrupts, output, state } = listen();
    signals.emit("SIGINT");
    interrupts.commandEnded();
    vi.advanceTimersByTime(6_499);
    expect(state().exits).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(state().exits).toEqual(["left process"]);
    expect(output).toEqual([expect.stringMatching(/^Waiting up to 5 s/)]);
  });

  test.each([[[]], [["SIGINT"]]])("ends its process at the next interrupt after %j", (before) => {
    const { signals, interrupts, state } = listen();
    for (const signal of before) signals.emit(signal);
    interrupts.commandEnded();
    signals.emit("SIGTERM");
    expect(state().exits).toEqual(["left process"]);
  });
});
