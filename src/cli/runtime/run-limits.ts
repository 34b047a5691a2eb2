import type { Command } from "commander";
import { type Deadline, msUntil, type RunLimits } from "../../apply/run-budget.ts";
import type { Plan } from "../../model/plan.ts";
import { type Clock, systemClock } from "../../model/ports.ts";
import { parseDuration } from "../../model/time.ts";
import { parseIntegerFlag } from "../cli.ts";
import { CliError } from "./cli-error.ts";

/** Flags that say how far a run may go. */
export interface LimitFlags {
  readonly maxCalls?: number;
  readonly until?: Deadline;
}

/** Adds `--max-calls` and `--until`. */
export function withLimitFlags(command: Command): Command {
  return command
    .option(
      "--max-calls <n>",
      "start no operation beyond this many API calls (checks and retries of started ones may exceed it)",
      parseMaxCalls,
    )
    .option(
      "--until <time>",
      "start no operation after this time (started ones end later): 18:30, 2026-11-21T18:30:00Z, or 45m (from now)",
      (text) => parseUntil(text, systemClock),
    );
}

/** The limits that were given, less the calls that were `spent` before. */
export function limitsOf({ maxCalls, until }: LimitFlags, spent = 0): RunLimits {
  return {
    ...(maxCalls === undefined ? {} : { maxCalls: maxCalls - spent }),
    ...(until === undefined ? {} : { until }),
  };
}

/** The limits of a run whose plan took `spent` calls. The run after one that ended at a limit skips its refresh, unless that is a full one. */
export function limitsOfRun(flags: LimitFlags, { refresh }: Plan, spent: number): RunLimits {
  return { ...limitsOf(flags, spent), ...(refresh?.mode === "full" ? {} : { laterCalls: flags.maxCalls }) };
}

/** Reads `--max-calls`. Throws {@link CliError} `invalid-flag`. */
export const parseMaxCalls = parseIntegerFlag("--max-calls", "500");

/**
 * A point in time: of the day (`18:30` in local time, tomorrow's when today's has passed), of ISO 8601 with its zone, or a
 * duration from now.
 *
 * @throws CliError `invalid-flag` for anything else, and for a time that has passed.
 */
export function parseUntil(text: string, clocks: Clock): Deadline {
  const time = clockTime(text, clocks.now()) ?? parseIsoTime(text);
  const deadline: Deadline =
    time === undefined
      ? { at: clocks.monotonic() + (parseDuration(text) ?? Number.NaN), clock: "monotonic" }
      : { at: time, clock: "now" };
  if (msUntil(deadline, clocks) > 0) return deadline;
  throw new CliError(
    Number.isNaN(deadline.at)
      ? `--until must be a time, not "${text}"`
      : `the time of --until ${text} has passed`,
    {
      code: "invalid-flag",
      hint: "Use a time (18:30), a date and time with its zone (2026-11-21T18:30:00Z), or a duration (45m).",
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
