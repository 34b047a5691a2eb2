/** Epoch milliseconds as ISO 8601, UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
