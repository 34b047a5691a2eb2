import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { wait } from "../../../src/model/wait.ts";

describe("wait", () => {
  test("returns true after its time, and leaves no listener", async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    expect(await wait(1, one.signal, other.signal)).toBe(true);
    expect([one, other].map(({ signal }) => getEventListeners(signal, "abort").length)).toEqual([0, 0]);
  });

  test.each([0, 1])(
    "returns false to all callers when signal %i of two is aborted, with one listener",
    async (at) => {
      const controllers = [new AbortController(), new AbortController()];
      const signals = controllers.map(({ signal }) => signal);
      const waits = Array.from({ length: 20 }, () => wait(2 ** 30, ...signals));
      expect(signals.map((signal) => getEventListeners(signal, "abort").length)).toEqual([1, 1]);
      controllers[at]?.abort();
      expect(new Set(await Promise.all(waits))).toEqual(new Set([false]));
      expect(signals.map((signal) => getEventListeners(signal, "abort").length)).toEqual([0, 0]);
    },
  );

  test("does not end at once when it is longer than a timer", async () => {
    vi.useFakeTimers();
    const ended: boolean[] = [];
    void wait(2 ** 40).then((waited) => ended.push(waited));
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect(ended).toEqual([]);
  });

  test("returns false immediately for an aborted signal", async () => {
    expect(await wait(2 ** 30, new AbortController().signal, AbortSignal.abort())).toBe(false);
  });
});
