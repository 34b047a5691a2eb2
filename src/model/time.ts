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
