import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { driftEffects } from "../../../src/apply/apply-plan.ts";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import type { Change } from "../../../src/model/change.ts";
import type { Desired } from "../../../src/model/desired.ts";
import type { Drift } from "../../../src/model/drift.ts";
import type { Observation, Observed, ReadResult, RefreshTarget } from "../../../src/model/observed.ts";
import type { Clock, LedgerEffect, NewOperation } from "../../../src/model/ports.ts";
import type { Recorded } from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import { applyDrift } from "../../../src/plan/apply-drift.ts";
import { makeFileIdFinder } from "../../../src/plan/recorded-index.ts";
import { detectDrift } from "../../../src/refresh/detect-drift.ts";
import { selectTargets } from "../../../src/refresh/select-targets.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  refreshSummary,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";
import { runs } from "../../support/runs.ts";
import { freshFolder } from "../ledger/samples.ts";

const observedAt = Date.UTC(2026, 0, 5);
const fileId = fc.integer({ min: 1, max: 5 });
const draftId = fc.integer({ min: 1, max: 2 });
const source = fc.constantFrom("a", "b");
const content = fc.constantFrom("s1", "s2");
const renderer = fc.constantFrom("", "arnold", "vray");
const attributes: fc.Arbitrary<Attributes> = fc.record(
  { renderer, is_native: fc.boolean() },
  { requiredKeys: [] },
);

const recordedFiles = fc.array(
  fc
    .tuple(
      draftId,
      fileId,
      attributes,
      fc.option(fc.tuple(source, content), { nil: undefined }),
      fc.option(fileId, { nil: undefined }),
    )
    .map(
      ([draft, file, values, of, replaces]): LedgerEffect => ({
        type: "attached",
        attachment: recordedFile(draft, file, {
          attributes: values,
          ...(of && { address: `drafts/${draft}/product_files/source:${of[0]}`, sha256: of[1] }),
        }),
        ...(replaces === undefined || replaces === file ? {} : { replaces }),
      }),
    ),
  { maxLength: 6 },
);

/** Uploads of some sources, so that the file of a desired source is known and may already be attached. */
const uploads = fc
  .uniqueArray(fc.tuple(source, content, fileId), { maxLength: 4, selector: ([name, of]) => `${name} ${of}` })
  .map((list) =>
    list.flatMap(([name, sha256, file]): LedgerEffect[] => {
      const uploadId = `${name}-${sha256}`;
      return [
        { type: "upload_registered", uploadId, uploadKey: uploadId, source: name, sha256, at: 0 },
        { type: "upload_ended", uploadId, status: "success", fileId: file },
      ];
    }),
  );

const products = fc
  .uniqueArray(fc.tuple(draftId, fc.integer({ min: 1, max: 3 })), {
    maxLength: 2,
    selector: ([draft]) => draft,
  })
  .map((list) =>
    list.map(
      ([draft, productId]): LedgerEffect => ({
        type: "published",
        draftId: draft,
        revision: 1,
        productId,
        provenance: { by: "post", at: 0 },
      }),
    ),
  );

const doubts = fc
  .uniqueArray(fc.tuple(fc.constantFrom("attach", "update", "detach"), draftId, fileId, attributes), {
    maxLength: 3,
    selector: ([kind, draft, file]) => `${kind} ${draft} ${file}`,
  })
  .map((list) =>
    list.map(([kind, draft, file, values]): NewOperation => {
      const address = `drafts/${draft}/product_files/${file}`;
      const intent = { draftId: draft, fileKind: "product_files", fileId: file, attributes: values } as const;
      return { id: `${kind} ${address}`, runId: "run-1", address, kind, method: "X", path: "/", intent };
    }),
  );

const desiredStates: fc.Arbitrary<Desired> = fc
  .uniqueArray(
    fc.record({
      id: draftId,
      files: fc.uniqueArray(fc.tuple(fileId, attributes), { maxLength: 4, selector: ([file]) => file }),
      sources: fc.uniqueArray(fc.tuple(source, content, attributes), {
        maxLength: 2,
        selector: ([name]) => name,
      }),
      protect: fc.boolean(),
      publish: fc.boolean(),
    }),
    { maxLength: 2, selector: ({ id }) => id },
  )
  .map((drafts) =>
    desiredWith({
      drafts: drafts.map(({ id, files, sources, protect, publish }) =>
        draftWith(id, {
          protect,
          attachments: [
            ...files.map(([file, values]) => wantedFile(id, file, values)),
            ...sources.map(([name, sha256, values]) => wantedSource(id, name, sha256, values)),
          ],
          ...(publish ? { publish: { revision: 1, position: 1 } } : {}),
        }),
      ),
    }),
  );

const reads = fc.infiniteStream(
  fc.oneof(
    { weight: 3, arbitrary: attributes.map((value): ReadResult<Attributes> => ({ type: "present", value })) },
    fc.constant({ type: "absent" } as const),
    fc.constant({
      type: "unreadable",
      failure: { code: "timeout", message: "", errors: [], stops: "operation" },
    } as const),
  ),
);

/** The result of a full refresh with random responses. */
function observe(desired: Desired, recorded: Recorded, next: () => ReadResult<Attributes>): Observed {
  const { targets } = selectTargets({
    desired,
    recorded,
    policy: { mode: "full", attachments: "probe", maxCalls: Infinity, maxAgeMs: 0 },
    now: observedAt,
    uploadsPerCall: 50,
    fileIdOf: makeFileIdFinder(recorded),
  });
  const observations = targets.map((target) => observationOf(target, next()));
  const summary = refreshSummary({ calls: targets.length, checked: targets.length });
  return { summary, ...detectDrift({ observations, desired, recorded, settleDelayMs: 1 }) };
}

