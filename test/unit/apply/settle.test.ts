import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { settleDoubt } from "../../../src/apply/attachment-change.ts";
import type { SettleContext, UnsettledAttachment } from "../../../src/apply/settle.ts";
import { settleAttachment } from "../../../src/apply/settle.ts";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import type { CallFailure, CallResult } from "../../../src/model/outcome.ts";
import { systemClock, type WriteOptions } from "../../../src/model/ports.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import { forgetfulTracker } from "../../support/tracker.ts";
import { attached, attachOperation, lostResponse, sampleRun } from "../ledger/ledger-values.ts";
import { freshFolder } from "../ledger/samples.ts";

/** Much longer than the delay after a lost call. */
const callMs = 60_000;
const settleDelayMs = 3;

const operation = attachOperation("op-1");
const target = { draftId: 7, kind: "product_files", fileId: 1 } as const;
const signal = new AbortController().signal;

let ledger: StateStore;
/** Calls, and the waits between them. Time passes in calls only. */
let course: string[];
let now: number;

beforeEach(async () => {
  ledger = await openLedger({ location: join(freshFolder(), "state.db"), clock: systemClock });
  await ledger.startRun(sampleRun);
  course = [];
  now = 1_000_000;
});
afterEach(() => ledger.close());

/** A run whose calls fail: attachments with these failures in turn, updates because nothing is attached. */
function runWith(ofAttachments: readonly CallFailure[]): SettleContext {
  const left = [...ofAttachments];
  const call = async (method: string, failure: CallFailure, { beforeSend }: WriteOptions) => {
    await beforeSend({ method, path: operation.path });
    course.push(method);
    now += callMs;
    const outcome = failure.code === "not-attached" ? "rejected" : "unknown";
    return { outcome, failure, attempts: 1 } satisfies CallResult<Attributes>;
  };
  return {
    runId: sampleRun.id,
    startedAt: now,
    ledger,
    bind: async () => {},
    outcomes: forgetfulTracker,
    signal,
    clock: { now: () => 1_700_000_000_000, monotonic: () => now },
    emit: (event) => void (event.type === "waiting" && course.push(`wait ${event.ms}`)),
    settleDelayMs,
    whileIdle: (work) => work(),
    service: {
      attach: (_target, _attributes, options) => call("POST", left.shift() ?? lostResponse, options),
      update: (_target, _attributes, options) =>
        call("PATCH", { ...lostResponse, code: "not-attached" }, options),
    },
  };
}

const conflict: CallFailure = { ...lostResponse, code: "conflict" };

/** An attachment that has just ended with this failure, also in the ledger. */
async function justEnded(
  failure: CallFailure,
  outcome: "unknown" | "rejected" = "unknown",
): Promise<UnsettledAttachment> {
  await ledger.begin(operation);
  await ledger.finish(operation.id, { outcome, attempts: 1, failure }, []);
  return {
    address: operation.address,
    target,
    attributes: {},
    intent: operation.intent,
    effect: () => attached(1),
    first: { outcome, attempts: 1, failure, operationId: operation.id },
    signal,
  };
}

describe("settling an attachment", () => {
  test("checks again one delay after the response to the first check, even when that is slow", async () => {
    const end = await settleAttachment(runWith([]), await justEnded(lostResponse));
    expect(course).toEqual(["wait 3", "PATCH", "wait 3", "PATCH", "POST"]);
    expect(end.outcome).toBe("unknown");
  });

  /** Settles the attachment of {@link justEnded} in a later run. */
  const settleLater = (stop: AbortSignal) =>
    settleDoubt(runWith([]), {
      replaces: undefined,
      budget: undefined,
      known: undefined,
      change: {
        address: operation.address,
        action: "in_doubt",
        reason: "outcome_unknown",
        before: {
          operation_id: operation.id,
          kind: "attach",
          method: "POST",
          path: operation.path,
          since: "2020-01-01T00:00:00.000Z",
          detail: "",
        },
        after: null,
        attributes: [],
      },
      after: { file_id: 1 },
      signal: stop,
    });

  test("gives the commands that settle a call that is still in doubt", async () => {
    await justEnded(lostResponse);
    expect(await settleLater(AbortSignal.abort())).toMatchObject({
      failure: {
        code: "still-in-doubt",
        hint: expect.stringMatching(/^Run the command again: .*draftsync resolve ADDRESS --done/),
      },
    });
  });

  test("waits one delay from the start of this run to settle a call of an earlier run", async () => {
    await justEnded(lostResponse);
    await settleLater(signal);
    expect(course.slice(0, 4)).toEqual(["wait 3", "PATCH", "wait 3", "PATCH"]);
  });

  test("checks a conflict immediately, and again before it counts as refused", async () => {
    const end = await settleAttachment(runWith([]), await justEnded(conflict));
    expect(course).toEqual(["PATCH", "wait 3", "PATCH"]);
    const hint =
      "The file is not in this list. If the other list of the draft has it, detach it there first: if the plan deletes it, `draftsync apply --target` with that address. Then run the command again.";
    expect(end).toMatchObject({ outcome: "rejected", failure: { hint } });
    expect((await ledger.load()).inDoubt).toEqual([]);
  });

  test("settles a conflict with a lost call that arrived late", async () => {
    const end = await settleAttachment(runWith([conflict]), await justEnded(lostResponse));
    expect(course.slice(4)).toEqual(["POST", "PATCH", "wait 3", "PATCH"]);
    expect(end.outcome).toBe("rejected");
    expect((await ledger.load()).inDoubt).toEqual([]);
  });

  test.each([
    ["rejected", "bad-request"],
    ["not_sent", "aborted"],
  ] as const)("does not check a call that ended %s with %s", async (outcome, code) => {
    const doubt = await justEnded(lostResponse);
    const first = { ...doubt.first, outcome, failure: { ...lostResponse, code } };
    expect(await settleAttachment(runWith([]), { ...doubt, first })).toEqual(first);
    expect(course).toEqual([]);
  });

  test.each([
    ["aborted", "draft"],
    ["connection-refused", "run"],
  ] as const)(
    "leaves a 422 in doubt whose check was not sent (%s), which stops the %s",
    async (code, stops) => {
      const doubt = await justEnded({ ...lostResponse, code: "invalid", status: 422 }, "rejected");
      const failure = { ...lostResponse, code, stops: "run" } as const;
      const context = runWith([]);
      const update = async () => ({ outcome: "not_sent", failure, attempts: 0 }) as const;
      const service = { ...context.service, update };
      const end = await settleAttachment({ ...context, service }, doubt);
      expect(end).toMatchObject({ outcome: "unknown", failure: { code, status: 422, stops } });
    },
  );
});
