import type { Command } from "commander";
import type { RunLimits } from "../apply/run-budget.ts";
import { parseDuration } from "../model/duration.ts";
import { systemClock } from "../model/ports.ts";
import { CliError } from "./cli-error.ts";

/** Flags that say how far a run may go. `until` is in epoch milliseconds. */
export interface LimitFlags {
  readonly maxCalls?: number;
  readonly until?: number;
}

/** Adds `--max-calls` and `--until`. */
export function withLimitFlags(command: Command): Command {
  return command
    .option("--max-calls <n>", "begin nothing that would take more calls in all", parseMaxCalls)
    .option(
      "--until <time>",
      "begin nothing from then on: 18:30, 2026-11-21T18:30:00Z, or 45m (from now)",
      (text) => parseUntil(text, systemClock.now()),
    );
}

/** The limits that were given, less the calls that were `spent` before the run; `undefined` when the run may go to its end. */
export async function limitsOf(
  { maxCalls, until }: LimitFlags,
  spent: number,
): Promise<RunLimits | undefined> {
  if (maxCalls === undefined && until === undefined) return undefined;
  const { fewestCalls } = await import("../plan/estimate.ts");
  return {
    callsOf: fewestCalls,
    ...(maxCalls === undefined ? {} : { maxCalls: maxCalls - spent }),
    ...(until === undefined ? {} : { until }),
  };
}

/** Reads `--max-calls`. Throws {@link CliError} `bad-flag`. */
export function parseMaxCalls(text: string): number {
  if (/^\d{1,15}$/.test(text) && Number(text) > 0) return Number(text);
  throw new CliError(`--max-calls takes a whole number above 0, not ${text}`, {
    code: "bad-flag",
    hint: "Write it like --max-calls 500.",
  });
}

/**
 * A point in time, epoch milliseconds: of the day (`18:30` in local time, tomorrow's when today's has passed), of
 * ISO 8601 with its zone, or a duration from now.
 *
 * @throws CliError `bad-flag` for anything else, and for a time that has passed.
 */
export function parseUntil(text: string, now: number): number {
  const at = clockTime(text, now) ?? parseIsoTime(text) ?? (parseDuration(text) ?? Number.NaN) + now;
  if (at > now) return at;
  throw new CliError(
    Number.isNaN(at) ? `--until takes a time, not ${text}` : `--until ${text} has passed already`,
    {
      code: "bad-flag",
      hint: "Write a time of the day (18:30), a point in time with its zone (2026-11-21T18:30:00Z), or a duration (45m).",
    },
  );
}

function clockTime(text: string, now: number): number | undefined {
  const match = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (match === null) return undefined;
  const at = new Date(now);
  at.setHours(Number(match[1]), Number(match[2]), 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.getTime();
}

function parseIsoTime(text: string): number | undefined {
  const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;
  return shape.test(text) ? Date.parse(text) : undefined;
}
