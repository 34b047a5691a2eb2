import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/model/event.ts";
import type { OtherValues } from "../../../src/report/progress-text.ts";
import { attached, call, follow, rest, started, stored, type totals, waiting } from "./progress-support.ts";

const lines = `  + drafts/1/product_files/1 attached (300 ms)
  ! drafts/2/product published as product 900 (1.5 s)

error: the service refused it  [validation-failed]
  service: Bad: format \\u{1b}[2J (/data/attributes/file_format)
  1 change failed:
    drafts/1/product_files/2 (a.yaml:3:18)
  hint: Fix the value.

Applied in part: 1 done, 1 failed, 1 in doubt, 1 skipped. 7 calls in 2.3 s.
`;

describe("progress in a log", () => {
  test("has a line per change and per long wait", () => {
    const { emit, log, entries } = follow({ isLive: false });
    emit(started, call, attached, waiting("retry_after", 12_000), waiting("backoff", 100), ...rest);
    expect(log()).toBe(lines.replace("ms)\n", "ms)\n    rate limited; retrying in 12 s\n"));
    expect(entries.map(({ level, code }) => `${level} ${code}`)).toEqual([
      "info change_finished",
      "info waiting",
      "debug validation-failed",
      "debug change_finished",
      "info change_finished",
      "error validation-failed",
      "error run_finished",
    ]);
  });

  test("shows the state after 10 s and then every 30 s until the run ends", () => {
    const { emit, pass, log, ticks } = follow({ isLive: false });
    emit(started, call, stored("a.glb", 500, 1000), stored("b.glb", 500, 3000));
    pass(9_999);
    expect(log()).toBe("");
    pass(1);
    expect(log()).toBe(
      "    0 of 3 changes · 1 of about 12 calls · about 30 s left · storing 1.0 kB of 4.0 kB · 0.0 of 10 calls a second\n",
    );
    pass(29_999);
    expect(log().split("\n")).toHaveLength(2);
    pass(1);
    expect(log().split("\n")).toHaveLength(3);
    emit(...rest.slice(-1));
    expect(ticks()).toBeUndefined();
  });

  test("names the first files for which the service returned different values", () => {
    const { emit, log, entries } = follow({ isLive: false });
    const other = (id: number, type: OtherValues["type"] = "values_differ"): Event => ({
      type,
      at: 1,
      address: `drafts/1/product_files/${id}`,
      values: [{ name: "file_format", sent: "fbx", returned: "\u001b[2J" }],
    });
    emit(
      started,
      attached,
      other(1),
      other(2),
      other(3),
      other(4),
      other(5, "values_replaced"),
      ...rest.slice(-1),
    );
    expect(log()).toContain(
      "\nwarning: the service returned other values than were sent, for 4 files  [values-differ]\n" +
        '    drafts/1/product_files/1: file_format "\\u001b[2J" for "fbx"\n',
    );
    expect(log()).toContain("    and 1 more; --json lists them\n  hint: ");
    expect(entries.find(({ code }) => code === "values-differ")?.level).toBe("warning");
    expect(log()).toContain("declared ones, for 1 file  [values-replaced]\n    drafts/1/product_files/5: ");
  });

  test("counts the changes that a stopped run did not start, and lists them only with --verbose", () => {
    const { emit, log, entries } = follow({ isLive: false });
    const notStarted = (because: string): Event => ({
      type: "change_finished",
      at: 500,
      address: "drafts/9/product_files/1",
      action: "create",
      outcome: "skipped",
      ms: 0,
      because,
    });
    const counts = { done: 1, failed: 0, in_doubt: 0, deferred: 0, skipped: 4670, calls: 1 };
    emit(started, call, attached, notStarted("interrupted"), notStarted("unauthorized"));
    emit({ type: "run_finished", at: 900, run_id: "r", totals: counts, ms: 46_000, stopped: "interrupted" });
    expect(log()).toBe(
      "  + drafts/1/product_files/1 attached (300 ms)\n\n" +
        "Applied in part: 1 done, 4,670 skipped. 1 call in 46 s.\n" +
        "Interrupted. Run `draftsync plan` to see what's left.\n",
    );
    expect(entries.map(({ level }) => level)).toEqual(["info", "debug", "debug", "info"]);
  });

  const refused: Event = { ...call, outcome: "rejected", status: 401 };
  const credentials: Event = { ...call, path: "/shop/api/uploads/credentials" };
  const end = (counts: Partial<typeof totals>): Event => {
    const none = { done: 0, failed: 0, in_doubt: 0, deferred: 0, skipped: 0, calls: 6 };
    return { type: "run_finished", at: 900, run_id: "r", totals: { ...none, ...counts }, ms: 100 };
  };

  test.each([
    [
      "no call was accepted",
      [refused],
      { failed: 6, skipped: 1 },
      "Nothing was applied: 6 failed, 1 skipped.",
    ],
    ["only credentials were returned", [credentials], { failed: 1 }, "Nothing was applied: 1 failed."],
    ["nothing fits into the limit", [], { deferred: 3 }, "Nothing was applied: 3 left for the next run."],
    [
      "a change failed after a successful call",
      [call, refused],
      { failed: 1 },
      "Applied in part: 0 done, 1 failed.",
    ],
    ["a call is in doubt", [refused], { in_doubt: 1 }, "Applied in part: 0 done, 1 in doubt."],
  ] as const)("summarizes the run when %s", (_name, events, counts, line) => {
    const { emit, log } = follow({ isLive: false });
    // The calls of the refresh do not count for the run.
    emit(call, started, ...events, end(counts));
    expect(log()).toBe(`${line} 6 calls in 100 ms.\n`);
  });

  test("has one line for the waits of many calls that end at about the same time", () => {
    const { emit, pass, log } = follow({ isLive: false });
    emit(started, waiting("retry_after", 30_000));
    pass(2_000);
    emit(waiting("retry_after", 30_000), waiting("shared_bound", 30_000), waiting("shared_bound", 29_000));
    const first = "    rate limited; retrying in 30 s\n";
    const shared = "    paused 30 s: other runs, or calls without a response, use the rate limit\n";
    expect(log()).toBe(first + shared);
    pass(2_000);
    emit(waiting("retry_after", 30_000));
    expect(log()).toBe(first + shared + first);
  });

  test("has no lines for polls of uploads", () => {
    const { emit, entries } = follow({ isLive: false });
    emit(started, waiting("upload", 30_000));
    expect(entries).toEqual([]);
  });
});

