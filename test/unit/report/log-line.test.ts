import { describe, expect, test } from "vitest";
import type { LogLevel } from "../../../src/model/log.ts";
import { formatCall, formatLogLine, isShown, wrapText } from "../../../src/report/log-line.ts";

const at = Date.UTC(2026, 10, 21, 9, 15);

describe("JSON log line", () => {
  test("has time, level, message, code and details, in this order", () => {
    const entry = { level: "error", text: "x", message: "m", code: "c", facts: { hint: "h" } } as const;
    expect(formatLogLine(entry, at)).toBe(
      '{"time":"2026-11-21T09:15:00.000Z","level":"error","message":"m","code":"c","hint":"h"}\n',
    );
  });

  test.each([
    ["warning: not https\n", "not https"],
    ["\nnote: two\nlines\n\n", "two\nlines"],
    ["plain\n", "plain"],
  ])("takes its message from the text %j: %j", (text, message) => {
    expect(JSON.parse(formatLogLine({ level: "info", text }, at)).message).toBe(message);
  });

  test("is empty for an entry of blank lines", () => {
    expect(formatLogLine({ level: "info", text: "\n" }, at)).toBe("");
  });

  test("escapes control characters", () => {
    const line = formatLogLine({ level: "info", text: "a\u009b2J\u202eb\u001b[2J\n" }, at);
    expect(line).toContain('"a\\u009b2J\\u202eb\\u001b[2J"');
  });
});

test("shows warnings, errors and results with --quiet, and also calls with --verbose", () => {
  const levels: readonly LogLevel[] = ["error", "warning", "info", "debug"];
  const shown = (verbosity: "quiet" | "normal" | "verbose") =>
    levels.filter((level) => isShown({ level, text: "" }, verbosity));
  expect(shown("quiet")).toEqual(["error", "warning"]);
  expect(shown("normal")).toEqual(["error", "warning", "info"]);
  expect(shown("verbose")).toEqual(levels);
  expect(isShown({ level: "info", text: "", isResult: true }, "quiet")).toBe(true);
});

describe("log entry of a call", () => {
  const call = {
    type: "call_finished",
    at,
    method: "POST",
    path: "/api/products",
    outcome: "done",
    ms: 180,
  } as const;

  test.each([
    [{ ...call, attempt: 1, status: 201 }, "POST /api/products 201 in 180 ms"],
    [{ ...call, attempt: 2 }, "POST /api/products no response in 180 ms, attempt 2"],
    [{ ...call, attempt: 1, status: 200, path: "/\u001b[2J" }, "POST /\\u{1b}[2J 200 in 180 ms"],
  ])("has method, path, status and time: %#", (event, message) => {
    expect(formatCall(event)).toMatchObject({ level: "debug", message, code: "call_finished" });
  });

  test("has bucket and key for object storage", () => {
    const { method, ms } = call;
    const event = {
      type: "storage_call_finished",
      at,
      method,
      bucket: "b",
      key: "in/a.glb",
      attempt: 1,
      ms,
    } as const;
    expect(formatCall(event)?.message).toBe("POST s3://b/in/a.glb no response in 180 ms");
  });

  test("is not made for other events", () => {
    expect(formatCall({ type: "waiting", at, reason: "backoff", ms: 1 })).toBeUndefined();
  });
});

const line = "  hint: Check manifests/brass-diving-helmet.yaml:4:14, and what it declares there.";

test("wraps a long line between words, with an indent", () => {
  expect(wrapText(`short\n${line}\n`, 50)).toBe(
    "short\n  hint: Check\n    manifests/brass-diving-helmet.yaml:4:14, and\n    what it declares there.\n",
  );
});

test.each([
  "`draftsync resolve 'drafts/1/product_files/red dragon' --done`",
  "'drafts/1/product_files/it'\\''s a red dragon'",
  "draftsync resolve 'duplicates/the red dragon. And' --product-id ID | --not-done",
  "draftsync resolve duplicates/dragon --product-id ID",
])("does not break within %s", (command) => {
  const text = `    the draft's file, or the service's: ${command}. If it is not published, look at it.`;
  const lines = wrapText(text, 50).split("\n");
  expect(lines.map((each) => each.trim()).join(" ")).toBe(text.trim());
  expect(lines.filter((each) => each.includes(command))).toHaveLength(1);
  expect(lines.filter((each) => each.length > 50 && !each.includes(command))).toEqual([]);
});

test("loses no character, also blanks that are no space", () => {
  const text = ` a\u00a0draft's\ttitle  and ${"word ".repeat(12)} it's\u3000over `;
  expect(wrapText(text, 50).replace(/\n */g, " ")).toBe(text);
});

test("ignores colors when it wraps, and keeps a path that is wider than the terminal whole", () => {
  const path = "x".repeat(60);
  expect(wrapText(`\u001b[31merror:\u001b[39m ${path} end`, 50)).toBe(
    `\u001b[31merror:\u001b[39m\n  ${path}\n  end`,
  );
  expect(wrapText(`\u001b[31m${"y".repeat(45)}\u001b[39m end`, 50)).toBe(
    `\u001b[31m${"y".repeat(45)}\u001b[39m end`,
  );
});

test.each([undefined, 20])("wraps nothing at the width %s", (columns) => {
  expect(wrapText(line, columns)).toBe(line);
});
