import { compareText } from "../model/address.ts";
import type { ProtectChange } from "../model/change.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Observed } from "../model/observed.ts";
import type { Plan } from "../model/plan.ts";
import { planFormatVersion } from "../model/plan.ts";
import type { Recorded } from "../model/recorded.ts";
import { addObservations, applyDrift, applyReads, markDrift } from "./apply-drift.ts";
import { diffAttachments } from "./diff-attachments.ts";
import { diffDuplicates } from "./diff-duplicates.ts";
import { diffPublications } from "./diff-publications.ts";
import type { Differences } from "./differences.ts";
import { countByList, mergeDifferences, removedDrafts, sortDiagnostics, summarize } from "./differences.ts";
import { digestOf } from "./digest.ts";
import type { CallProfile, Rate } from "./estimate.ts";
import { estimateCost, uploadsPerRead } from "./estimate.ts";
import { excludeIncomplete, excludeUnprotected, excludeUnread, excludeUnsettled } from "./exclude-waiting.ts";
import { makeNameFinder, nameDrafts } from "./names.ts";
import { isNewLedger, maybePublishedWarnings } from "./new-ledger.ts";
import { basesOf } from "./plan-basis.ts";
import { selectDrift, selectTargets } from "./targets.ts";

/** Everything a plan depends on. */
export interface PlanInput {
  readonly workspace: string;
  readonly serviceOrigin: string;
  readonly desired: Desired;
  readonly recorded: Recorded;
  /** The observations of a refresh; absent without one. */
  readonly observed?: Observed;
  readonly rate: Rate;
  /** The compiled profile of the service, as far as the number of calls depends on it. */
  readonly profile: CallProfile;
  /** What the manifests gave rise to; carried into the plan. */
  readonly diagnostics?: readonly Diagnostic[];
  /** Addresses, or their leading segments, to which the plan is narrowed; empty or absent: everything. */
  readonly targets?: readonly string[];
}

/**
 * The difference between what is desired and what is observed, or recorded where nothing was observed, as data. Pure: the same input gives the same bytes,
 * in whatever order the manifests and the ledger list things.
 */
export function buildPlan(input: PlanInput): Plan {
  const { desired, recorded, observed } = input;
  const known = applyDrift(applyReads(recorded, observed?.confirmations ?? []), observed?.drift ?? []);
  const all = mergeDifferences([
    diffProtection(desired, known),
    markDrift(diffAttachments(desired, known), observed?.drift ?? []),
    diffPublications(desired, known),
    diffDuplicates(desired, known),
  ]);
  // Before the targets are selected: a change that waits for another one waits for it also when only it is targeted.
  const settled = excludeUnsettled(excludeUnprotected(all), desired);
  const complete = excludeIncomplete(settled, { desired, recorded: known });
  const allowed = excludeUnread(complete, observed);
  const targets = input.targets ?? [];
  const chosen = selectTargets(addObservations(allowed, observed), targets, observed?.drift);
  const nameOf = makeNameFinder(desired, recorded);
  const named = <T extends { readonly address: string }>(each: T): T => ({
    ...each,
    ...nameOf(each.address),
  });
  const changes = chosen.changes.map(named).sort((a, b) => compareText(a.address, b.address));
  const drift = selectDrift(observed?.drift ?? [], targets).map(named);
  const addresses = [...changes, ...drift].map(({ address }) => address);
  const rest = {
    format_version: planFormatVersion,
    workspace: input.workspace,
    base: {
      lineage: recorded.lineage,
      serial: recorded.serial,
      resources: basesOf({ changes, drift }, { recorded, desired }),
    },
    service_origin: input.serviceOrigin,
    new_ledger: isNewLedger(recorded, input.serviceOrigin),
    summary: summarize(changes, chosen.unchanged.length),
    estimate: estimateCost(changes, { rate: input.rate, uploadsPerRead: uploadsPerRead(input.profile) }),
    ...(observed === undefined ? {} : { refresh: observed.summary, drift }),
    drafts: nameDrafts(addresses, nameOf),
    removed_drafts: removedDrafts(changes, desired),
    unmanaged: countByList(chosen.unmanaged ?? []),
    changes,
    diagnostics: sortDiagnostics([
      ...(input.diagnostics ?? []),
      ...chosen.diagnostics,
      ...maybePublishedWarnings(changes, known),
    ]),
  } as const;
  const { format_version, ...others } = rest;
  return { format_version, plan_id: digestOf(rest), ...others };
}

/**
 * `protect` in the manifests against the ledger. Only drafts that are in a manifest count: to lift the protection
 * of a draft its document has to be there, without `protect`.
 */
function diffProtection(desired: Desired, recorded: Recorded): Differences {
  const changes = desired.drafts
    .filter(({ draftId, protect }) => protect !== recorded.protectedDrafts.has(draftId))
    .map(
      ({ draftId, protect }): ProtectChange => ({
        address: `drafts/${draftId}`,
        action: "update",
        reason: protect ? "protect" : "unprotect",
        before: { protect: !protect },
        after: { protect },
        attributes: ["protect"],
      }),
    )
    .sort((a, b) => compareText(a.address, b.address));
  return { changes, unchanged: [], diagnostics: [] };
}
