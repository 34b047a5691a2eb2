import { z } from "zod";

/** Epoch milliseconds as ISO 8601, UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** `2026-11-22 18:45 UTC`, of a time in ISO 8601. */
export function minuteText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** `until 2026-11-22 18:45 UTC`: the next whole minute, so that calls a moment apart say the same. */
export function untilText(at: number): string {
  return `until ${minuteText(isoTime(Math.ceil(at / 60_000) * 60_000))}`;
}

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const shape = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** The form of a duration as the source of a regular expression; it distinguishes the schema from other strings. */
export const durationPattern = shape.source;

const examples = "500ms, 30s, 5m, 2h or 1d";

/** How to write a duration, said of a text that is none: what is but a number needs a unit, seconds most likely. */
export function durationAdvice(text: string): string {
  const digits = /^\d+(?:\.\d+)?$/.test(text);
  return digits ? `${text}s, or with another unit (ms, m, h, d)` : `a number and a unit, such as ${examples}`;
}

/** The longest duration that is accepted: ten years, far below where milliseconds lose precision. */
const maxMs = 3650 * unitMs.d;

/** Reads a duration such as `500ms`, `30s`, `1.5s`, `5m`, `2h` or `1d` into milliseconds; `undefined` when it is none. */
export function parseDuration(text: string): number | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const unit = match[2];
  if (unit !== "ms" && unit !== "s" && unit !== "m" && unit !== "h" && unit !== "d") return undefined;
  const ms = Math.round(Number(match[1]) * unitMs[unit]);
  return ms <= maxMs ? ms : undefined;
}

/** Milliseconds as the shortest whole text that {@link parseDuration} reads back: `30s`, `1500ms`, `5m`. */
export function formatDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (ms !== 0 && ms % unitMs[unit] === 0) return `${ms / unitMs[unit]}${unit}`;
  }
  return ms === 0 ? "0s" : `${Math.round(ms)}ms`;
}

/** A duration in a config: a string such as `30s` on the outside, milliseconds within. */
export const durationSchema = z.codec(
  z
    .string()
    .regex(shape, `not a duration: write a number and a unit, such as ${examples}`)
    .refine((text) => !shape.test(text) || parseDuration(text) !== undefined, "longer than 3650d"),
  z.number(),
  { decode: (text) => parseDuration(text) ?? Number.NaN, encode: formatDuration },
);

/** A {@link durationSchema} that refuses zero. */
export const positiveDurationSchema = durationSchema.refine((ms) => ms > 0, "must be longer than zero");
