import type { ConfirmedState } from "../model/recorded.ts";
import { formatSeconds } from "./quantities.ts";

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
