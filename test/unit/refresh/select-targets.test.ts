import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RefreshTarget } from "../../../src/model/observed.ts";
import { fileResource } from "../../../src/model/resource.ts";
import type { SelectTargetsInput } from "../../../src/refresh/select-targets.ts";
import { countResources, selectTargets } from "../../../src/refresh/select-targets.ts";
import { desiredWith, draftWith, recordedWith, wantedFile, wantedSource } from "../../support/planning.ts";
import { runs } from "../../support/runs.ts";
import {
  anyInput,
  desiredFiles,
  doubtOf,
  duplicateAt,
  fileAt,
  inputOf,
  now,
  policyOf,
  publicationAt,
  shuffled,
  targetName,
  uploadOf,
} from "./support.ts";

const wish = desiredWith({
  drafts: [
    draftWith(1, { attachments: [wantedFile(1, 1), wantedFile(1, 9)] }),
    draftWith(2, { attachments: [wantedFile(2, 22), wantedFile(2, 21)] }),
  ],
});

interface Case {
  readonly name: string;
  readonly input: Partial<SelectTargetsInput>;
  readonly targets: readonly string[];
}

const threeFiles = recordedWith({ attachments: [fileAt(1, 1, 50), fileAt(1, 2, 40), fileAt(1, 3, 60)] });

const cases: readonly Case[] = [
  { name: "nothing", input: {}, targets: [] },
  {
    name: "only resources at or below the --target addresses",
    input: {
      recorded: {
        ...threeFiles,
        publications: [publicationAt(2, 101, 10)],
        attachments: [...threeFiles.attachments, fileAt(10, 1, 1)],
      },
      policy: policyOf({ targets: ["drafts/1/product_files/3", "drafts/2/product"] }),
    },
    targets: ["product 101", "1/3"],
  },
  {
    name: "the highest of several revisions",
    input: {
      recorded: recordedWith({
        publications: [{ ...publicationAt(1, 102, 10), revision: 2 }, publicationAt(1, 101, 5)],
      }),
    },
    targets: ["product 102"],
  },
  {
    name: "the file confirmed longest ago first",
    input: { recorded: threeFiles },
    targets: ["1/2", "1/1", "1/3"],
  },
  {
    name: "files confirmed at the same time in the order of their addresses",
    input: { recorded: recordedWith({ attachments: [fileAt(1, 3, 5), fileAt(1, 10, 5), fileAt(1, 2, 5)] }) },
    targets: ["1/10", "1/2", "1/3"],
  },
  {
    name: "a file whose last read failed after the others",
    input: { recorded: { ...threeFiles, refreshes: [{ resource: "drafts/1/product_files/2", at: 55 }] } },
    targets: ["1/1", "1/2", "1/3"],
  },
  {
    name: "a file by its last confirmation when an earlier read failed",
    input: { recorded: { ...threeFiles, refreshes: [{ resource: "drafts/1/product_files/3", at: 10 }] } },
    targets: ["1/2", "1/1", "1/3"],
  },
  {
    name: "files in doubt first, the oldest doubt before others, and no file twice",
    input: {
      recorded: {
        ...threeFiles,
        inDoubt: [
          doubtOf("update", [1, 3], { startedAt: 9 }),
          doubtOf("attach", [5, 5], { startedAt: 8 }),
          doubtOf("detach", [1, 3], { startedAt: 7 }),
        ],
      },
    },
    targets: ["1/3", "5/5", "1/2", "1/1"],
  },
  {
    name: "a file in doubt that was read since behind what was read before",
    input: {
      recorded: recordedWith({
        attachments: [fileAt(2, 1, 20), fileAt(2, 2, 40)],
        inDoubt: [doubtOf("attach", [1, 1], { startedAt: 9 }), doubtOf("attach", [1, 2], { startedAt: 9 })],
        refreshes: [{ resource: "drafts/1/product_files/1", at: 30 }],
      }),
    },
    targets: ["1/2", "2/1", "1/1", "2/2"],
  },
  {
    name: "no publish in doubt, which no read can settle",
    input: {
      recorded: recordedWith({
        inDoubt: [doubtOf("publish", [1, 1], { intent: { draftId: 1, revision: 1 } })],
      }),
    },
    targets: [],
  },
  {
    name: "desired files without a record in drafts without any record",
    input: { desired: wish, recorded: threeFiles },
    targets: ["2/21", "2/22", "1/2", "1/1", "1/3"],
  },
  {
    name: "no desired files of a draft that was published",
    input: { desired: wish, recorded: recordedWith({ publications: [publicationAt(2, 7, 1)] }) },
    targets: ["1/1", "1/9", "product 7"],
  },
  {
    name: "desired files without a record in every draft in full mode",
    input: { desired: wish, recorded: threeFiles, policy: policyOf({ mode: "full" }) },
    targets: ["1/9", "2/21", "2/22", "1/2", "1/1", "1/3"],
  },
  {
    name: "the file of an uploaded source, and none of a source without upload",
    input: {
      desired: desiredWith({
        drafts: [draftWith(3, { attachments: [wantedSource(3, "a", "s1"), wantedSource(3, "b", "s2")] })],
      }),
      recorded: recordedWith({
        uploads: [uploadOf("u", { source: "a", sha256: "s1", status: "success", fileId: 33 })],
      }),
    },
    targets: ["3/33"],
  },
  {
    name: "pending uploads of desired files, as many per call as fit",
    input: {
      desired: desiredWith({
        drafts: [
          draftWith(3, { attachments: ["a", "b", "c"].map((source) => wantedSource(3, source, "s")) }),
        ],
      }),
      recorded: recordedWith({
        uploads: [
          uploadOf("w", { source: "c", sha256: "s" }),
          uploadOf("u", { source: "a", sha256: "s" }),
          uploadOf("v", { source: "b", sha256: "s" }),
          uploadOf("of other content", { source: "a", sha256: "t" }),
          uploadOf("of no manifest", { source: "d", sha256: "s" }),
          uploadOf("ended", { source: "a", sha256: "s", status: "failed" }),
        ],
      }),
    },
    targets: ["uploads u v", "uploads w"],
  },
  {
    name: "nothing that was confirmed more recently than max_age",
    input: {
      recorded: recordedWith({
        attachments: [fileAt(1, 1, now - 100), fileAt(1, 2, now - 99), fileAt(1, 3, now)],
      }),
      policy: policyOf({ maxAgeMs: 100 }),
    },
    targets: ["1/1"],
  },
  {
    name: "everything in full mode, also if confirmed more recently than max_age",
    input: {
      recorded: recordedWith({ attachments: [fileAt(1, 1, now - 100), fileAt(1, 3, now)] }),
      policy: policyOf({ mode: "full", maxAgeMs: 100 }),
    },
    targets: ["1/1", "1/3"],
  },
  {
    name: "the files of the draft of a product that is a target",
    input: {
      recorded: recordedWith({ attachments: [fileAt(1, 1, 0), fileAt(2, 1, 0)] }),
      policy: policyOf({ targets: ["drafts/1/product"] }),
    },
    targets: ["1/1"],
  },
  {
    name: "a file with a confirmation in the future first",
    input: { recorded: recordedWith({ attachments: [fileAt(1, 1, now), fileAt(1, 3, now + 1)] }) },
    targets: ["1/3", "1/1"],
  },
];

