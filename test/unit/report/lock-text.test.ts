import { describe, expect, test } from "vitest";
import { describeAge, describeHolder, formatLock, viewLock } from "../../../src/report/lock-text.ts";
import { makePalette } from "../../../src/report/palette.ts";

const now = 1_700_000_100_000;
const lock = {
  id: "0b9f",
  token: 3,
  holder: { user: "ann", host: "build-7", pid: 42, command: "apply", url: "https://ci.example/17" },
  acquiredAt: now - 90_000,
  expiresAt: now + 41_000,
};

describe("a lock in words", () => {
  test("names its holder, its age and its end", () => {
    expect(describeHolder(lock)).toBe("ann on build-7 (process 42, apply, https://ci.example/17)");
    expect(describeAge(lock, now)).toBe("held for 1 min 30 s; it expires in 41 s unless it is renewed");
    expect(describeAge(lock, lock.expiresAt)).toBe("held for 2 min 11 s; it expired 0 ms ago");
    // Another machine's clock may be ahead.
    expect(describeAge({ ...lock, acquiredAt: now + 5 }, now)).toContain("held for 0 ms;");
  });

  test("makes what others wrote inert", () => {
    const holder = { ...lock.holder, user: "\u001b[2Jann\n", host: "a\u202eb" };
    const text = formatLock({ ...lock, holder }, now, makePalette(false));
    expect(text).toContain("\\u{1b}[2Jann\\n on a\\u{202e}b");
    expect(text.split("\n")).toHaveLength(6);
  });

  test("is the same for scripts", () => {
    expect(viewLock(lock, now)).toEqual({
      id: "0b9f",
      token: 3,
      user: "ann",
      host: "build-7",
      pid: 42,
      command: "apply",
      url: "https://ci.example/17",
      acquired_at: "2023-11-14T22:13:30.000Z",
      expires_at: "2023-11-14T22:15:41.000Z",
      expired: false,
    });
    expect(viewLock(lock, lock.expiresAt).expired).toBe(true);
  });
});
