import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { newOperationId } from "../../../src/apply/context.ts";
import { OutcomesNotRecordedError, runOperation } from "../../../src/apply/operation.ts";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import { DraftsyncError } from "../../../src/model/errors.ts";
import type { CallResult } from "../../../src/model/outcome.ts";
import type { WriteOptions } from "../../../src/model/ports.ts";
import { systemClock } from "../../../src/model/ports.ts";
import type { UnrecordedOutcome } from "../../../src/model/recovery.ts";
import { wait } from "../../../src/model/wait.ts";
import { formatError } from "../../../src/report/diagnostic-text.ts";
import { makePalette } from "../../../src/report/palette.ts";
import { attached, lostResponse, sampleRun } from "../ledger/ledger-values.ts";
import { freshFolder } from "../ledger/samples.ts";

let ledger: StateStore;
/** The calls of the tracker, in order. */
const reported: (UnrecordedOutcome | "released" | "kept")[] = [];
const tracker = {
  track: (outcome: UnrecordedOutcome) => {
    reported.push(outcome);
    return {
      release: () => void reported.push("released"),
      save: () => {
        reported.push("kept");
        return undefined;
      },
    };
  },
};

beforeEach(async () => {
  reported.length = 0;
  ledger = await openLedger({ location: join(freshFolder(), "state.db"), clock: systemClock });
  await ledger.startRun(sampleRun);
});
afterEach(() => ledger.close());

const request = { method: "POST", path: "/api/drafts/7/product_files" };

const run = <T>(
  result: CallResult<T>,
  sent: ((options: WriteOptions) => Promise<void>) | boolean = true,
  beforehand: () => void = () => {},
) =>
  runOperation(
    {
      ledger,
      bind: async () => {},
      outcomes: tracker,
      runId: sampleRun.id,
      signal: new AbortController().signal,
    },
    {
      address: "drafts/7/product_files/1",
      kind: "attach",
      intent: { draftId: 7, fileKind: "product_files", fileId: 1 },
      call: async (options) => {
        beforehand();
        if (sent !== false) await options.beforeSend(request);
        if (typeof sent === "function") await sent(options);
        return result;
      },
      effects: ({ outcome }) => (outcome === "done" ? [attached(1)] : []),
    },
  );

describe("runOperation", () => {
  test("neither records nor tracks a call that was not sent", async () => {
    const result = {
      outcome: "not_sent",
      attempts: 1,
      failure: lostResponse,
    } as const;
    expect(await run(result, false)).toEqual({ ...result, operationId: expect.any(String) });
    expect([await ledger.operations(), reported]).toEqual([[], []]);
  });

  test("records a refusal before the call is sent again, and reopens the operation then", async () => {
    const result = { outcome: "done", status: 201, attempts: 2, value: { fileId: 1 } } as const;
    const failure = { ...lostResponse, status: 429 };
    await run(result, async ({ beforeSend, onRefused }) => {
      const [before] = await ledger.operations();
      await onRefused?.({ outcome: "rejected", attempts: 1, failure });
      expect(await ledger.operations()).toMatchObject([{ outcome: "rejected", status: 429 }]);
      await wait(5);
      await beforeSend(request);
      const [again] = await ledger.operations();
      expect(again).not.toHaveProperty("outcome");
      expect(again?.startedAt).toBeGreaterThan(before?.startedAt ?? 0);
      expect((await ledger.load()).inDoubt).toHaveLength(1);
    });
    expect(await ledger.operations()).toMatchObject([{ outcome: "done", status: 201, attempts: 2 }]);
    const refused = { outcome: "rejected", attempts: 1, failure } as const;
    await run(refused, async ({ onRefused }) => onRefused?.(refused));
    expect((await ledger.load()).inDoubt).toEqual([]);
  });

  test("tracks the outcome until the ledger has recorded it", async () => {
    await run({ outcome: "done", status: 201, attempts: 2, value: { fileId: 1 } });
    expect(await ledger.operations()).toMatchObject([
      { kind: "attach", outcome: "done", status: 201, attempts: 2 },
    ]);
    const operation = expect.objectContaining({ kind: "attach", method: "POST" });
    const result = { outcome: "done", status: 201, attempts: 2 };
    expect(reported).toEqual([{ operation, result, effects: [attached(1)] }, "released"]);
  });

  test.each([
    ["with a status", { ...lostResponse, status: 504 }, 504],
    ["without a status", lostResponse, undefined],
  ])("records a failure %s", async (_with, failure, status) => {
    await run({ outcome: "unknown", attempts: 1, failure });
    const [operation] = await ledger.operations();
    expect([operation?.outcome, operation?.status, operation?.failure]).toEqual(["unknown", status, failure]);
    expect(reported[0]).toHaveProperty("result.failure", failure);
    expect("status" in (reported[0] as UnrecordedOutcome).result).toBe(status !== undefined);
  });

  test.each([
    [{ productId: 771 }, { productId: 771 }],
    [{ productId: "771" }, {}],
    [{ fileId: 1 }, {}],
    [null, {}],
    [undefined, {}],
  ])(
    "saves an outcome with value %j that the ledger fails to record, with product %j",
    async (value, product) => {
      const lost = run({ outcome: "done", status: 201, attempts: 1, value }, () => ledger.close());
      const error = await lost.catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(OutcomesNotRecordedError);
      const { operation, result, effects, ...rest } = (error as OutcomesNotRecordedError).outcomes[0] ?? {};
      expect([operation?.kind, result?.outcome, effects, rest]).toEqual([
        "attach",
        "done",
        [attached(1)],
        product,
      ]);
      expect(reported.slice(1)).toEqual(["kept"]);
    },
  );
});

