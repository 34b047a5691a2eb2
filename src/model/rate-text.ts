import { parseId } from "./address.ts";
import { parseDuration } from "./duration.ts";
import type { RateBound } from "./rate.ts";

/** Reads `10/1s`, `600/1m` or `10/s`; `undefined` for anything else. */
export function parseRate(text: string): RateBound | undefined {
  const [count = "", window = "", ...rest] = text.split("/");
  const windowMs = parseDuration(/^\d/.test(window) ? window : `1${window}`);
  const limit = parseId(count);
  if (limit === undefined || windowMs === undefined || windowMs === 0 || rest.length > 0) return undefined;
  return { limit, windowMs };
}
