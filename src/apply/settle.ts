import { setTimeout as sleep } from "node:timers/promises";
import type { CreateChange, ReplaceChange } from "../model/change.ts";
import type { CallResult } from "../model/outcome.ts";
import type { FileTarget, LedgerEffect } from "../model/ports.ts";
import type { Confirmation } from "../model/recorded.ts";
import type { Attributes } from "../model/resource.ts";
import type { ApplyContext, ChangeEnd } from "./context.ts";
import { runOperation } from "./operation.ts";

type Answer = CallResult<Attributes> & { readonly operationId: string };

interface Doubt {
  readonly change: CreateChange | ReplaceChange;
  readonly target: FileTarget;
  readonly attributes: Attributes;
  /** What the ledger takes when the file turns out to be attached. */
  readonly effect: (by: Confirmation, answered: Attributes) => LedgerEffect;
  /** The attachment that ended unknown, or was refused as a conflict. */
  readonly first: Exclude<Answer, { outcome: "done" }>;
  readonly signal: AbortSignal;
}

/**
 * Finds out whether a file is attached, without attaching it again (RELIABILITY, "Settling an attachment").
 *
 * ```
 *   lost POST ─ wait ─► PATCH all managed ─ 2xx ──► attached, and converged
 *                          │ 404
 *                          └ wait ─► PATCH ─ 2xx ─► attached
 *                                      │ 404
 *                                      └► one more POST ─ anything but 2xx ─► as it ended
 *   any other answer proves nothing: it stays in doubt
 * ```
 *
 * A refusal by conflict (409) needs no waiting: nothing of it is still on its way.
 */
export async function settleAttachment(context: ApplyContext, doubt: Doubt): Promise<ChangeEnd> {
  const lost = doubt.first.outcome === "unknown";
  for (let look = 0; look < 2; look += 1) {
    if (lost && !(await waitToSettle(context, doubt.signal))) return doubt.first;
    const answer = await confirm(context, doubt);
    if (answer.outcome === "done") return { outcome: "done", fileId: doubt.target.fileId };
    if (answer.failure.code !== "not-attached") return doubt.first;
    if (!lost) return doubt.first;
  }
  return attachOnceMore(context, doubt);
}

/** False when the run was stopped meanwhile. */
async function waitToSettle(context: ApplyContext, signal: AbortSignal): Promise<boolean> {
  const { clock, emit, settleDelayMs } = context;
  emit({ type: "waiting", at: clock.now(), reason: "settle", ms: settleDelayMs });
  try {
    await sleep(settleDelayMs, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

function confirm(context: ApplyContext, doubt: Doubt): Promise<Answer> {
  const { target, attributes, effect, first, signal } = doubt;
  return runOperation(context, {
    address: doubt.change.address,
    kind: "update",
    intent: { draftId: target.draftId, fileKind: target.kind, fileId: target.fileId, attributes },
    signal,
    call: (options) => context.service.update(target, attributes, options),
    effects: (answer) =>
      answer.outcome === "done" ? [effect("patch", answer.value), settled(first, "done")] : [],
  });
}

async function attachOnceMore(context: ApplyContext, doubt: Doubt): Promise<ChangeEnd> {
  const { target, attributes, effect, first, signal } = doubt;
  await context.ledger.record([settled(first, "not_sent")]);
  const answer = await runOperation(context, {
    address: doubt.change.address,
    kind: "attach",
    intent: { draftId: target.draftId, fileKind: target.kind, fileId: target.fileId, attributes },
    signal,
    call: (options) => context.service.attach(target, attributes, options),
    effects: (result) => (result.outcome === "done" ? [effect("post", result.value)] : []),
  });
  return answer.outcome === "done" ? { outcome: "done", fileId: target.fileId } : answer;
}

function settled(first: Doubt["first"], outcome: "done" | "not_sent"): LedgerEffect {
  return { type: "settled", operationId: first.operationId, outcome };
}
