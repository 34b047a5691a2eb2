import { describe, expect, test } from "vitest";
import { CliError, DiagnosticsError } from "../../../src/cli/runtime/cli-error.ts";
import { reportError } from "../../../src/cli/terminal/report-error.ts";
import type { Diagnostic } from "../../../src/model/diagnostic.ts";

function report(error: unknown, isLive: boolean) {
  const parts: string[] = [];
  const code = reportError(error, {
    log: ({ text }) => parts.push(text) > 0,
    paintErr: (_tone, text) => text,
    live: isLive ? { show: () => {}, hide: () => {} } : undefined,
  });
  return { code, text: parts.join("") };
}

const locked = new CliError("it is locked", { code: "lock-held", hint: "Wait." });

describe("an error that ended a command", () => {
  test("suggests `draftsync explain` on a terminal and not in a log", () => {
    const { code, text } = report(locked, true);
    expect(code).toBe(6);
    expect(text).toBe(
      "error: it is locked  [lock-held]\n  hint: Wait.\n  more:  draftsync explain lock-held\n",
    );
    expect(report(locked, false).text).toBe("error: it is locked  [lock-held]\n  hint: Wait.\n");
  });

  test("suggests the first of several errors, and no warning", () => {
    const diagnostic = (severity: Diagnostic["severity"], code: string) => ({
      severity,
      code,
      message: code,
    });
    const all = [
      diagnostic("warning", "file-in-two-drafts"),
      diagnostic("error", "yaml-tab"),
      diagnostic("error", "bad-key"),
    ];
    const lines = report(new DiagnosticsError(all), true).text.split("\n");
    expect(lines.slice(-3)).toEqual([
      "2 errors; nothing was changed",
      "  more:  draftsync explain yaml-tab",
      "",
    ]);
  });

  test("suggests nothing for a code that its message explains", () => {
    expect(report(new CliError("not 7", { code: "invalid-flag", hint: "8" }), true).text).not.toContain(
      "explain",
    );
  });
});