describe("progress on a terminal", () => {
  test("prints finished changes above the live lines, no waits, and removes the live lines at the end", () => {
    const { emit, lines: shown, log, ticks } = follow({ isLive: true });
    emit(started);
    expect(ticks()).toBe(100);
    expect(shown()).toHaveLength(2);
    emit(call, attached, waiting("retry_after", 12_000), ...rest);
    expect(log()).toBe(lines);
    expect(shown()).toBeUndefined();
    expect(ticks()).toBeUndefined();
  });

  const second: Event = {
    ...attached,
    at: 700,
    address: "drafts/1/product_files/3",
    action: "update",
    ms: 500,
  };
  const published = { ...attached, address: "drafts/1/product", action: "publish", product_id: 900 } as const;
  const ofDraft1 = [attached, second, published].map(({ address }) => address);

  test("prints one line for a draft with several changes when the last has finished", () => {
    const { emit, log } = follow({ isLive: true, addresses: [...ofDraft1, "drafts/2/product"] });
    emit(started, attached, second);
    expect(log()).toBe("");
    emit(published, ...rest.slice(2, 3));
    expect(log()).toBe(
      "  ~ drafts/1  1 attached, 1 updated, published as product 900 (600 ms)\n" +
        "  ! drafts/2/product published as product 900 (1.5 s)\n",
    );
  });

  test("prints the line of an unfinished draft at the end of the run", () => {
    const { emit, log } = follow({ isLive: true, addresses: [...ofDraft1, ...ofDraft1] });
    emit(started, attached, attached, ...rest);
    expect(log()).toContain("  ~ drafts/1  2 attached, 1 failed, 1 skipped (600 ms)\n\nerror: ");
  });

  test("prints no line for a draft whose changes were all skipped", () => {
    const { emit, log } = follow({ isLive: true, addresses: ofDraft1 });
    const skipped = { ...attached, outcome: "skipped", because: "interrupted" } as const;
    emit(started, skipped, skipped, skipped);
    expect(log()).toBe("");
  });

  test.each([79, 119])("shows a bar for thousands of changes at %i columns", (columns) => {
    const { emit, bars, widths } = follow({ isLive: true });
    emit({ ...started, summary: { create: 5000 }, calls: 5000 });
    for (let at = 0; at < 3000; at += 1) emit(attached);
    expect(bars(columns)?.[0]).toBeGreaterThan(0);
    expect(Math.max(...(widths(columns) ?? []))).toBeLessThanOrEqual(columns);
  });

  test("does not count a skipped change as progress", () => {
    const { emit, lines: shown } = follow({ isLive: true });
    emit(started, attached, ...rest.slice(1, 2));
    expect(shown()?.[0]).toContain("1 of 3 changes");
  });

  test("counts an operation in doubt that the run settles as an additional change", () => {
    const { emit, lines: shown } = follow({ isLive: true });
    emit(started, attached, attached, attached, { ...attached, action: "in_doubt" });
    expect(shown()?.[0]).toContain("4 of 4 changes");
  });

  test("shows changes, calls, remaining time, rate, and a countdown of pauses", () => {
    const { emit, pass, lines: shown } = follow({ isLive: true, limit: 2 });
    emit(started, attached);
    expect(shown()).toEqual([
      "1 of 3 changes · 0 of about 12 calls · about 6 s left",
      "0.0 of 2 calls a second",
    ]);
    pass(500);
    emit(call);
    expect(shown()?.[1]).toBe("1.0 of 2 calls a second");
    emit(call);
    expect(shown()?.[1]).toBe("2.0 of 2 calls a second · waiting for the rate limit");
    emit(waiting("retry_after", 12_000));
    expect(shown()).toEqual([
      "1 of 3 changes · 2 of about 12 calls · about 17 s left",
      "2.0 of 2 calls a second · rate limited; retrying in 12 s",
    ]);
    pass(2_500);
    expect(shown()?.[1]).toBe("0.7 of 2 calls a second · rate limited; retrying in 10 s");
    pass(9_500);
    expect(shown()?.[1]).toBe("0.0 of 2 calls a second");
  });

  test("shows a rate limit per minute by its window, and when it allows calls again", () => {
    const { emit, pass, lines: shown } = follow({ isLive: true, limit: 2, windowMs: 60_000 });
    emit(started, call, call);
    pass(15_000);
    expect(shown()?.[1]).toBe("2 of 2 calls in 1 min · waiting 45 s for the rate limit");
    pass(45_000);
    expect(shown()?.[1]).toBe("0 of 2 calls in 1 min");
  });

  test("uses a lower rate limit that the service announces", () => {
    const { emit, lines: shown } = follow({ isLive: true });
    emit(started, { type: "bound_announced", at: 0, limit: 5, window_ms: 1000 });
    emit({ type: "bound_announced", at: 0, limit: 5000, window_ms: 60_000 });
    expect(shown()?.[1]).toBe("0.0 of 5 calls a second");
  });

  test("omits the estimate when there are more calls than estimated", () => {
    const { emit, lines: shown } = follow({ isLive: true });
    emit({ ...started, calls: 1 }, call, call);
    expect(shown()?.[0]).toBe("0 of 3 changes · 2 calls");
  });

  test("shows a line and a bar for the three largest uploads, and one line for the others, until they finish", () => {
    const { emit, lines: shown, bars } = follow({ isLive: true });
    emit(started, stored("a.glb", 0, 2000), stored("海/b.glb", 1500, 3000), stored("c.glb", 0, 1000));
    emit(stored("d.glb", 100, 500), stored("e.glb", 200, 500));
    expect(shown()?.slice(1, 5)).toEqual([
      "1.5 kB of 3.0 kB 海/b.glb",
      "0 B of 2.0 kB a.glb",
      "0 B of 1.0 kB c.glb",
      "and 2 more: 300 B of 1.0 kB",
    ]);
    expect(bars()?.slice(1, 4)).toEqual([10, 0, 0]);
    emit({ type: "upload_finished", at: 0, source: "海/b.glb", outcome: "done", ms: 5 });
    emit({ type: "upload_finished", at: 0, source: "d.glb", outcome: "rejected", ms: 5 });
    expect(shown()?.slice(1, 4)).toEqual([
      "0 B of 2.0 kB a.glb",
      "0 B of 1.0 kB c.glb",
      "200 B of 500 B e.glb",
    ]);
  });

  test("bases the remaining time on bytes when they take longer than calls", () => {
    const { emit, pass, lines: shown } = follow({ isLive: true });
    emit(started, stored("a.glb", 0, 10_000));
    pass(10_000);
    emit(stored("a.glb", 1000, 10_000));
    expect(shown()?.[0]).toContain("about 1 min 30 s left");
  });

  test("shows that it waits for the processing of uploads until the next call", () => {
    const { emit, lines: shown } = follow({ isLive: true });
    emit(started, waiting("upload", 4_000));
    expect(shown()?.[1]).toContain("waiting for uploads to be processed");
    emit(call);
    expect(shown()?.[1]).not.toContain("waiting");
  });

  test("shows a line for a refresh and removes it at the end", () => {
    const { emit, lines: shown } = follow({ isLive: true });
    emit({ type: "refresh_started", format_version: 1, at: 0, calls: 40 }, call);
    expect(shown()?.[0]).toBe("checking the service · about 39 s left");
    expect(shown(120)?.[0]).toBe("checking the service · 1 of about 40 calls · about 39 s left");
    const summary = {
      mode: "full",
      attachments: "probe",
      max_calls: null,
      oldest_unconfirmed: null,
    } as const;
    const counts = { calls: 40, checked: 40, unreadable: 0, deferred: 0, not_checked: 0, drift: 0 };
    emit({ type: "refresh_finished", at: 0, ...summary, ...counts });
    expect(shown()).toBeUndefined();
  });

  test.each([1, 5, 10, 20, 39, 60, 79, 119])("keeps every line within %i columns", (columns) => {
    const { emit, widths } = follow({ isLive: true });
    emit(
      started,
      stored(`海海海海/${"龍".repeat(60)}\u001b[2J.glb`, 10, 3000),
      waiting("shared_bound", 9_000),
    );
    expect(widths(columns)).toHaveLength(3);
    expect(Math.max(...(widths(columns) ?? []))).toBeLessThanOrEqual(columns);
  });
});