function observationOf(target: RefreshTarget, read: ReadResult<Attributes>): Observation {
  const at = observedAt;
  if (target.type === "attachment") return { ...target, at, read };
  if (target.type === "product") {
    return { ...target, at, read: read.type === "present" ? { type: "present", value: null } : read };
  }
  return {
    ...target,
    at,
    read: read.type === "present" ? { type: "present", value: { uploads: [], missing: [] } } : read,
  };
}

/** Changes without the reasons that only drift gives. */
function changesOf(changes: readonly Change[]): readonly Change[] {
  const plain = { drifted: "attributes_differ", gone: "not_recorded" } as const;
  return changes.flatMap((change): Change[] => {
    const { reason } = change;
    if (change.action === "adopt" && reason === "found") return [];
    return [reason === "drifted" || reason === "gone" ? { ...change, reason: plain[reason] } : change];
  });
}

/** Recorded attachments in a fixed order. */
function sorted({ attachments }: Recorded): unknown[] {
  return attachments.map((each) => JSON.stringify(Object.entries(each).sort())).sort();
}

/** Long before `observedAt`. */
const clock: Clock = { now: () => 0, monotonic: () => performance.now() };
let ledgers = 0;

async function ledgerWith(folder: string, effects: readonly LedgerEffect[], doubts: readonly NewOperation[]) {
  ledgers += 1;
  const ledger = await openLedger({ location: join(folder, `${ledgers}.db`), clock });
  await ledger.record(effects);
  await ledger.startRun({ id: "run-1", command: "apply", planId: "p", startedAt: 0 });
  for (const doubt of doubts) await ledger.begin(doubt);
  return ledger;
}

describe("a plan with observed drift", () => {
  test("has the changes that it has after the drift is recorded", async () => {
    const folder = freshFolder();
    let drifted = 0;
    await fc.assert(
      fc.asyncProperty(
        desiredStates,
        fc.tuple(recordedFiles, uploads, products),
        doubts,
        reads,
        async (desired, effects, operations, stream) => {
          const ledger = await ledgerWith(folder, effects.flat(), operations);
          const before = await ledger.load();
          const observed = observe(desired, before, () => stream.next().value);
          await ledger.record(observed.confirmations);
          const recorded = await ledger.load();
          // A file that could not be read keeps its draft from being published, in this plan only.
          const plan = planOf(desired, recorded, { observed: { ...observed, unreadable: [] } });
          await ledger.record(driftEffects(observed.drift));
          const after = await ledger.load();
          await ledger.close();
          drifted += observed.drift.length;
          expect(sorted(applyDrift(recorded, observed.drift))).toEqual(sorted(after));
          expect(changesOf(plan.changes)).toEqual(planOf(desired, after).changes);
        },
      ),
      runs(50),
    );
    expect(drifted).toBeGreaterThan(25);
  }, 60_000);
});

describe("applyDrift", () => {
  const previous = recordedFile(1, 1, { address: "drafts/1/product_files/source:a", sha256: "s1" });
  const found: Drift = {
    address: previous.address,
    type: "found",
    before: null,
    after: { file_id: 2, source: "a", sha256: "s2" },
    attributes: [],
    confirmed: null,
    observed_at: new Date(observedAt).toISOString(),
  };

  test("returns the same object when there is no drift", () => {
    const recorded = recordedWith({ attachments: [previous] });
    expect(applyDrift(recorded, [])).toBe(recorded);
  });

  test("a file is no half of a replacement when the one that took its place is gone", () => {
    const { address } = previous;
    const successor = recordedFile(1, 2, { address, sha256: "s2" });
    const half = { ...previous, address: "drafts/1/product_files/1", replacedBy: 2 };
    const gone: Drift = {
      address,
      type: "gone",
      before: { file_id: 2, source: "a", sha256: "s2" },
      after: null,
      attributes: [],
      confirmed: null,
      observed_at: new Date(observedAt).toISOString(),
    };
    const { attachments } = applyDrift(recordedWith({ attachments: [half, successor] }), [gone]);
    expect(attachments).toEqual([{ ...previous, address: "drafts/1/product_files/1" }]);
  });

  test("moves an address to the found file, and the previous file is detached by its id", () => {
    const recorded = recordedWith({ attachments: [previous] });
    expect(applyDrift(recorded, [found]).attachments.map(({ address, fileId: id }) => [id, address])).toEqual(
      [
        [1, "drafts/1/product_files/1"],
        [2, "drafts/1/product_files/source:a"],
      ],
    );
    const observed: Observed = {
      summary: refreshSummary(),
      drift: [found],
      confirmations: [],
      unreadable: [],
    };
    const desired = desiredWith({ drafts: [draftWith(1, { attachments: [wantedSource(1, "a", "s2")] })] });
    const { changes } = planOf(desired, recorded, { observed });
    expect(changes.map(({ action, reason, address }) => `${action} ${reason} ${address}`)).toEqual([
      "delete not_in_manifest drafts/1/product_files/1",
      "adopt found drafts/1/product_files/source:a",
    ]);
  });

  test("gives the same result for any order of the drift", () => {
    const changed: Drift = {
      address: previous.address,
      type: "changed",
      before: { file_id: 1, sha256: "s1" },
      after: { file_id: 1, sha256: "s1", renderer: "vray" },
      attributes: ["renderer"],
      confirmed: { by: "post", at: found.observed_at },
      observed_at: found.observed_at,
    };
    const recorded = recordedWith({ attachments: [previous] });
    expect(sorted(applyDrift(recorded, [found, changed]))).toEqual(
      sorted(applyDrift(recorded, [changed, found])),
    );
    expect(driftEffects([found, changed])).toEqual(driftEffects([changed, found]));
  });
});