const lost = (draft: number, kind: "attach" | "publish") => ({
  operation: {
    id: `id-${draft}`,
    runId: "r",
    address: kind === "publish" ? `drafts/${draft}/product` : `drafts/${draft}/product_files/1`,
    kind,
    method: "POST",
    path: kind === "publish" ? "/api/products" : `/api/drafts/${draft}/product_files`,
    intent: { draftId: draft },
  },
  result: { outcome: "done", attempts: 1 } as const,
  effects: [],
  path: "/w/.draftsync/state.db.recovery.ndjson",
  ...(kind === "publish" ? { productId: 900 + draft } : {}),
});

test("lists a few unrecorded outcomes, irreversible ones first, and names their file", () => {
  const outcomes = Array.from({ length: 22 }, (_none, at) => lost(at + 1, at === 20 ? "publish" : "attach"));
  const cause = new DraftsyncError("The disk of the ledger is full.", { code: "ledger-disk-full" });
  const text = formatError(new OutcomesNotRecordedError(outcomes, cause), makePalette(false));
  expect(
    text.split("\n").slice(0, -1).join("\n"),
  ).toBe(`error: The disk of the ledger is full. 22 outcomes could not be recorded.  [outcome-not-recorded]
  POST /api/products for drafts/21/product: done, product 921
  POST /api/drafts/1/product_files for drafts/1/product_files/1: done
  POST /api/drafts/2/product_files for drafts/2/product_files/1: done
  POST /api/drafts/3/product_files for drafts/3/product_files/1: done
  POST /api/drafts/4/product_files for drafts/4/product_files/1: done
  and 17 more
  saved in /w/.draftsync/state.db.recovery.ndjson`);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(130);
});

test("makes unique operation ids: UUIDs of version 7 that begin with the time", () => {
  const before = Date.now();
  const ids = Array.from({ length: 1000 }, newOperationId);
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const at = Number.parseInt(id.slice(0, 13).replace("-", ""), 16);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  }
});

test("an id begins with the time at which the call is sent, however long it has waited for that", async () => {
  const late = Date.now() + 7_200_000;
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const lost = { outcome: "unknown", attempts: 1, failure: lostResponse } as const;
    const result = await run(lost, true, () => vi.setSystemTime(late));
    expect((await ledger.lostWrites(late - 1_000)).map(({ id }) => id)).toEqual([
      result.outcome === "done" ? "" : result.operationId,
    ]);
  } finally {
    vi.useRealTimers();
  }
});
