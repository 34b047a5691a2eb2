import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { onAbort } from "../../../src/model/on-abort.ts";

describe("onAbort", () => {
  it("calls all who wait, once, with one listener at the signal", () => {
    const controller = new AbortController();
    const called: number[] = [];
    for (let name = 0; name < 100; name += 1) onAbort(controller.signal, () => called.push(name));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    controller.abort();
    expect(called).toHaveLength(100);
  });

  it("does not call one that has left", () => {
    const controller = new AbortController();
    const called: string[] = [];
    const leave = onAbort(controller.signal, () => called.push("deferred"));
    onAbort(controller.signal, () => called.push("stayed"));
    leave();
    controller.abort();
    expect(called).toEqual(["stayed"]);
  });

  it("leaves no listener at the signal when the last has left, and listens again for the next", () => {
    const controller = new AbortController();
    const called: string[] = [];
    const leave = [1, 2].map(() => onAbort(controller.signal, () => called.push("deferred")));
    leave[0]?.();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    leave[1]?.();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    onAbort(controller.signal, () => called.push("came later"));
    leave[1]?.();
    controller.abort();
    expect(called).toEqual(["came later"]);
  });
});
