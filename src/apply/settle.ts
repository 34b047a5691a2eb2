import { setTimeout as sleep } from "node:timers/promises";
import type { CallResult } from "../model/outcome.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Confirmation } from "../model/recorded.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import type { ApplyContext, ChangeEnd } from "./context.ts";
import { runOperation } from "./operation.ts";

type Answer = CallResult<Attributes> & { readonly operationId: string };

/** An attachment that may or may not have been made. */
export interface AttachmentDoubt {
  readonly address: string;
  readonly target: FileTarget;
  readonly attributes: Attributes;
  /** Of the content that is attached, hex, when it was uploaded: the next run settles only what is still desired. */
  readonly sha256?: string;
  /** What the ledger takes when the file turns out to be attached. */
  readonly effect: (by: Confirmation, answered: Attributes) => LedgerEffect;
  /** The attachment that ended unknown, or was refused as a conflict. */
  readonly first: Exclude<Answer, { outcome: "done" }>;
  /** When the lost call was sent, epoch milliseconds; absent: just now. */
  readonly sentAt?: number;
  readonly signal: AbortSignal;
}

/** Requests to attach one file, the first one included (RELIABILITY P9). */
const mostPosts = 3;

/**
 * Finds out whether a file is attached, without attaching it again (RELIABILITY, "Settling an attachment").
 *
 * ```
 *   lost POST ─ wait ─► PATCH all managed ─ 2xx ──► attached, and converged
 *                          │ 404
 *                          └ wait ─► PATCH ─ 2xx ─► attached
 *                                      │ 404
 *                                      └► one more POST ──► as it ends
 *
 *   429 ─► PATCH (after the wait that was asked for) ─ 2xx ──► attached
 *             │ 404
 *             └► POST again, three in all
 *
 *   409, 422 ─► PATCH ─ 2xx ──► attached already: adopted, and converged
 *                  │ 404
 *                  └► refused for another cause
 * ```
 *
 * Any other answer to the PATCH proves nothing: the attachment ends as its POST did.
 */
export async function settleAttachment(context: ApplyContext, doubt: AttachmentDoubt): Promise<ChangeEnd> {
  let last: AttachmentDoubt["first"] = doubt.first;
  for (let posts = 1; posts <= mostPosts; posts += 1) {
    const found = await lookFor(context, { ...doubt, first: last });
    if (found === "attached") return { outcome: "done", fileId: doubt.target.fileId };
    const lost = last.outcome === "unknown";
    const mayRepeat = lost || last.failure.code === "rate-limited";
    if (found === "unclear" || posts === mostPosts || !mayRepeat) return last;
    const again = await attachOnceMore(context, { ...doubt, first: last });
    if (again.outcome === "done") return { outcome: "done", fileId: doubt.target.fileId };
    if (lost || again.failure.code !== "rate-limited") return again;
    last = again;
  }
  return last;
}

/** A call that was lost may still arrive, so it takes two looks with time between them to say that it will not. */
async function lookFor(
  context: ApplyContext,
  doubt: AttachmentDoubt,
): Promise<"attached" | "not-attached" | "unclear"> {
  const lost = doubt.first.outcome === "unknown";
  let since = doubt.sentAt ?? context.clock.now();
  for (let looks = lost ? 2 : 1; looks > 0; looks -= 1) {
    if (lost && !(await waitToSettle(context, { since, signal: doubt.signal }))) return "unclear";
    since = context.clock.now();
    const answer = await confirm(context, doubt);
    if (answer.outcome === "done") return "attached";
    if (answer.failure.code !== "not-attached") return "unclear";
  }
  return "not-attached";
}

/** Waits until what was sent at `since` can no longer take effect. False when the run was stopped meanwhile. */
async function waitToSettle(
  { clock, emit, settleDelayMs }: ApplyContext,
  { since, signal }: { since: number; signal: AbortSignal },
): Promise<boolean> {
  const ms = Math.min(settleDelayMs, Math.max(0, since + settleDelayMs - clock.now()));
  if (signal.aborted) return false;
  if (ms === 0) return true;
  emit({ type: "waiting", at: clock.now(), reason: "settle", ms });
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

function confirm(context: ApplyContext, doubt: AttachmentDoubt): Promise<Answer> {
  const { target, attributes, effect, first, signal } = doubt;
  return runOperation(context, {
    address: doubt.address,
    kind: "update",
    intent: { draftId: target.draftId, fileKind: target.kind, fileId: target.fileId, attributes },
    signal,
    call: (options) => context.service.update(target, attributes, options),
    effects: (answer) =>
      answer.outcome === "done" ? [effect("patch", answer.value), ...settled(first, "done")] : [],
  });
}

async function attachOnceMore(context: ApplyContext, doubt: AttachmentDoubt): Promise<Answer> {
  const { target, attributes, sha256, effect, first, signal } = doubt;
  const digest = sha256 === undefined ? {} : { sha256 };
  await context.ledger.record(settled(first, "not_sent"));
  return runOperation(context, {
    address: doubt.address,
    kind: "attach",
    intent: { draftId: target.draftId, fileKind: target.kind, fileId: target.fileId, attributes, ...digest },
    signal,
    call: (options) => context.service.attach(target, attributes, options),
    effects: (result) => (result.outcome === "done" ? [effect("post", result.value)] : []),
  });
}

/** Only what is in doubt can be settled; a refusal is an outcome already. */
function settled(first: AttachmentDoubt["first"], outcome: "done" | "not_sent"): readonly LedgerEffect[] {
  return first.outcome === "unknown" ? [{ type: "settled", operationId: first.operationId, outcome }] : [];
}
