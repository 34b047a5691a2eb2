import type { ProcessIdentity } from "../model/process.ts";
import type { SlotPause, SlotShare, SlotTable } from "../model/slots.ts";
import type { RateBound } from "./rate-window.ts";

/** Without a sign of life for this long a process has lost its slots, milliseconds. */
export const leaseMs = 10_000;

/** The store's clock counts whole milliseconds; two of them keep the ends of windows apart. */
const marginMs = 2;

/** What a process asks for, as it is at this moment. */
export interface SlotNeed {
  readonly owner: string;
  readonly process: ProcessIdentity;
  readonly bound: RateBound;
  readonly holdMs: number;
  readonly timeoutMs: number;
  /** Calls in flight, or ended and counted. */
  readonly used: number;
  readonly inFlight: number;
  /** How many slots could be used, those in use included. */
  readonly wanted: number;
  /** For how many calls at a time. */
  readonly wantedInFlight: number;
}

/** What {@link divideSlots} gives a process. */
export interface SlotGrant {
  /** May be fewer than are in use: no call then starts until enough of them are free. */
  readonly slots: number;
  readonly inFlight: number;
  /** When something of what the ended hold will be free, milliseconds from now. */
  readonly freeInMs?: number | undefined;
}

/** What {@link divideSlots} goes by. `isAlive` tells `undefined` of a process that cannot be seen from here. */
export interface SlotCircumstances {
  readonly now: number;
  readonly isAlive: (process: ProcessIdentity) => boolean | undefined;
}

/**
 * One process's turn at the table: buries the dead, lets what they held expire, and gives itself what it needs of what
 * is free, no more than a fair part while others want some too. Those who hold more than theirs give it back at their
 * own next turn.
 *
 * ```
 *          turn              no sign of life, or left         window over          hold over too
 *   none ───────► alive ────────────────────────────► ended ─────────────► in flight ──────────► none
 *                 slots count                          slots count          inFlight counts
 * ```
 *
 * Pure but for `isAlive`.
 */
export function divideSlots(
  table: SlotTable,
  need: SlotNeed,
  { now, isAlive }: SlotCircumstances,
): { readonly table: SlotTable; readonly grant: SlotGrant } {
  const others: SlotShare[] = [];
  let own: SlotShare | undefined;
  for (const share of table.shares) {
    // Its own is still there although nobody renewed it in time: so nobody else has it.
    if (share.owner === need.owner && !isEnded(share)) own = share;
    else others.push(...age(share, now, isAlive));
  }
  const { limit, windowMs } = need.bound;
  const wanted = Math.min(limit, Math.max(need.wanted, need.used));
  const ended = sum(others.filter(isEnded));
  const claims = others
    .filter((share) => !isEnded(share))
    .map(({ owner, wanted, servedAt }) => ({ owner, wanted, servedAt }));
  claims.push({ owner: need.owner, wanted, servedAt: own?.servedAt ?? 0 });
  const total = Math.max(0, limit - ended);
  const fair = divideFairly(total, claims);
  const left = total - [...fair.values()].reduce((all, part) => all + part, 0);
  // A part of what nobody wants is taken in advance; the rest is there for whoever comes next.
  const target = (fair.get(need.owner) ?? 0) + (wanted > 0 ? Math.ceil(left / 2) : 0);
  const free = Math.max(0, limit - sum(others));
  const slots = Math.min(target, free);
  const inFlight = Math.min(need.wantedInFlight, slots);
  // What is in use stays its own until it is free; what was in use under a share that was lost counts there.
  const kept = Math.min(need.used, own?.slots ?? 0);
  const share: SlotShare = {
    owner: need.owner,
    process: need.process,
    slots: Math.max(slots, kept),
    inFlight: Math.max(inFlight, Math.min(need.inFlight, own?.inFlight ?? 0)),
    wanted,
    windowMs,
    holdMs: need.holdMs,
    timeoutMs: need.timeoutMs,
    servedAt: slots > 0 || kept > 0 ? now : (own?.servedAt ?? 0),
    renewedAt: now,
  };
  const shares = wanted === 0 ? others : [...others, share];
  return { table: { ...table, shares }, grant: { slots, inFlight, freeInMs: nextEnd(others, now) } };
}

