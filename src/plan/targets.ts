import { draftIdOf, parseAddress, publicationAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import { draftOf, isProtectChange } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Drift } from "../model/drift.ts";
import { isInScope, parseScope } from "../model/scope.ts";
import { waitingDrafts } from "../model/waiting.ts";
import type { Differences } from "./differences.ts";
import { isWaitedFor } from "./exclude-waiting.ts";

/**
 * Narrows a plan to addresses, or to everything below them (`drafts/48213` takes the whole draft). A target that
 * nothing is at, not even a `drift`, and one that would publish a draft without its other changes, are errors.
 */
export function selectTargets(
  all: Differences,
  wished: readonly string[],
  drift: readonly Drift[] = [],
): Differences {
  if (wished.length === 0) return all;
  const isChosen = choiceOf(wished);
  const drafts = new Set(wished.flatMap(draftOfTarget));
  // Whatever part of a draft is named, its protection holds.
  const protects = (change: Change) =>
    isProtectChange(change) && change.after.protect && drafts.has(draftOf(change));
  const waitingIds = waitingDrafts(all).flatMap(({ address = "" }) => draftIdOf(address) ?? []);
  const waiting = new Set(waitingIds.filter((draftId) => drafts.has(draftId)));
  // What others wait for is applied whatever part of the draft is named: else they would wait for ever.
  const isDue = (change: Change) => isWaitedFor(change) && waiting.has(draftOf(change));
  const isRenamed = all.diagnostics.some(
    ({ code, address = "" }) => code === "duplicate-in-doubt-renamed" && isChosen(address),
  );
  const mayBeCopy = (change: Change) =>
    isRenamed && change.action === "in_doubt" && change.before.kind === "duplicate";
  // A copy under a new name needs the consent to forget the old one.
  const formers = new Set(
    all.changes.map((each) => each.action === "duplicate" && isChosen(each.address) && each.former),
  );
  const isChosenToo = (change: Change) =>
    protects(change) || isDue(change) || mayBeCopy(change) || formers.has(change.address);
  const changes = all.changes.filter((change) => isChosen(change.address) || isChosenToo(change));
  const unchanged = all.unchanged.filter(isChosen);
  const unmanaged = (all.unmanaged ?? []).filter(isChosen);
  const known = [...[...changes, ...drift].map(({ address }) => address), ...unchanged, ...unmanaged];
  const waits = new Set([...waiting].map((draftId) => `drafts/${draftId}`));
  const diagnostics = all.diagnostics.filter(
    ({ address }) => address === undefined || isChosen(address) || waits.has(address),
  );
  const named = [...known, ...diagnostics.map((each) => each.address ?? "")];
  const unknown = wished
    .filter(
      (target) =>
        !named.some(choiceOf([target])) && !draftOfTarget(target).some((draftId) => waiting.has(draftId)),
    )
    .map(nothingThere);
  const chosen = new Set(changes);
  const leftOut = all.changes.filter((change) => !chosen.has(change));
  const split = [...splitPublications(changes, leftOut), ...orphanedDuplicates(changes, leftOut)];
  return { changes, unchanged, unmanaged, diagnostics: [...diagnostics, ...unknown, ...split] };
}

/** The drift at the targets, or below them; all of it without targets. */
export function selectDrift(drift: readonly Drift[], wished: readonly string[]): readonly Drift[] {
  const isChosen = choiceOf(wished);
  return wished.length === 0 ? drift : drift.filter(({ address }) => isChosen(address));
}

function draftOfTarget(target: string): readonly number[] {
  const scope = parseScope(target);
  if (scope === undefined || scope.type === "all") return [];
  const draftId = scope.type === "exact" ? draftIdOf(scope.address) : scope.draftId;
  return draftId === undefined ? [] : [draftId];
}

/** A target that cannot be read chooses nothing, and is reported as unknown. */
function choiceOf(wished: readonly string[]): (address: string) => boolean {
  const scopes = wished.flatMap((target) => parseScope(target) ?? []);
  return (address) => scopes.some((scope) => isInScope(address, scope));
}

function nothingThere(target: string): Diagnostic {
  return {
    severity: "error",
    code: "target-unknown",
    message: `no resource matches ${JSON.stringify(target)}`,
    hint: "Write an address as `draftsync plan` shows it, a draft id, a manifest, or a title. Quote names with spaces or *.",
    address: target,
  };
}

/** A product is published only when every other operation of its draft is confirmed. */
function splitPublications(chosen: readonly Change[], leftOut: readonly Change[]): Diagnostic[] {
  return chosen
    .filter(({ action }) => action === "publish")
    .flatMap(({ address }): Diagnostic[] => {
      const parsed = parseAddress(address);
      if (parsed?.type !== "publication") return [];
      const { draftId } = parsed;
      const draft = `drafts/${draftId}`;
      const others = leftOut.filter((change) => isInScope(change.address, { type: "draft", draftId })).length;
      if (others === 0) return [];
      return [
        {
          severity: "error",
          code: "target-splits-draft",
          message: `${draft} cannot be published alone: ${others} other ${others === 1 ? "change" : "changes"} of it would be left out`,
          hint: `Use --target ${draft} to take the whole draft.`,
          address,
        },
      ];
    });
}

/** A copy of "the product of draft D" needs that product. */
function orphanedDuplicates(chosen: readonly Change[], leftOut: readonly Change[]): Diagnostic[] {
  return chosen.flatMap((change): Diagnostic[] => {
    if (change.action !== "duplicate") return [];
    const { address, after } = change;
    if (after.product_id !== undefined || after.draft_id === undefined) return [];
    const publication = publicationAddress(after.draft_id);
    if (!leftOut.some((other) => other.address === publication)) return [];
    return [
      {
        severity: "error",
        code: "target-splits-draft",
        message: `${address} cannot be made alone: draft ${after.draft_id} would not be published before it`,
        hint: `Add --target drafts/${after.draft_id}.`,
        address,
      },
    ];
  });
}
