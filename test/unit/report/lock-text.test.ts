import { describe, expect, test } from "vitest";
import {
  describeAge,
  describeHolder,
  describeJob,
  describeState,
  formatLock,
  viewLock,
} from "../../../src/report/lock-text.ts";
import { makePalette } from "../../../src/report/palette.ts";

const now = 1_700_000_100_000;
const lock = {
  id: "0b9f",
  token: 3,
  holder: { user: "ann", host: "build-7", pid: 42, command: "apply", url: "https://ci.example/17" },
  acquiredAt: now - 90_000,
  expiresAt: now + 41_000,
  readAt: now,
  state: "leased",
} as const;

describe("lock text", () => {
  test("names the holder, its CI job and the age of the lock", () => {
    expect(describeHolder(lock)).toBe("ann on build-7 (process 42, apply)");
    expect(describeJob(lock)).toBe("https://ci.example/17");
    expect(describeAge(lock)).toBe("held for 1 min 30 s");
    // The ledger's clock may have jumped back.
    expect(describeAge({ ...lock, acquiredAt: now + 5 })).toBe("held for 0 ms");
  });

  test.each([
    ["running", now, "its process is running"],
    ["ended", now, "its process has ended"],
    ["leased", now, "its lease ends in 41 s unless it is renewed"],
    ["released", now, "it was released by force, and a call of it may be in flight for 41 s more"],
    ["expired", now + 43_000, "its lease ended 2.0 s ago"],
  ] as const)("explains the state %s", (state, readAt, text) => {
    expect(describeState({ ...lock, state, readAt })).toBe(text);
  });

  test("shows a lock whose holder is unreadable", () => {
    const { holder: _, ...unreadable } = lock;
    expect(formatLock(unreadable, makePalette(false))).toContain("an unknown process");
    expect(viewLock(unreadable)).not.toHaveProperty("user");
  });

  test("escapes control characters of the holder", () => {
    const holder = { ...lock.holder, user: "\u001b[2Jann\n", host: "a\u202eb" };
    const text = formatLock({ ...lock, holder }, makePalette(false));
    expect(text).toContain("\\u{1b}[2Jann\\n on a\\u{202e}b");
    expect(text.split("\n")).toHaveLength(7);
  });

  test("has a JSON form with the same values", () => {
    expect(viewLock(lock)).toEqual({
      id: "0b9f",
      token: 3,
      user: "ann",
      host: "build-7",
      pid: 42,
      command: "apply",
      url: "https://ci.example/17",
      acquired_at: "2023-11-14T22:13:30.000Z",
      expires_at: "2023-11-14T22:15:41.000Z",
      state: "leased",
    });
  });
});