/** The table without the process, whose last calls count on: `held` of them for as long as the hold. */
export function leaveSlots(
  table: SlotTable,
  leaving: { readonly owner: string; readonly used: number; readonly held: number },
  { now, isAlive }: SlotCircumstances,
): SlotTable {
  const { owner, used, held } = leaving;
  const shares = table.shares.flatMap((share) => {
    if (share.owner !== owner || isEnded(share)) return age(share, now, isAlive);
    return used === 0 ? [] : [{ ...share, slots: used, inFlight: held, wanted: 0, endedAt: now }];
  });
  return { ...table, shares };
}

/** The longer of two waits, from `now` on; a moment that has yet to come was noted before the clock was set back. */
export function joinPauses(known: SlotPause | undefined, asked: number, now: number): SlotPause | undefined {
  const { setAt, ms } = known ?? { setAt: now, ms: 0 };
  const from = Math.min(setAt, now);
  const left = from + ms - now;
  if (Math.max(left, asked) <= 0) return undefined;
  return asked > left ? { setAt: now, ms: asked } : { setAt: from, ms };
}

/** How another's share looks now: none when it no longer counts, and the very same when nothing has changed. */
function age(noted: SlotShare, now: number, isAlive: SlotCircumstances["isAlive"]): readonly SlotShare[] {
  // The clock was set back, or began anew with the machine: time that may not have passed is waited for once more.
  const share = Math.max(noted.renewedAt, noted.endedAt ?? 0) > now ? restamp(noted, now) : noted;
  if (share.endedAt !== undefined) return expire(share, now - share.endedAt);
  const alive = isAlive(share.process);
  if (alive === false) return [{ ...share, wanted: 0, endedAt: now }];
  if (now - share.renewedAt <= leaseMs) return [share];
  // It may only be standing still: what it was about to send leaves when it wakes, unless its time is over by then.
  return [{ ...share, wanted: 0, endedAt: now, holdMs: share.holdMs + share.timeoutMs }];
}

function restamp(share: SlotShare, now: number): SlotShare {
  const ended = share.endedAt === undefined ? {} : { endedAt: now };
  return { ...share, servedAt: Math.min(share.servedAt, now), renewedAt: now, ...ended };
}

function expire(share: SlotShare, sinceEnd: number): readonly SlotShare[] {
  const over = sinceEnd - share.windowMs - marginMs;
  if (over < 0) return [share];
  if (over >= share.holdMs || share.inFlight === 0) return [];
  return share.slots === share.inFlight ? [share] : [{ ...share, slots: share.inFlight }];
}

function nextEnd(shares: readonly SlotShare[], now: number): number | undefined {
  const ends = shares.flatMap(({ endedAt, windowMs, holdMs, slots, inFlight }) => {
    if (endedAt === undefined) return [];
    return [endedAt + windowMs + marginMs + (slots === inFlight ? holdMs : 0) - now];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function isEnded(share: SlotShare): boolean {
  return share.endedAt !== undefined;
}

function sum(shares: readonly SlotShare[]): number {
  return shares.reduce((all, { slots }) => all + slots, 0);
}

interface Claim {
  readonly owner: string;
  readonly wanted: number;
  readonly servedAt: number;
}

/**
 * Equal parts, except that nobody gets more than is wanted; what that leaves goes to the others (max-min fairness,
 * https://en.wikipedia.org/wiki/Max-min_fairness). When there are fewer slots than processes, those that have waited
 * longest get one each.
 */
function divideFairly(total: number, claims: readonly Claim[]): ReadonlyMap<string, number> {
  const wanting = claims.filter(({ wanted }) => wanted > 0);
  const oneEach = Math.floor(total / wanting.length) > 0;
  const byNeed = (a: Claim, b: Claim) => a.wanted - b.wanted || (a.owner < b.owner ? -1 : 1);
  const byTurn = (a: Claim, b: Claim) => b.servedAt - a.servedAt || byNeed(a, b);
  const parts = new Map<string, number>();
  let left = total;
  for (const [at, { owner, wanted }] of wanting.sort(oneEach ? byNeed : byTurn).entries()) {
    const part = Math.min(wanted, Math.floor(left / (wanting.length - at)));
    parts.set(owner, part);
    left -= part;
  }
  return parts;
}
