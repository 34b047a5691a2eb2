import { describe, expect, test } from "vitest";
import type { Observation, ReadResult } from "../../../src/model/observed.ts";
import type { RecordedOperation } from "../../../src/model/recorded.ts";
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
/** Long enough after operations that began at 0. */
const at = 5000;
const address = "drafts/1/product_files/7";

const unreadable = { type: "unreadable", failure } as const;
const absent = { type: "absent" } as const;
const present = (value: Attributes): ReadResult<Attributes> => ({ type: "present", value });

function sightingOf(read: ReadResult<Attributes>, fileId = 7, when = at): Observation {
  const target = { draftId: 1, kind: "product_files", fileId } as const;
  return { type: "attachment", address: `drafts/1/product_files/${fileId}`, target, at: when, read };
}

const record = recordedFile(1, 7, {
  attributes: { renderer: "arnold", file_format: "fbx" },
  provenance: { by: "post", at: 10 },
});

interface Situation {
  readonly isRecorded?: boolean;
  readonly doubts?: readonly RecordedOperation[];
  /** What a manifest asks of the file; `null`: it is in none. */
  readonly wanted?: Attributes | null;
  readonly when?: number;
}

function driftOf(
  read: ReadResult<Attributes>,
  { isRecorded = true, doubts = [], wanted = { renderer: "arnold" }, when = at }: Situation = {},
) {
  const attachments = wanted === null ? [] : [wantedFile(1, 7, wanted)];
  return detectDrift({
    observations: [sightingOf(read, 7, when)],
    desired: desiredWith({ drafts: [draftWith(1, { attachments })] }),
    recorded: recordedWith({ attachments: isRecorded ? [record] : [], inDoubt: doubts }),
    settleDelayMs,
  });
}

const attach = doubtOf("attach", [1, 7], { id: "attach" });
const update = doubtOf("update", [1, 7], { id: "update" });
const updateTo = (attributes: Attributes) => ({
  ...update,
  intent: { ...update.intent, attributes },
});
const detach = doubtOf("detach", [1, 7], { id: "detach" });
const same = present({ renderer: "arnold", file_format: "fbx" });
const other = present({ renderer: "vray", file_format: "fbx" });

describe.each<{ name: string; read: ReadResult<Attributes>; cells: [string, Situation, string[]][] }>([
  {
    name: "present, as recorded",
    read: same,
    cells: [
      ["recorded", {}, ["rerecorded"]],
      [
        "an attachment in doubt",
        { isRecorded: false, doubts: [attach] },
        ["attached", "settled attach done"],
      ],
      [
        "an update in doubt that was to give this value",
        { doubts: [updateTo({ renderer: "arnold" })] },
        ["rerecorded", "settled update done"],
      ],
      [
        "an update in doubt that was to give another value",
        { doubts: [updateTo({ renderer: "vray" })] },
        ["rerecorded", "settled update not_sent"],
      ],
      ["a detachment in doubt", { doubts: [detach] }, ["rerecorded", "settled detach not_sent"]],
      ["neither", { isRecorded: false }, ["drift found file_format renderer"]],
      ["neither, and in no manifest", { isRecorded: false, wanted: null }, []],
    ],
  },
  {
    name: "present, a managed attribute differs",
    read: other,
    cells: [
      ["recorded", {}, ["drift changed renderer", "refreshed"]],
      ["recorded, and in no manifest", { wanted: null }, ["drift changed renderer", "refreshed"]],
      ["recorded, and not managed", { wanted: { file_format: "fbx" } }, ["rerecorded"]],
      [
        "an attachment in doubt",
        { isRecorded: false, doubts: [attach] },
        ["attached", "settled attach done"],
      ],
      [
        "an update in doubt that was to give this value",
        { doubts: [updateTo({ renderer: "vray" })] },
        ["rerecorded", "settled update done"],
      ],
      ["a detachment in doubt", { doubts: [detach] }, ["rerecorded", "settled detach not_sent"]],
      ["neither", { isRecorded: false }, ["drift found file_format renderer"]],
    ],
  },
  {
    name: "absent",
    read: absent,
    cells: [
      ["recorded", {}, ["drift gone", "refreshed"]],
      ["an attachment in doubt, which proves nothing", { isRecorded: false, doubts: [attach] }, []],
      ["an attachment in doubt of a recorded file", { doubts: [attach] }, ["refreshed"]],
      ["a detachment in doubt", { doubts: [detach] }, ["detached", "settled detach done"]],
      [
        "an update in doubt of a file that was detached outside draftsync",
        { doubts: [updateTo({ renderer: "vray" })] },
        ["drift gone", "settled update not_sent"],
      ],
      [
        "a detachment of what is not recorded",
        { isRecorded: false, doubts: [detach] },
        ["settled detach done"],
      ],
      ["neither", { isRecorded: false }, []],
    ],
  },
  {
    name: "unreadable",
    read: unreadable,
    cells: [
      ["recorded", {}, ["refreshed", "unreadable"]],
      ["an attachment in doubt", { isRecorded: false, doubts: [attach] }, ["unreadable"]],
      ["an update in doubt", { doubts: [updateTo({ renderer: "vray" })] }, ["refreshed", "unreadable"]],
      ["a detachment in doubt", { doubts: [detach] }, ["refreshed", "unreadable"]],
      ["neither", { isRecorded: false }, ["unreadable"]],
    ],
  },
])("what is $name", ({ read, cells }) => {
  test.each(cells)("%s", (_name, situation, expected) => {
    expect(summarize(driftOf(read, situation))).toEqual(expected);
  });
});

