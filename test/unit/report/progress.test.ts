import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/model/event.ts";
import { makePalette } from "../../../src/report/palette.ts";
import { makeProgress } from "../../../src/report/progress.ts";

const totals = { done: 1, failed: 1, in_doubt: 1, left: 0, skipped: 1, calls: 7 };
const failure = {
  code: "validation-failed",
  message: "the service refused it",
  hint: "Mend the value.",
  errors: [{ title: "Bad", detail: "format \u001b[2J", source: { pointer: "/data/attributes/file_format" } }],
  stops: "operation",
} as const;

const events: readonly Event[] = [
  {
    type: "run_started",
    at: 0,
    run_id: "r",
    plan_id: "p",
    summary: { create: 2, publish: 1, noop: 9 },
    calls: 3,
  },
  { type: "change_started", at: 100, address: "drafts/1/product_files/1", action: "create" },
  { type: "upload_progress", at: 200, source: "海/a.glb", sent: 500, total: 1000 },
  {
    type: "call_finished",
    at: 300,
    method: "POST",
    path: "/p",
    attempt: 1,
    outcome: "done",
    status: 201,
    ms: 20,
  },
  {
    type: "change_finished",
    at: 400,
    address: "drafts/1/product_files/1",
    action: "create",
    outcome: "done",
    ms: 300,
    file_id: 1,
  },
  { type: "waiting", at: 500, reason: "retry_after", ms: 12_000 },
  { type: "waiting", at: 510, reason: "backoff", ms: 100 },
  {
    type: "change_finished",
    at: 600,
    address: "drafts/1/product_files/2",
    action: "create",
    outcome: "rejected",
    ms: 50,
    failure,
  },
  {
    type: "change_finished",
    at: 700,
    address: "drafts/1/product",
    action: "publish",
    outcome: "skipped",
    ms: 0,
    because: "drafts/1/product_files/2",
  },
  {
    type: "change_finished",
    at: 800,
    address: "drafts/2/product",
    action: "publish",
    outcome: "done",
    ms: 1500,
    product_id: 900,
  },
  { type: "run_finished", at: 900, run_id: "r", totals, ms: 2345 },
];

function show(live: boolean, columns = 80): string {
  let written = "";
  const progress = makeProgress({
    write: (text) => {
      written += text;
    },
    paint: makePalette(false),
    placeOf: (address, attribute) =>
      attribute === "file_format" && address === "drafts/1/product_files/2"
        ? { file: "a.yaml", line: 3, column: 18 }
        : undefined,
    live,
    columns,
  });
  for (const event of events) progress.emit(event);
  progress.stop();
  return written;
}

/** What is left on a terminal after everything was written. */
function screen(written: string): string {
  return written
    .split("\n")
    .map((line) => line.split("\r\u001b[2K").at(-1))
    .join("\n");
}

const lines = `  + drafts/1/product_files/1 attached (300 ms)
  + drafts/1/product_files/2 failed
      the service refused it  [validation-failed]
      service: Bad: format \\u{1b}[2J (/data/attributes/file_format)
      --> a.yaml:3:18
      hint: Mend the value.
  ! drafts/1/product skipped because of drafts/1/product_files/2
  ! drafts/2/product published as product 900 (1.5 s)

Applied in part: 1 done, 1 failed, 1 in doubt, 1 skipped. 7 calls in 2.3 s.
`;

describe("progress", () => {
  test("in a log: a line a change and a line a long wait, and nothing that rewrites", () => {
    const wait = "    paused 12 s: the service asks to wait\n";
    expect(show(false)).toBe(lines.replace("ms)\n", `ms)\n${wait}`));
  });

  test("on a terminal: a status line below, which is gone at the end", () => {
    const written = show(true);
    expect(screen(written)).toBe(lines);
    expect(written).toContain("0/3 changes · 0 calls");
    expect(written).toContain("uploading 海/a.glb 500 B of 1.0 kB");
    expect(written).toContain("1/3 changes · 1 call · paused 12 s: the service asks to wait");
  });

  test.each([10, 20, 40])("the status line never wraps: %i columns", (columns) => {
    const status = show(true, columns)
      .split("\n")
      .flatMap((line) => line.split("\r\u001b[2K"))
      .filter((line) => line.includes("changes") || line.endsWith("…"));
    expect(status.length).toBeGreaterThan(2);
    // Every wide character counts twice.
    expect(Math.max(...status.map((line) => line.length + (line.match(/海/g)?.length ?? 0)))).toBeLessThan(
      columns,
    );
  });
});
