import { type HeldLock, isKept, type LockState } from "../model/lock.ts";
import { isoTime, minuteText } from "../model/time.ts";
import type { Palette } from "./palette.ts";
import { formatMilliseconds } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** A lock for scripts. Times are ISO 8601, UTC. The holder's members are absent when its record cannot be read. */
export interface LockView {
  readonly id: string;
  readonly token: number;
  readonly user?: string;
  readonly host?: string;
  readonly pid?: number;
  readonly command?: string;
  readonly url?: string;
  readonly acquired_at: string;
  readonly expires_at: string;
  readonly state: LockState;
}

/** A lock, as read. */
export function viewLock({ id, token, holder, acquiredAt, expiresAt, state }: HeldLock): LockView {
  return {
    id,
    token,
    ...holder,
    acquired_at: isoTime(acquiredAt),
    expires_at: isoTime(expiresAt),
    state,
  };
}

/** Who and where: `ann on build-7 (process 4211, apply)`. */
export function describeHolder({ holder }: HeldLock): string {
  if (holder === undefined) return "an unknown process (its record cannot be read)";
  const { user, host, pid, command } = holder;
  return sanitizeLine(`${user} on ${host} (process ${pid}, ${command})`);
}

/** How long it has been held: `held for 2 min`. */
export function describeAge({ acquiredAt, readAt }: HeldLock): string {
  return `held for ${formatMilliseconds(Math.max(0, readAt - acquiredAt))}`;
}

/** How long its lease lasts: `41 s`. */
export function formatLeaseLeft({ expiresAt, readAt }: HeldLock): string {
  return formatMilliseconds(Math.max(0, expiresAt - readAt));
}

/** What is known of its holder: `its process is running`, `its lease ends in 41 s unless it is renewed`. */
export function describeState(lock: HeldLock): string {
  const { state, expiresAt, readAt } = lock;
  const leaseLeft = formatLeaseLeft(lock);
  switch (state) {
    case "running":
      return "its process is running";
    case "ended":
      return "its process has ended";
    case "leased":
      return `its lease ends in ${leaseLeft} unless it is renewed`;
    case "released":
      return `it was released by force, and a call of it may be in flight for ${leaseLeft} more`;
    case "expired":
      return `its lease ended ${formatMilliseconds(Math.max(0, readAt - expiresAt))} ago`;
  }
}

/** The page of the holder's CI job. */
export function describeJob({ holder }: HeldLock): string | undefined {
  return holder?.url === undefined ? undefined : sanitizeLine(holder.url);
}

/** A lock for people, some lines; ends with a line feed. */
export function formatLock(lock: HeldLock, paint: Palette): string {
  const head = isKept(lock)
    ? "Locked."
    : "Locked by a command that is gone: the next writer takes the lock over.";
  const rows = [
    ["id", lock.id],
    ["by", describeHolder(lock)],
    ["job", describeJob(lock)],
    ["since", minuteText(isoTime(lock.acquiredAt))],
    ["", `${describeAge(lock)}; ${describeState(lock)}`],
  ] as const;
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${paint("muted", name.padEnd(5))}  ${value}`],
  );
  return `${paint("warning", head)}\n${lines.join("\n")}\n`;
}
