import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import {
  exportDocument,
  exportVersion,
  type LedgerExport,
  parseExport,
} from "../../../src/ledger/transfer.ts";
import { type LedgerEffect, systemClock } from "../../../src/model/ports.ts";
import { runs } from "../../support/runs.ts";
import { anyEffect } from "./ledger-arbitraries.ts";
import { attached, attachOperation, lostResponse, sampleRun } from "./ledger-values.ts";
import { databases, freshFolder, openForTest } from "./samples.ts";

const ways = databases.flatMap((from) =>
  databases.map((to) => ({ from, to, way: `${from.name} to ${to.name}` })),
);

const operation = fc.record({
  kind: fc.constantFrom("attach", "update", "detach", "publish", "duplicate", "upload"),
  fileId: fc.integer({ min: 1, max: 3 }),
  end: fc.constantFrom("none", "done", "rejected", "not_sent", "unknown", "settled"),
  text: fc.string({ unit: "binary" }),
});

const history = fc.record({
  origin: fc.option(fc.webUrl(), { nil: undefined }),
  effects: fc.array(anyEffect, { maxLength: 12 }),
  operations: fc.array(operation, { maxLength: 8 }),
  totals: fc.option(fc.jsonValue(), { nil: undefined }),
});

/** Applies a history to a ledger. */
async function live(ledger: StateStore, past: typeof history extends fc.Arbitrary<infer T> ? T : never) {
  if (past.origin !== undefined) await ledger.bind({ origin: past.origin, workspace: "w" });
  for (const effect of past.effects) await ledger.record([effect]).catch(() => {});
  await ledger.startRun(sampleRun);
  for (const [index, { kind, fileId, end, text }] of past.operations.entries()) {
    const id = `op-${index}`;
    const { intent, ...rest } = attachOperation(id, fileId);
    await ledger.begin({ ...rest, kind, intent: { ...intent, name: text } });
    if (end === "none") continue;
    const failure = { ...lostResponse, message: text };
    const outcome = end === "settled" ? "unknown" : end;
    await ledger.finish(id, { outcome, attempts: 1, ...(outcome === "done" ? {} : { failure }) }, []);
    // A superseded operation is no longer in doubt.
    if (end === "settled")
      await ledger.record([{ type: "settled", operationId: id, outcome: "rejected" }]).catch(() => {});
  }
  if (past.totals !== undefined) await ledger.finishRun("run-1", { totals: past.totals, status: "done" });
}

const textOf = (exported: LedgerExport) => JSON.stringify(exportDocument(exported), null, 2);

test.each(ways)(
  "$way: copies every record, and the copy accepts changes",
  async ({ from, to }) => {
    await fc.assert(
      fc.asyncProperty(history, async (past) => {
        const source = await openLedger({ location: from.locate(), clock: systemClock });
        await live(source, past);
        const exported = await source.export();
        const recorded = await source.load();
        await source.close();
        const copy = await openLedger({ location: to.locate(), clock: systemClock });
        await copy.import(parseExport(textOf(exported), "export"));
        const lost = new Map((await copy.load()).inDoubt.map(({ id, finishedAt }) => [id, finishedAt]));
        const lose = (each: LedgerExport["operations"][number]) =>
          !("settled" in each) && (each.outcome ?? "unknown") === "unknown"
            ? { ...each, finishedAt: lost.get(each.id) ?? 0, outcome: "unknown" as const }
            : each;
        const operations = exported.operations.map(lose);
        const expected = parseExport(textOf({ ...exported, operations }), "export");
        expect(textOf(await copy.export())).toBe(textOf(expected));
        const inDoubt = recorded.inDoubt.map((each) => ({ ...each, finishedAt: lost.get(each.id) }));
        expect(await copy.load()).toEqual({ ...recorded, inDoubt });
        await copy.record([attached(9)]);
        expect((await copy.load()).serial).toBe(recorded.serial + 1);
        await copy.close();
      }),
      runs(3),
    );
  },
  60_000,
);

test.each(ways)("$way: copies more rows than fit in one statement", async ({ from, to }) => {
  const source = await openForTest(from.locate());
  await source.startRun(sampleRun);
  await source.record(Array.from({ length: 1_201 }, (_, index) => attached(index + 1)));
  const exported = await source.export();
  const copy = await openForTest(to.locate());
  await copy.import(exported);
  expect(await copy.export()).toEqual(exported);
});

