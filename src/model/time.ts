/** Epoch milliseconds as ISO 8601, UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** `until 2026-11-22 18:45 UTC`: the next whole minute, so that calls a moment apart say the same. */
export function untilText(at: number): string {
  const minute = new Date(Math.ceil(at / 60_000) * 60_000).toISOString();
  return `until ${minute.slice(0, 10)} ${minute.slice(11, 16)} UTC`;
}