test.each(cases.map((each) => [each.name, each] as const))("selects %s", (_name, { input, targets }) => {
  const choice = selectTargets(inputOf(input));
  expect(choice.targets.map(targetName)).toEqual(targets);
  expect(choice.deferred).toBe(0);
});

test("selects a product once, at its first address, for any order of records", () => {
  const duplicates = [duplicateAt("b", 9, 5), duplicateAt("a", 9, 5)];
  for (const list of [duplicates, [...duplicates].reverse()]) {
    const { targets } = selectTargets(inputOf({ recorded: recordedWith({ duplicates: list }) }));
    expect(targets).toEqual([{ type: "product", address: "duplicates/a", productId: 9 }]);
  }
});

describe("any desired and recorded state", () => {
  const holds = (check: (input: SelectTargetsInput, choice: ReturnType<typeof selectTargets>) => void) =>
    fc.assert(
      fc.property(anyInput, (input) => check(input, selectTargets(input))),
      runs(100),
    );

  test("gives at most max_calls targets, and counts the deferred", () => {
    holds((input, { targets, deferred }) => {
      const { policy } = input;
      const all = selectTargets({ ...input, policy: { ...policy, maxCalls: 1000 } }).targets;
      expect(targets.length).toBe(Math.min(all.length, policy.maxCalls));
      expect(targets).toEqual(all.slice(0, targets.length));
      expect(deferred).toBe(countResources(all) - countResources(targets));
    });
  });

  test("gives no resource twice", () => {
    holds((_input, { targets }) => {
      const resources = targets.flatMap((target) =>
        target.type === "uploads" ? target.uploadIds : [targetName(target)],
      );
      expect(new Set(resources).size).toBe(resources.length);
    });
  });

  test("gives operations in doubt before unrecorded files, and those before records", () => {
    holds((input, { targets }) => {
      const ranks = targets.flatMap((target) => rankOf(target, input));
      expect(ranks).toEqual([...ranks].sort());
    });
  });

  test("gives pages of limited size, and files only when they may be probed", () => {
    holds(({ policy, uploadsPerCall }, { targets }) => {
      for (const target of targets) {
        if (target.type === "uploads") expect(target.uploadIds.length).toBeLessThanOrEqual(uploadsPerCall);
        if (target.type === "attachment") expect(policy.attachments).toBe("probe");
      }
    });
  });

  test("gives every record and desired file without limits", () => {
    holds((input) => {
      const policy = policyOf({ mode: "full" });
      const names = new Set(selectTargets({ ...input, policy }).targets.map(targetName));
      const { attachments, publications, duplicates } = input.recorded;
      for (const { draftId, fileId } of attachments) expect(names).toContain(`${draftId}/${fileId}`);
      for (const { productId } of [...publications, ...duplicates])
        expect(names).toContain(`product ${productId}`);
      for (const file of desiredFiles(input)) expect(names).toContain(file);
    });
  });

  test("gives the same targets for any order of the input", () => {
    fc.assert(
      fc.property(anyInput, fc.infiniteStream(fc.nat()), (input, stream) => {
        const other = shuffled(input, () => stream.next().value);
        expect(selectTargets(other)).toEqual(selectTargets(input));
      }),
      runs(100),
    );
  });
});

/** 0: in doubt; 1: an upload that has not ended; 2: without a record; 3: recorded. */
/** None for what was read and stayed in doubt: it is read in turn. */
function rankOf(target: RefreshTarget, { recorded, now }: SelectTargetsInput): number[] {
  if (target.type === "product") return [3];
  if (target.type === "uploads") return [1];
  const { draftId, fileId } = target.target;
  const isIt = (other: { draftId?: number; fileId?: number }) =>
    other.draftId === draftId && other.fileId === fileId;
  const { at = 0 } =
    recorded.refreshes.find(({ resource }) => resource === fileResource(target.target)) ?? {};
  const doubts = recorded.inDoubt.filter(({ intent }) => isIt(intent));
  if (doubts.length > 0) return doubts.some(({ startedAt }) => at <= startedAt || at > now) ? [0] : [];
  return [recorded.attachments.some(isIt) ? 3 : 2];
}