describe.each(databases)("import into $name", ({ locate }) => {
  test("dates a call without an outcome as lost at the import", async () => {
    const source = await openForTest(locate());
    await source.startRun(sampleRun);
    await source.begin(attachOperation("op-1", 1));
    const copy = await openForTest(locate());
    const exported = await source.export();
    const before = await copy.now();
    await copy.import(exported);
    const [lost] = (await copy.load()).inDoubt;
    expect(lost?.finishedAt).toBeGreaterThanOrEqual(before);
    expect(lost?.finishedAt).toBeLessThanOrEqual(await copy.now());
  });

  test("dates lost calls as lost at the import, whatever clock has dated them", async () => {
    const location = join(freshFolder(), "state.db");
    const clocks = [-7_200_000, -3_600_000, 7_200_000];
    const runs = clocks.map((ms) => ({ ms, id: `run ${ms}` }));
    for (const { ms, id } of runs) {
      const source = await openForTest(location, { ...systemClock, now: () => Date.now() + ms });
      await source.startRun({ ...sampleRun, id });
      for (const attempts of [1, 2]) {
        // An id begins with the time, which may be long ago.
        const operation = { ...attachOperation(`0 ${ms} in doubt after ${attempts}`, attempts), runId: id };
        await source.begin(operation);
        await source.finish(operation.id, { outcome: "unknown", attempts }, []);
        await source.begin({ ...operation, id: `0 ${ms} done after ${attempts}` });
        await source.finish(`0 ${ms} done after ${attempts}`, { outcome: "done", attempts }, []);
      }
    }
    const copy = await openForTest(locate());
    const exported = await (await openForTest(location)).export();
    const before = await copy.now();
    await copy.import(exported);
    const after = await copy.now();
    const isLostNow = ({ finishedAt = 0 }) => finishedAt >= before && finishedAt <= after;
    const redated = (await copy.operations()).filter(isLostNow).map(({ id }) => id);
    const inDoubt = clocks.flatMap((ms) => [1, 2].map((attempts) => `0 ${ms} in doubt after ${attempts}`));
    expect(redated.sort()).toEqual([...inDoubt, "0 7200000 done after 2"].sort());
    const lost = await copy.lostWrites(before - 1000);
    expect(lost.map(({ id }) => id).sort()).toEqual(redated);
  });

  test("does not affect earlier changes of its group when it is refused", async () => {
    const ledger = await openForTest(locate());
    const exported = await (await openForTest(locate())).export();
    const [recorded, imported] = await Promise.allSettled([
      ledger.record([attached(1)]),
      ledger.import(exported),
    ]);
    expect(imported).toMatchObject({ reason: { code: "ledger-not-empty" } });
    expect(recorded.status).toBe("fulfilled");
    expect((await ledger.load()).attachments).toHaveLength(1);
  });

  const uses: readonly [string, (ledger: StateStore) => Promise<void>][] = [
    ["has a record", (ledger) => ledger.record([attached(1)])],
    ["had a record", (ledger) => ledger.record([{ type: "duplicate_forgotten", name: "d" }])],
    ["is bound to a service", (ledger) => ledger.bind({ origin: "https://a.example", workspace: "w" })],
    ["has a run", (ledger) => ledger.startRun(sampleRun)],
  ];
  test.each(uses)("is refused without a change when the ledger %s", async (_, use) => {
    const ledger = await openForTest(locate());
    const exported = await (await openForTest(locate())).export();
    await use(ledger);
    const before = await ledger.export();
    await expect(ledger.import(exported)).rejects.toMatchObject({
      code: "ledger-not-empty",
      hint: expect.stringContaining("--state"),
    });
    expect(await ledger.export()).toEqual(before);
  });

  test("is refused completely when it contradicts itself", async () => {
    const source = await openForTest(locate());
    await source.record([attached(1)]);
    const exported = await source.export();
    const ledger = await openForTest(locate());
    const before = await ledger.export();
    const twice = { ...exported, attachments: [...exported.attachments, ...exported.attachments] };
    await expect(ledger.import(twice)).rejects.toMatchObject({ code: "ledger-conflict" });
    const stray = exported.attachments.map((each) => ({ ...each, address: "drafts/8/product_files/1" }));
    await expect(ledger.import({ ...exported, attachments: stray })).rejects.toMatchObject({
      code: "ledger-invalid-value",
    });
    expect(await ledger.export()).toEqual(before);
  });
});

