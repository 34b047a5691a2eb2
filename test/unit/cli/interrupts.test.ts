import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listenForInterrupts } from "../../../src/cli/interrupts.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listen() {
  const signals = new EventEmitter();
  const said: string[] = [];
  const exits: number[] = [];
  const interrupts = listenForInterrupts({
    signals,
    say: (text) => void said.push(text.trim()),
    exit: (code) => void exits.push(code),
  });
  const state = () => ({ drain: interrupts.drain.aborted, cutOff: interrupts.cutOff.aborted, exits });
  return { signals, said, interrupts, state };
}

describe.each(["SIGINT", "SIGTERM"])("%s", (signal) => {
  test("once: drains at once, cuts off after 5 s, and ends the process before 7 s", () => {
    const { signals, state, said } = listen();
    expect(state()).toEqual({ drain: false, cutOff: false, exits: [] });
    signals.emit(signal);
    expect(state()).toEqual({ drain: true, cutOff: false, exits: [] });
    vi.advanceTimersByTime(4_999);
    expect(state()).toEqual({ drain: true, cutOff: false, exits: [] });
    vi.advanceTimersByTime(1);
    expect(state()).toEqual({ drain: true, cutOff: true, exits: [] });
    vi.advanceTimersByTime(1_999);
    expect(state()).toEqual({ drain: true, cutOff: true, exits: [130] });
    expect(said).toEqual([expect.stringMatching(/^Interrupted:/), expect.stringMatching(/^Cutting off/)]);
  });

  test("twice: cuts off at once, and leaves time to record that", () => {
    const { signals, state, said } = listen();
    signals.emit(signal);
    vi.advanceTimersByTime(1_000);
    signals.emit(signal);
    expect(state()).toEqual({ drain: true, cutOff: true, exits: [] });
    vi.advanceTimersByTime(1_999);
    expect(state().exits).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(state().exits).toEqual([130]);
    expect(said).toEqual([expect.stringMatching(/^Interrupted:/), expect.stringMatching(/again/)]);
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
    expect(state()).toEqual({ drain: true, cutOff: false, exits: [] });
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: true, cutOff: false, exits: [] });
    expect(said).toEqual([expect.stringMatching(/^Interrupted:/)]);
    signals.emit("SIGTERM");
    expect(state()).toEqual({ drain: true, cutOff: true, exits: [] });
  });

  test("is the command's own once that says so", () => {
    const { signals, interrupts, state } = listen();
    interrupts.spareHangup();
    signals.emit("SIGHUP");
    expect(state()).toEqual({ drain: false, cutOff: false, exits: [] });
    expect(signals.listenerCount("SIGHUP")).toBe(0);
  });
});

test("a command that has ended leaves no listener and no timer", () => {
  const { signals, interrupts } = listen();
  signals.emit("SIGINT");
  signals.emit("SIGTERM");
  interrupts.stop();
  expect(vi.getTimerCount()).toBe(0);
  expect(signals.eventNames()).toEqual([]);
});
