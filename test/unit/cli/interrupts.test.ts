import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listenForInterrupts } from "../../../src/cli/runtime/interrupts.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listen() {
  const signals = new EventEmitter();
  const said: string[] = [];
  const exits: (number | "deferred")[] = [];
  const interrupts = listenForInterrupts({
    signals,
    say: (text) => void said.push(text.trim()),
    exit: (code) => void exits.push(code),
    leave: () => void exits.push("deferred"),
  });
  const state = () => ({
    drain: interrupts.drain.aborted,
    abortInFlight: interrupts.abortInFlight.aborted,
    exits,
  });
  return { signals, said, interrupts, state };
}

describe.each(["SIGINT", "SIGTERM"])("%s", (signal) => {
  test("once: drains at once, cuts off after 5 s, and ends the process before 7 s", () => {
    const { signals, state, said } = listen();
    expect(state()).toEqual({ drain: false, abortInFlight: false, exits: [] });
    signals.emit(signal);
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    vi.advanceTimersByTime(4_999);
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    vi.advanceTimersByTime(1);
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [] });
    vi.advanceTimersByTime(1_999);
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [130] });
    expect(said).toEqual([
      expect.stringMatching(/^Waiting up to 5 s/),
      expect.stringMatching(/did not complete within 5 s/),
    ]);
  });

  test("twice: cuts off at once, and leaves time to record that", () => {
    const { signals, state, said } = listen();
    signals.emit(signal);
    vi.advanceTimersByTime(1_000);
    signals.emit(signal);
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [] });
    vi.advanceTimersByTime(1_999);
    expect(state().exits).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(state().exits).toEqual([130]);
    expect(said).toEqual([expect.stringMatching(/^Waiting up to 5 s/), expect.stringMatching(/^Aborting/)]);
  });

  test("three times: ends the process", () => {
    const { signals, state } = listen();
    for (let times = 0; times < 3; times += 1) signals.emit(signal);
    expect(state().exits).toEqual([130]);
  });
});

describe("SIGHUP", () => {
  test("interrupts once, however often it comes", () => {
    const { signals, state, said } = listen();
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: true, abortInFlight: false, exits: [] });
    expect(said).toEqual([expect.stringMatching(/^Waiting up to 5 s/)]);
    signals.emit("SIGTERM");
    expect(state()).toEqual({ drain: true, abortInFlight: true, exits: [] });
  });

  test("is the command's own once that says so", () => {
    const { signals, interrupts, state } = listen();
    interrupts.spareHangup();
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: false, abortInFlight: false, exits: [] });
    expect(signals.listenerCount("SIGHUP")).toBe(0);
  });
});

describe("a command that has ended", () => {
  test("is not kept by what ends its process", () => {
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

  test("and was interrupted ends its process in time, whatever became of its output", () => {
    const { signals, interrupts, said, state } = listen();
    signals.emit("SIGINT");
    interrupts.commandEnded();
    vi.advanceTimersByTime(6_499);
    expect(state().exits).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(state().exits).toEqual(["deferred"]);
    expect(said).toEqual([expect.stringMatching(/^Waiting up to 5 s/)]);
  });

  test.each([[[]], [["SIGINT"]]])("after %j ends its process at the next interrupt", (before) => {
    const { signals, interrupts, state } = listen();
    for (const signal of before) signals.emit(signal);
    interrupts.commandEnded();
    signals.emit("SIGTERM");
    expect(state().exits).toEqual(["deferred"]);
  });
});
