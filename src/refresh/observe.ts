import type { Desired, DesiredAttachment } from "../model/desired.ts";
import type { EventSink } from "../model/event.ts";
import { eventFormatVersion } from "../model/event.ts";
import type { Observed } from "../model/observed.ts";
import type { CallFailure } from "../model/outcome.ts";
import type { Clock, ServiceReader } from "../model/ports.ts";
import { publicationsInForce, type Recorded } from "../model/recorded.ts";
import { fileResource, productResource } from "../model/resource.ts";
import { isoTime } from "../model/time.ts";
import type { DetectedDrift } from "./detect-drift.ts";
import { detectDrift } from "./detect-drift.ts";
import { fetchTargets } from "./fetch-targets.ts";
import type { RefreshPolicy } from "./select-targets.ts";
import { countResources, countUnchecked, selectTargets } from "./select-targets.ts";

/** Options of {@link observe}. */
export interface ObserveOptions {
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly policy: RefreshPolicy;
  readonly reader: ServiceReader;
  /** The file id of a desired attachment, if it is known before the upload. */
  readonly fileIdOf: (attachment: DesiredAttachment) => number | undefined;
  /** How long a lost call may still take effect, milliseconds. */
  readonly settleDelayMs: number;
  /** Requests in flight at the same time. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly emit: EventSink;
  /** The user's interrupt: no request starts after it; those in flight are awaited. */
  readonly signal: AbortSignal;
}

/** The observations; `stopped` when the service is unusable as a whole, such as when it rejects the key. */
export interface ObserveResult {
  readonly observed: Observed;
  readonly stopped?: CallFailure;
}

/** Selects targets, fetches them, and compares them with the ledger. Writes nothing. */
export async function observe(options: ObserveOptions): Promise<ObserveResult> {
  const { policy, recorded, reader, clock, emit } = options;
  const now = clock.now();
  const { targets, deferred } = selectTargets({
    ...options,
    now,
    uploadsPerCall: reader.uploadsPerCall,
  });
  const { maxCalls } = policy;
  emit({
    type: "refresh_started",
    format_version: eventFormatVersion,
    at: now,
    calls: targets.length,
  });
  const fetched = await fetchTargets({ ...options, targets, maxCalls });
  const found = detectDrift({ ...options, observations: fetched.observations });
  const checkedCount = countResources(fetched.observations);
  const summary = {
    mode: policy.mode,
    attachments: policy.attachments,
    calls: fetched.calls,
    max_calls: maxCalls === Infinity ? null : maxCalls,
    checked: checkedCount - found.unreadable.length,
    unreadable: found.unreadable.length,
    deferred: deferred + countResources(targets) - checkedCount,
    not_checked: countUnchecked(recorded, fetched.observations, policy),
    oldest_unconfirmed: oldestUnconfirmed(recorded, found),
  };
  emit({ type: "refresh_finished", at: clock.now(), ...summary, drift: found.drift.length });
  const { stopped } = fetched;
  return { observed: { summary, ...found }, ...(stopped === undefined ? {} : { stopped }) };
}

/** The oldest confirmation among the records that this refresh did not confirm. */
function oldestUnconfirmed(recorded: Recorded, { confirmations, drift }: DetectedDrift): string | null {
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
    ...[...publicationsInForce(recorded).values(), ...recorded.duplicates]
      .filter(({ productId }) => !news.has(productResource(productId)))
      .map(({ provenance }) => provenance.at),
  ];
  // Not spread into Math.min: a call takes a limited number of arguments.
  const oldest = times.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
  return Number.isFinite(oldest) ? isoTime(oldest) : null;
}