describe("export document", () => {
  const provenance = { by: "post", at: 1 } as const;
  const everyKind: readonly LedgerEffect[] = [
    { type: "published", draftId: 7, revision: 1, productId: 70, provenance },
    {
      type: "duplicated",
      name: "copy",
      from: { by: "draft", draftId: 7 },
      sourceProductId: 70,
      productId: 71,
      provenance,
    },
    { type: "upload_registered", uploadId: "u", uploadKey: "in/a", at: 1 },
    { type: "upload_ended", uploadId: "u", status: "success", fileId: 9 },
    { type: "maybe_published", draftId: 8, at: 6 },
    { type: "object_stored", uploadKey: "in/b", source: "b", sha256: "cd", size: 1, at: 1 },
    { type: "refreshed", resource: "products/70", at: 1 },
  ];
  const empty = {
    format_version: exportVersion,
    lineage: "l",
    serial: 0,
    service_origin: null,
    workspace: null,
    confirmed_at: 7,
    draft_titles: [{ draft_id: 7, title: "Sea Serpent" }],
    protected_drafts: [7],
    maybe_published: [{ draft_id: 8, at: 6 }],
    attachments: [],
    publications: [],
    duplicates: [],
    uploads: [],
    kept_values: [],
    stored_objects: [],
    refreshes: [],
    versions: [],
    operations: [],
    runs: [],
  };

  test("is read back unchanged", () => {
    expect(exportDocument(parseExport(JSON.stringify(empty), "x.json"))).toEqual(empty);
  });

  test("has only names in snake_case", async () => {
    const ledger = await openForTest(databases[0]?.locate() ?? "");
    await ledger.record([attached(1), ...everyKind]);
    await ledger.startRun(sampleRun);
    await ledger.begin(attachOperation("op-1"));
    await ledger.finish("op-1", { outcome: "unknown", attempts: 1, failure: lostResponse }, []);
    await ledger.record([{ type: "settled", operationId: "op-1", outcome: "done" }]);
    await ledger.finishRun(sampleRun.id, { totals: { done: 1 }, status: "done" });
    const text = JSON.stringify(exportDocument(await ledger.export()));
    expect(text.match(/"[a-z]+[A-Z]\w*":/g)).toBeNull();
    for (const name of ["source_product_id", "upload_key", "file_kind", "plan_id", "finished_at"])
      expect(text).toContain(`"${name}":`);
  });

  test.each([
    ["text that is not JSON", "{", /x\.json is not JSON/],
    ["a plan", '{"workspace":"w"}', /x\.json is not an export/],
    ["nothing", "null", /not an export/],
    [
      "a later format",
      JSON.stringify({ format_version: 999 }),
      /format version 999; this draftsync reads version \d+/,
    ],
    ["a missing member", JSON.stringify({ ...empty, runs: undefined }), /damaged at runs/],
    ["an unknown member", JSON.stringify({ ...empty, more: 1 }), /more/],
    [
      "an unknown member of a record",
      JSON.stringify({ ...empty, maybe_published: [{ draft_id: 8, at: 6, by: "me" }] }),
      /damaged at maybe_published\.0: .*by/,
    ],
    [
      "an invalid value of a record",
      JSON.stringify({ ...empty, runs: [{ id: "r", command: "apply", plan_id: "p", started_at: "now" }] }),
      /damaged at runs\.0\.started_at/,
    ],
    [
      "an invalid value",
      JSON.stringify({ ...empty, protected_drafts: [7, "8"] }),
      /damaged at protected_drafts\.1/,
    ],
  ])("is rejected: %s", (_, text, message) => {
    expect(() => parseExport(text, "x.json")).toThrow(
      expect.objectContaining({
        code: "ledger-import-invalid",
        message: expect.stringMatching(message),
        hint: expect.any(String),
      }),
    );
  });
});