describe("a lost call that may still take effect", () => {
  const lost = (finishedAt?: number) => ({
    ...updateTo({ renderer: "vray" }),
    startedAt: 1000,
    ...(finishedAt === undefined ? {} : { finishedAt }),
  });

  test.each([
    { name: "before settle_delay", doubts: [lost()], when: 1999, settled: false },
    { name: "after settle_delay", doubts: [lost()], when: 2000, settled: true },
    // It was sent again and again until it ended: its last request is the one that counts.
    {
      name: "after settle_delay, and before that of its end",
      doubts: [lost(1500)],
      when: 2499,
      settled: false,
    },
    { name: "after settle_delay since its end", doubts: [lost(1500)], when: 2500, settled: true },
    {
      name: "with another that is not old enough",
      doubts: [lost(), { ...detach, startedAt: 4500 }],
      when: 5000,
      settled: false,
    },
    // That the file is there is proof enough.
    { name: "an attachment at once", doubts: [{ ...attach, startedAt: 4999 }], when: 5000, settled: true },
  ])("$name: settled $settled", ({ doubts, when, settled }) => {
    const found = driftOf(other, { doubts, when });
    expect(found.confirmations.some(({ type }) => type === "settled")).toBe(settled);
    if (!settled) expect(summarize(found)).toEqual(["refreshed"]);
  });
});

describe("an answer that reports no attribute", () => {
  const silent = present({});

  test("confirms that the file is there, and keeps what is known of it", () => {
    expect(driftOf(silent).confirmations).toEqual([
      { type: "rerecorded", attachment: { ...record, provenance: { by: "probe", at } } },
    ]);
  });

  test.each([
    { name: "nothing", returned: {} },
    { name: "another attribute", returned: { file_format: "fbx" } },
  ])("does not settle an update: returned is $name", ({ returned }) => {
    const found = driftOf(present(returned), { doubts: [updateTo({ renderer: "vray" })] });
    expect(summarize(found)).toEqual(["refreshed"]);
  });

  test("settles a detachment, and an attachment whose attributes are unknown then", () => {
    expect(summarize(driftOf(silent, { doubts: [detach] }))).toEqual([
      "rerecorded",
      "settled detach not_sent",
    ]);
    const { confirmations } = driftOf(silent, { isRecorded: false, doubts: [attach] });
    expect(confirmations[0]).toMatchObject({ type: "attached", attachment: { attributes: {} } });
  });

  test("of a file that was found leaves its attributes unknown, so that all are sent", () => {
    const [drift] = driftOf(silent, { isRecorded: false }).drift;
    expect(drift).toMatchObject({ type: "found", attributes: [], after: { file_id: 7 } });
  });
});

describe("drift", () => {
  test("reports what was recorded, what was seen, and how and when each is known", () => {
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

  test("is no attribute that the ledger does not know: it is noted", () => {
    const { drift, confirmations } = driftOf(
      present({ renderer: "arnold", file_format: "fbx", is_native: true }),
      { wanted: { is_native: false } },
    );
    expect(drift).toEqual([]);
    expect(confirmations).toMatchObject([{ attachment: { attributes: { is_native: true } } }]);
  });

  test("is no attribute of the other collection", () => {
    expect(summarize(driftOf(present({ description: "?" })))).toEqual(["rerecorded"]);
  });

  test("notes an unmanaged attribute with its new value, and its provenance", () => {
    const { confirmations } = driftOf(other, { wanted: { file_format: "fbx" } });
    expect(confirmations).toMatchObject([
      {
        type: "rerecorded",
        attachment: {
          attributes: { file_format: "fbx", renderer: "vray" },
          provenance: { by: "probe", at },
        },
      },
    ]);
  });

  test("is in the order of the addresses, whatever was seen first", () => {
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
    const observations = [product(12), sightingOf(absent, 2), product(9), sightingOf(absent, 1)];
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

test("two files at one address are returned in the same order, whichever was seen first", () => {
  const former = recordedFile(1, 7, { address: "drafts/1/product_files/source:a", sha256: "s1" });
  const wanted = wantedSource(1, "a", "s2", { renderer: "arnold" });
  const seen = (fileId: number, value: Attributes): Observation => ({
    type: "attachment",
    address: former.address,
    target: { draftId: 1, kind: "product_files", fileId },
    at,
    read: present(value),
  });
  const observations = [seen(8, {}), seen(7, { renderer: "vray" })];
  const input = {
    desired: desiredWith({ drafts: [draftWith(1, { attachments: [wanted] })] }),
    recorded: recordedWith({ attachments: [{ ...former, attributes: { renderer: "arnold" } }] }),
    settleDelayMs,
  };
  for (const order of [observations, [...observations].reverse()]) {
    const { drift } = detectDrift({ ...input, observations: order });
    expect(drift.map(({ type }) => type)).toEqual(["changed", "found"]);
  }
});

test("a text that the service trimmed, or whose line breaks it changed, is not drift and keeps the sent value", () => {
  const sent = { renderer: "arnold\n5 ", file_format: "fbx" };
  const { drift, confirmations } = detectDrift({
    observations: [sightingOf(present({ renderer: " arnold\r\n5", file_format: "fbx" }))],
    desired: desiredWith({ drafts: [draftWith(1, { attachments: [wantedFile(1, 7, sent)] })] }),
    recorded: recordedWith({ attachments: [{ ...record, attributes: sent }] }),
    settleDelayMs,
  });
  expect(drift).toEqual([]);
  expect(confirmations).toMatchObject([{ type: "rerecorded", attachment: { attributes: sent } }]);
});
