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
