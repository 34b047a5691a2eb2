import type { Desired, DesiredAttachment } from "../model/desired.ts";
import type { EventSink } from "../model/event.ts";
import { eventFormatVersion } from "../model/event.ts";
import type { Observed } from "../model/observed.ts";
import type { CallFailure } from "../model/outcome.ts";
import type { Clock, ServiceReader } from "../model/ports.ts";
import type { Recorded } from "../model/recorded.ts";
import { fileResource, productResource } from "../model/resource.ts";
import { isoTime } from "../model/time.ts";
import type { LookPolicy } from "./choose-looks.ts";
import { chooseLooks, countThings, countUnchecked } from "./choose-looks.ts";
import type { Interpretation } from "./interpret.ts";
import { interpret } from "./interpret.ts";
import { lookAround } from "./look-around.ts";

/** What {@link observe} works with. */
export interface ObserveOptions {
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly policy: LookPolicy;
  readonly reader: ServiceReader;
  /** The file id of a desired attachment, as far as it is known before anything is uploaded. */
  readonly fileIdOf: (attachment: DesiredAttachment) => number | undefined;
  /** How long a lost call may still take effect, milliseconds. */
  readonly settleDelayMs: number;
  /** Looks under way at the same time. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly emit: EventSink;
  /** The user's interrupt: no look begins after it; those on their way are awaited. */
  readonly signal: AbortSignal;
}

/** What was observed; `stopped` when the service cannot be worked with at all, such as a key that is not accepted. */
export interface ObserveResult {
  readonly observed: Observed;
  readonly stopped?: CallFailure;
}

/** Chooses what to look at, looks, and holds what was seen against the ledger. Writes nothing anywhere. */
export async function observe(options: ObserveOptions): Promise<ObserveResult> {
  const { policy, recorded, reader, clock, emit } = options;
  const now = clock.now();
  const { looks, left } = chooseLooks({ ...options, now, uploadsPerCall: reader.uploadsPerCall });
  const maxCalls = policy.mode === "full" ? Number.POSITIVE_INFINITY : policy.maxCalls;
  emit({
    type: "refresh_started",
    format_version: eventFormatVersion,
    at: now,
    calls: looks.length,
  });
  const seen = await lookAround({ ...options, looks, maxCalls });
  const found = interpret({ ...options, sightings: seen.sightings });
  const lookedAt = countThings(seen.sightings);
  const summary = {
    mode: policy.mode,
    attachments: policy.attachments,
    calls: seen.calls,
    max_calls: policy.mode === "full" ? null : policy.maxCalls,
    looked_at: lookedAt - found.unreadable.length,
    unreadable: found.unreadable.length,
    left: left + countThings(looks) - lookedAt,
    not_checked: countUnchecked(recorded, seen.sightings, policy),
    oldest_unconfirmed: oldestUnconfirmed(recorded, found),
  };
  emit({ type: "refresh_finished", at: clock.now(), ...summary, drift: found.drift.length });
  const stopped = seen.stopped === undefined ? {} : { stopped: seen.stopped };
  return { observed: { summary, ...found }, ...stopped };
}

/** Of what the ledger still goes by after this refresh. */
function oldestUnconfirmed(recorded: Recorded, { confirmations, drift }: Interpretation): string | null {
  const news = new Set<string>();
  for (const effect of confirmations) {
    if (effect.type === "rerecorded" || effect.type === "attached") news.add(fileResource(effect.attachment));
    else if (effect.type === "detached") news.add(fileResource(effect.target));
    else if (effect.type === "product_confirmed") news.add(productResource(effect.productId));
  }
  const drifted = new Set(drift.map(({ address }) => address));
  const times = [
    ...recorded.attachments
      .filter((attachment) => !news.has(fileResource(attachment)) && !drifted.has(attachment.address))
      .map(({ provenance }) => provenance.at),
    ...[...recorded.publications, ...recorded.duplicates]
      .filter(({ productId }) => !news.has(productResource(productId)))
      .map(({ provenance }) => provenance.at),
  ];
  // Not spread into Math.min: there may be more of them than a call can have arguments.
  const oldest = times.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
  return Number.isFinite(oldest) ? isoTime(oldest) : null;
}
