import type { ConfirmedState } from "../model/recorded.ts";

/** `1 call`, `34 calls`; thousands are set apart: `9,500 calls`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A whole number with its thousands set apart by commas, in every locale. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Seconds as people say them: `4 s`, `2 min 5 s`, `1 h 40 min`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Milliseconds as people say them: `180 ms`, `1.4 s`, and from ten seconds on as {@link formatSeconds}. */
export function formatMilliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : formatSeconds(ms / 1000);
}

/** A size in bytes: `512 B`, `14.2 kB`, `1.3 MB` (powers of 1000). */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** A bound: `10/s`, `600/min`, `5 per 2.5 s`. */
export function formatRate(limit: number, windowMs: number): string {
  if (windowMs === 1000) return `${limit}/s`;
  if (windowMs === 60_000) return `${limit}/min`;
  return `${limit} per ${windowMs / 1000} s`;
}

const evidence: Readonly<Record<ConfirmedState["by"], string>> = {
  post: "confirmed by POST",
  patch: "confirmed by PATCH",
  get: "confirmed by GET",
  probe: "confirmed by a probe",
  import: "imported",
  operator: "confirmed by an operator",
};

/** How something is known: `confirmed by PATCH 3 days ago`. `now` is in epoch milliseconds. */
export function describeConfirmed({ by, at }: ConfirmedState, now: number): string {
  return `${describeEvidence(by)} ${describeAgo(at, now)}`;
}

/** How something is known: `confirmed by PATCH`. */
export function describeEvidence(by: ConfirmedState["by"]): string {
  return evidence[by];
}

/** How long ago a time (ISO 8601) was: `just now`, `4 min ago`, `3 days ago`. */
export function describeAgo(at: string, now: number): string {
  const seconds = (now - Date.parse(at)) / 1000;
  return seconds < 5 ? "just now" : `${describeSpan(seconds)} ago`;
}

/** The age of a time in its largest unit: `45 s`, `4 min`, `6 h`, `3 days`. */
export function describeAge(at: string, now: number): string {
  return describeSpan(Math.max(0, now - Date.parse(at)) / 1000);
}

function describeSpan(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  if (days > 0) return days === 1 ? "1 day" : `${days} days`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h`;
  return seconds >= 60 ? `${Math.floor(seconds / 60)} min` : formatSeconds(seconds);
}
