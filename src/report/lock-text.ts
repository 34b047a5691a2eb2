import type { HeldLock } from "../model/lock.ts";
import { isoTime } from "../model/time.ts";
import { inertLine } from "./inert-text.ts";
import type { Palette } from "./palette.ts";
import { formatMilliseconds } from "./quantities.ts";

/** A lock for scripts. Times are ISO 8601, UTC. */
export interface LockView {
  readonly id: string;
  readonly token: number;
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  readonly command: string;
  readonly url?: string;
  readonly acquired_at: string;
  readonly expires_at: string;
  readonly expired: boolean;
}

/** A lock as it is at `now`, epoch milliseconds. */
export function viewLock({ id, token, holder, acquiredAt, expiresAt }: HeldLock, now: number): LockView {
  return {
    id,
    token,
    ...holder,
    acquired_at: isoTime(acquiredAt),
    expires_at: isoTime(expiresAt),
    expired: expiresAt <= now,
  };
}

/** Who, where and what: `ann on build-7 (process 4211, apply, https://ci.example/jobs/17)`. */
export function describeHolder({ holder }: HeldLock): string {
  const { user, host, pid, command, url } = holder;
  const job = url === undefined ? "" : `, ${url}`;
  return inertLine(`${user} on ${host} (process ${pid}, ${command}${job})`);
}

/** How long it has been held, and when it expires: `held for 2 min; it expires in 41 s unless it is renewed`. */
export function describeAge({ acquiredAt, expiresAt }: HeldLock, now: number): string {
  const held = `held for ${formatMilliseconds(Math.max(0, now - acquiredAt))}`;
  return expiresAt <= now
    ? `${held}; it expired ${formatMilliseconds(now - expiresAt)} ago`
    : `${held}; it expires in ${formatMilliseconds(expiresAt - now)} unless it is renewed`;
}

/** A lock for people, some lines; ends with a line feed. */
export function formatLock(lock: HeldLock, now: number, paint: Palette): string {
  const head = lock.expiresAt <= now ? "Locked, and expired: the next writer takes it over." : "Locked.";
  const rows = [
    ["id", lock.id],
    ["by", describeHolder(lock)],
    ["since", isoTime(lock.acquiredAt)],
    ["", describeAge(lock, now)],
  ] as const;
  const lines = rows.map(([name, value]) => `  ${paint("muted", name.padEnd(5))}  ${value}`);
  return `${paint("warning", head)}\n${lines.join("\n")}\n`;
}
