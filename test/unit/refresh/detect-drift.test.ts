import { describe, expect, test } from "vitest";
import type { Observation, ReadResult } from "../../../src/model/observed.ts";
import type { RecordedAttachment, RecordedOperation } from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import type { DetectDriftInput } from "../../../src/refresh/detect-drift.ts";
import { detectDrift } from "../../../src/refresh/detect-drift.ts";
import {
  desiredWith,
  draftWith,
  recordedFile,
  recordedWith,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";
import { doubtOf, failure, publicationAt, summarize } from "./support.ts";

const settleDelayMs = 1000;
/** Later than the settle delay of operations that started at 0. */
const at = 5000;
const address = "drafts/1/product_files/7";

const unreadable = { type: "unreadable", failure } as const;
const absent = { type: "absent" } as const;
const present = (value: Attributes): ReadResult<Attributes> => ({ type: "present", value });

function observationOf(read: ReadResult<Attributes>, fileId = 7, when = at): Observation {
  const target = { draftId: 1, kind: "product_files", fileId } as const;
  return { type: "attachment", address: `drafts/1/product_files/${fileId}`, target, at: when, read };
}

const record = recordedFile(1, 7, {
  attributes: { renderer: "arnold", file_format: "fbx" },
  provenance: { by: "post", at: 10 },
});

interface Situation {
  readonly isRecorded?: boolean;
  readonly known?: RecordedAttachment;
  readonly doubts?: readonly RecordedOperation[];
  /** The declared attributes of the file; `null`: no manifest declares it. */
  readonly wanted?: Attributes | null;
  readonly when?: number;
}

function driftOf(
  read: ReadResult<Attributes>,
  {
    isRecorded = true,
    known = record,
    doubts = [],
    wanted = { renderer: "arnold" },
    when = at,
  }: Situation = {},
) {
  const attachments = wanted === null ? [] : [wantedFile(1, 7, wanted)];
  return detectDrift({
    observations: [observationOf(read, 7, when)],
    desired: desiredWith({ drafts: [draftWith(1, { attachments })] }),
    recorded: recordedWith({ attachments: isRecorded ? [known] : [], inDoubt: doubts }),
    settleDelayMs,
  });
}

const attach = doubtOf("attach", [1, 7], { id: "attach" });
const update = doubtOf("update", [1, 7], { id: "update" });
const updateTo = (attributes: Attributes) => ({ ...update, intent: { ...update.intent, attributes } });
const detach = doubtOf("detach", [1, 7], { id: "detach" });
const same = present({ renderer: "arnold", file_format: "fbx" });
const other = present({ renderer: "vray", file_format: "fbx" });

describe.each<{ name: string; read: ReadResult<Attributes>; cells: [string, Situation, string[]][] }>([
  {
    name: "present with its recorded values",
    read: same,
    cells: [
      ["a recorded file", {}, ["rerecorded"]],
      ["an attach in doubt", { isRecorded: false, doubts: [attach] }, ["settled attach done", "attached"]],
      [
        "an update in doubt to the observed value",
        { doubts: [updateTo({ renderer: "arnold" })] },
        ["rerecorded", "values_forgotten", "settled update done"],
      ],
      [
        "an update in doubt to a different value",
        { doubts: [updateTo({ renderer: "vray" })] },
        ["rerecorded", "settled update not_sent"],
      ],
      ["a detach in doubt", { doubts: [detach] }, ["rerecorded", "settled detach not_sent"]],
      [
        "a detach in doubt of an unrecorded file",
        { isRecorded: false, doubts: [detach] },
        ["settled detach not_sent", "attached"],
      ],
      [
        "an update in doubt of an unrecorded, undeclared file",
        { isRecorded: false, wanted: null, doubts: [updateTo({ renderer: "vray" })] },
        ["settled update not_sent", "attached"],
      ],
      ["an unrecorded file", { isRecorded: false }, ["drift found file_format renderer"]],
      ["an unrecorded, undeclared file", { isRecorded: false, wanted: null }, []],
    ],
  },
  {
    name: "present with a different value",
    read: other,
    cells: [
      ["a recorded file", {}, ["drift changed renderer"]],
      ["a recorded, undeclared file", { wanted: null }, ["drift changed renderer"]],
      ["a recorded file whose attribute is not managed", { wanted: { file_format: "fbx" } }, ["rerecorded"]],
      ["an attach in doubt", { isRecorded: false, doubts: [attach] }, ["settled attach done", "attached"]],
      [
        "an update in doubt to the observed value",
        { doubts: [updateTo({ renderer: "vray" })] },
        ["rerecorded", "values_forgotten", "settled update done"],
      ],
      ["a detach in doubt", { doubts: [detach] }, ["rerecorded", "settled detach not_sent"]],
      ["an unrecorded file", { isRecorded: false }, ["drift found file_format renderer"]],
    ],
  },
  {
    name: "absent",
    read: absent,
    cells: [
      ["a recorded file", {}, ["drift gone"]],
      ["an attach in doubt, which stays in doubt", { isRecorded: false, doubts: [attach] }, ["refreshed"]],
      ["an attach in doubt of a recorded file", { doubts: [attach] }, ["refreshed"]],
      ["a detach in doubt", { doubts: [detach] }, ["detached", "settled detach done"]],
      [
        "an update in doubt of a file that was detached outside draftsync",
        { doubts: [updateTo({ renderer: "vray" })] },
        ["drift gone", "settled update not_sent"],
      ],
      [
        "a detach in doubt of an unrecorded file",
        { isRecorded: false, doubts: [detach] },
        ["settled detach done"],
      ],
      ["an unrecorded file", { isRecorded: false }, ["refreshed"]],
    ],
  },
  {
    name: "unreadable",
    read: unreadable,
    cells: [
      ["a recorded file", {}, ["refreshed", "unreadable"]],
      ["an attach in doubt", { isRecorded: false, doubts: [attach] }, ["refreshed", "unreadable"]],
      ["an update in doubt", { doubts: [updateTo({ renderer: "vray" })] }, ["refreshed", "unreadable"]],
      ["a detach in doubt", { doubts: [detach] }, ["refreshed", "unreadable"]],
      ["an unrecorded file", { isRecorded: false }, ["unreadable"]],
    ],
  },
])("a file that is $name", ({ read, cells }) => {
  test.each(cells)("gives the effects for %s", (_name, situation, expected) => {
    expect(summarize(driftOf(read, situation))).toEqual(expected);
  });
});

describe("settle delay", () => {
  const lost = (finishedAt?: number) => ({
    ...updateTo({ renderer: "vray" }),
    startedAt: 1000,
    ...(finishedAt === undefined ? {} : { finishedAt }),
  });

  test.each([
    { name: "before settle_delay", doubts: [lost()], when: 1999, settled: false },
    { name: "after settle_delay", doubts: [lost()], when: 2000, settled: true },
    // The operation was retried until it finished, so the delay counts from its last request.
    { name: "before settle_delay since its end", doubts: [lost(1500)], when: 2499, settled: false },
    { name: "after settle_delay since its end", doubts: [lost(1500)], when: 2500, settled: true },
    {
      name: "next to a recent operation",
      doubts: [lost(), { ...detach, startedAt: 4500 }],
      when: 5000,
      settled: false,
    },
    // The file may have been attached before, and the lost call may still change it.
    {
      name: "of a file that is attached",
      doubts: [{ ...attach, startedAt: 4999 }],
      when: 5000,
      settled: false,
    },
  ])("settles an operation $name: $settled", ({ doubts, when, settled }) => {
    const found = driftOf(other, { doubts, when });
    expect(found.confirmations.some(({ type }) => type === "settled")).toBe(settled);
    if (!settled) expect(summarize(found)).toEqual(["refreshed"]);
  });
});

describe("a response without attributes", () => {
  const silent = present({});

  test("confirms the file and keeps its recorded attributes", () => {
    expect(driftOf(silent).confirmations).toEqual([
      { type: "rerecorded", attachment: { ...record, provenance: { by: "probe", at } } },
    ]);
  });

  test.each([
    { name: "no attribute", returned: {} },
    { name: "a different attribute", returned: { file_format: "fbx" } },
  ])("does not settle an update when it has $name", ({ returned }) => {
    const found = driftOf(present(returned), { doubts: [updateTo({ renderer: "vray" })] });
    expect(summarize(found)).toEqual(["refreshed"]);
  });

  test("settles a detach, and an attach with unknown attributes", () => {
    expect(summarize(driftOf(silent, { doubts: [detach] }))).toEqual([
      "rerecorded",
      "settled detach not_sent",
    ]);
    const { confirmations } = driftOf(silent, { isRecorded: false, doubts: [attach] });
    expect(confirmations.at(-1)).toMatchObject({ type: "attached", attachment: { attributes: {} } });
  });

  test("leaves an attach to apply, which sets its values, when the answer has none", () => {
    const sent = { ...attach, intent: { ...attach.intent, attributes: { renderer: "vray" } } };
    expect(summarize(driftOf(silent, { isRecorded: false, doubts: [sent] }))).toEqual(["refreshed"]);
  });

  test("leaves the attributes of a found file unknown, so that all are sent", () => {
    const [drift] = driftOf(silent, { isRecorded: false }).drift;
    expect(drift).toMatchObject({ type: "found", attributes: [], after: { file_id: 7 } });
  });
});

describe("drift", () => {
  test("has the recorded and the observed values, with the provenance of each", () => {
    const { drift } = driftOf(present({ renderer: "vray", renderer_version: "6" }));
    expect(drift).toEqual([
      {
        address,
        type: "changed",
        before: { file_id: 7, file_format: "fbx", renderer: "arnold" },
        after: { file_id: 7, file_format: "fbx", renderer: "vray", renderer_version: "6" },
        attributes: ["renderer"],
        confirmed: { by: "post", at: "1970-01-01T00:00:00.010Z" },
        observed_at: "1970-01-01T00:00:05.000Z",
      },
    ]);
  });

  test("excludes an attribute that was not recorded, and records it", () => {
    const { drift, confirmations } = driftOf(
      present({ renderer: "arnold", file_format: "fbx", is_native: true }),
      { wanted: { is_native: false } },
    );
    expect(drift).toEqual([]);
    expect(confirmations).toMatchObject([{ attachment: { attributes: { is_native: true } } }]);
  });

  test("excludes an attribute of the other list", () => {
    expect(summarize(driftOf(present({ description: "?" })))).toEqual(["rerecorded"]);
  });

  test("excludes an unmanaged attribute, and records its value and provenance", () => {
    const { confirmations } = driftOf(other, { wanted: { file_format: "fbx" } });
    expect(confirmations).toMatchObject([
      {
        type: "rerecorded",
        attachment: { attributes: { file_format: "fbx", renderer: "vray" }, provenance: { by: "probe", at } },
      },
    ]);
  });

  test("is sorted by address for any order of observations", () => {
    const recorded = recordedWith({
      attachments: [recordedFile(1, 1), recordedFile(1, 2)],
      publications: [publicationAt(1, 12, 0), { ...publicationAt(1, 9, 0), revision: 2 }],
    });
    const product = (productId: number): Observation => ({
      type: "product",
      address: "drafts/1/product",
      productId,
      at,
      read: absent,
    });
    const observations = [product(12), observationOf(absent, 2), product(9), observationOf(absent, 1)];
    const input: DetectDriftInput = { observations, desired: desiredWith(), recorded, settleDelayMs };
    const { drift } = detectDrift(input);
    expect(drift.map((item) => [item.address, Object.values(item.before ?? {})[0]])).toEqual([
      ["drafts/1/product", 9],
      ["drafts/1/product", 12],
      ["drafts/1/product_files/1", 1],
      ["drafts/1/product_files/2", 2],
    ]);
    expect(detectDrift({ ...input, observations: [...observations].reverse() }).drift).toEqual(drift);
  });
});

test("sorts two files at one address the same for any order of observations", () => {
  const previous = recordedFile(1, 7, { address: "drafts/1/product_files/source:a", sha256: "s1" });
  const wanted = wantedSource(1, "a", "s2", { renderer: "arnold" });
  const observed = (fileId: number, value: Attributes): Observation => ({
    type: "attachment",
    address: previous.address,
    target: { draftId: 1, kind: "product_files", fileId },
    at,
    read: present(value),
  });
  const observations = [observed(8, {}), observed(7, { renderer: "vray" })];
  const input = {
    desired: desiredWith({ drafts: [draftWith(1, { attachments: [wanted] })] }),
    recorded: recordedWith({ attachments: [{ ...previous, attributes: { renderer: "arnold" } }] }),
    settleDelayMs,
  };
  for (const order of [observations, [...observations].reverse()]) {
    const { drift } = detectDrift({ ...input, observations: order });
    expect(drift.map(({ type }) => type)).toEqual(["changed", "found"]);
  }
});

test("treats trimmed texts and changed line breaks as no drift, and keeps the sent value", () => {
  const sent = { renderer: "arnold\n5 ", file_format: "fbx" };
  const { drift, confirmations } = detectDrift({
    observations: [observationOf(present({ renderer: " arnold\r\n5", file_format: "fbx" }))],
    desired: desiredWith({ drafts: [draftWith(1, { attachments: [wantedFile(1, 7, sent)] })] }),
    recorded: recordedWith({ attachments: [{ ...record, attributes: sent }] }),
    settleDelayMs,
  });
  expect(drift).toEqual([]);
  expect(confirmations).toMatchObject([{ type: "rerecorded", attachment: { attributes: sent } }]);
});

test.each([
  { what: "is reported at its own", replaces: {}, found: [{ type: "changed", address }] },
  { what: "is no drift when that replaces it", replaces: { replaces: 7 }, found: [] },
])("a changed file whose address a settled attachment takes $what", ({ replaces, found }) => {
  const source = wantedSource(1, "a.glb", "content", { renderer: "arnold" });
  const place = "drafts/1/product_files/source:a.glb";
  const doubt = doubtOf("attach", [1, 8], {
    address: place,
    intent: { ...attach.intent, fileId: 8, ...replaces },
  });
  const { drift, confirmations } = detectDrift({
    observations: [observationOf(present({ renderer: "vray" })), observationOf(present({}), 8)],
    desired: desiredWith({ drafts: [draftWith(1, { attachments: [source] })] }),
    recorded: recordedWith({ attachments: [{ ...record, address: place }], inDoubt: [doubt] }),
    settleDelayMs,
  });
  expect(drift).toMatchObject(found);
  expect(drift).toHaveLength(found.length);
  expect(confirmations).toContainEqual(expect.objectContaining({ type: "attached", ...replaces }));
});

test("a file that is confirmed at its address gives it up to a settled attachment afterwards", () => {
  const place = "drafts/1/product_files/source:a.glb";
  const found = doubtOf("attach", [1, 6], { address: place, intent: { ...attach.intent, fileId: 6 } });
  const { confirmations } = detectDrift({
    observations: [observationOf(present({}), 6), observationOf(present({}))],
    desired: desiredWith({ drafts: [draftWith(1)] }),
    recorded: recordedWith({ attachments: [{ ...record, address: place }], inDoubt: [found] }),
    settleDelayMs,
  });
  expect(confirmations).toMatchObject([
    { type: "settled" },
    { type: "rerecorded", attachment: { address: place, fileId: 7 } },
    { type: "attached", attachment: { address: place, fileId: 6 } },
  ]);
});

test.each([
  ["all that a person said was read", { renderer: "vray", file_format: "fbx" }, "probe"],
  ["a part of it was not", { renderer: "vray" }, "operator"],
])("a file is known by a check once %s, and shows no drift", (_what, returned, by) => {
  const known = { ...record, provenance: { by: "operator", at: 0 } } as const;
  const { drift, confirmations } = driftOf(present(returned), { known });
  expect(drift).toEqual([]);
  const attributes = { renderer: "vray", file_format: "fbx" };
  expect(confirmations).toMatchObject([{ attachment: { attributes, provenance: { by } } }]);
});

test("another value of the old file of a replacement is no drift, and its mark stays", () => {
  const { drift, confirmations } = detectDrift({
    observations: [observationOf(present({ renderer: "vray" }))],
    desired: desiredWith({ drafts: [draftWith(1)] }),
    recorded: recordedWith({ attachments: [{ ...record, replacedBy: 8 }] }),
    settleDelayMs,
  });
  expect(drift).toEqual([]);
  expect(confirmations).toMatchObject([
    { type: "rerecorded", attachment: { replacedBy: 8, attributes: { renderer: "vray" } } },
  ]);
});
