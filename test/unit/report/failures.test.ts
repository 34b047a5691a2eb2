import { expect, test } from "vitest";
import type { Event } from "../../../src/model/event.ts";
import { type CallFailure, causeOf } from "../../../src/model/outcome.ts";
import { follow, started, totals } from "./progress-support.ts";

const failureOf = (draft: number, changes: Partial<CallFailure> = {}): CallFailure => ({
  code: "invalid",
  message: `POST /api/drafts/${draft}/product_files: the service rejected the request as invalid (422)`,
  subject: `POST /api/drafts/${draft}/product_files`,
  hint: "Correct the values that the errors name.",
  errors: [{ id: `error-${draft}`, title: "Not valid" }],
  stops: "operation",
  ...changes,
});
const failed = (
  draft: number,
  failure = failureOf(draft),
  outcome: "rejected" | "unknown" = "rejected",
  name = "product_files/7",
): Event => ({
  type: "change_finished",
  at: 1,
  address: `drafts/${draft}/${name}`,
  action: "create",
  outcome,
  ms: 1,
  failure,
});
const finished = (failures: number): Event => ({
  type: "run_finished",
  at: 2,
  run_id: "r",
  totals: { ...totals, failed: failures },
  ms: 3,
});

test("shows 300 failures of one cause as one message with a count", () => {
  const { emit, log, entries } = follow({ isLive: false });
  emit(started);
  for (let draft = 1; draft <= 300; draft += 1) emit(failed(draft));
  emit(finished(300));
  expect(log().split("\n\n")[0]).toBe(`error: the service rejected the request as invalid (422)  [invalid]
  service: Not valid
  300 changes failed:
    drafts/1/product_files/7
    drafts/2/product_files/7
    drafts/3/product_files/7
    drafts/4/product_files/7
    drafts/5/product_files/7
    and 295 more; --verbose lists them
  hint: Correct the values that the errors name.`);
  expect(entries.find(({ level }) => level === "error")).toMatchObject({
    code: "invalid",
    message: "the service rejected the request as invalid (422)",
    facts: { outcome: "failed", changes: 300, addresses: { length: 5 } },
  });
});

test("names no change for a failure that stops the run", () => {
  const { emit, log } = follow({ isLive: false });
  emit(
    started,
    failed(1, failureOf(1, { stops: "run" })),
    failed(2, failureOf(2, { stops: "run" })),
    finished(2),
  );
  expect(log()).toContain("  2 changes failed, and the run stopped.\n  hint:");
  expect(log()).not.toContain("drafts/");
});

test("reports that the run stopped when a later failure with the same cause stopped it", () => {
  const { emit, log } = follow({ isLive: false });
  emit(started, failed(1), failed(2, failureOf(2, { stops: "run" })), failed(3), finished(3));
  expect(log()).toContain("  3 changes failed, and the run stopped.\n  hint:");
});

test("shows what stops a run as one message, whether calls got a response or were not sent", () => {
  const { emit, log } = follow({ isLive: false });
  const pause = (draft: number, more: Partial<CallFailure>) =>
    failed(draft, failureOf(draft, { code: "retry-after-too-long", stops: "run", errors: [], ...more }));
  const message = "POST /api/drafts/2/product_files: the service asks for no calls (429): until 17:00 UTC";
  emit(started, pause(1, {}), pause(2, { message, errors: [{ status: "429" }] }), finished(2));
  expect(log().match(/error:/g)).toHaveLength(1);
  expect(log()).toContain("  2 changes failed, and the run stopped.\n  hint:");
  expect(log()).not.toContain("service:");
});

test("shows a failure and an operation in doubt with the same code separately", () => {
  const { emit, log } = follow({ isLive: false });
  emit(started, failed(1), failed(2, failureOf(2), "unknown"), finished(1));
  expect(log()).toContain("error: the service rejected");
  expect(log()).toContain("in doubt: the service rejected");
});

test("lists every failure and every skipped change with --verbose", () => {
  const { emit, verbose } = follow({ isLive: false });
  const skipped = { type: "change_finished", at: 1, action: "publish", outcome: "skipped", ms: 0 } as const;
  emit(started, failed(1));
  emit({ ...skipped, address: "drafts/1/product", because: "drafts/1/product_files/7" });
  emit({ ...skipped, address: "drafts/2/product", because: "interrupted" });
  emit({ ...skipped, address: "drafts/3/product", because: "unauthorized" });
  emit({ ...skipped, address: "drafts/4/product", outcome: "deferred", because: "max_calls" });
  expect(verbose()).toBe(`  + drafts/1/product_files/7 failed: ${failureOf(1).message}
  ! drafts/1/product skipped: drafts/1/product_files/7 did not succeed
  ! drafts/2/product skipped: the run was interrupted
  ! drafts/3/product skipped: the run stopped (unauthorized)
  ! drafts/4/product deferred to the next run
`);
});

test("shows ten causes in full, and counts the others", () => {
  const { emit, entries } = follow({ isLive: false });
  emit(started);
  for (let draft = 1; draft <= 15; draft += 1)
    emit(failed(draft, failureOf(draft, { errors: [{ detail: `${draft}` }] })));
  emit(finished(15));
  const errors = entries.filter(({ level, code }) => level === "error" && code !== "run_finished");
  expect(errors).toHaveLength(11);
  expect(errors.at(-1)).toMatchObject({ code: "more-failures", facts: { changes: 5 } });
});

test("shows ten causes of failures, then ten of files in doubt, then ten of products in doubt", () => {
  const { emit, entries } = follow({ isLive: false });
  emit(started);
  for (let draft = 1; draft <= 45; draft += 1) {
    const failure = failureOf(draft, { errors: [{ detail: `${draft}` }] });
    const outcome = draft % 3 === 0 ? "rejected" : "unknown";
    emit(failed(draft, failure, outcome, draft % 3 === 1 ? "product" : undefined));
  }
  emit(finished(45));
  const labels = entries.flatMap(({ level, code, text }) =>
    level === "error" && code !== "run_finished" ? [/^.+?:/m.exec(text)?.[0]] : [],
  );
  expect(labels).toEqual([...Array(11).fill("error:"), ...Array(22).fill("in doubt:")]);
  const products = entries.map(({ text }) => text).filter((text) => text.includes("/product\n"));
  expect(products).toEqual(entries.map(({ text }) => text).slice(-12, -2));
  expect(entries.findLast(({ code }) => code === "more-failures")).toMatchObject({
    message: "5 changes may or may not have succeeded for 5 other causes",
    facts: { changes: 5 },
  });
});

test("shows failures once when the run does not finish", () => {
  const { emit, stop, log } = follow({ isLive: true });
  emit(started, failed(1));
  stop();
  stop();
  expect(log().match(/error:/g)).toHaveLength(1);
});

test("counts failures next to the changes during a run", () => {
  const { emit, lines } = follow({ isLive: true });
  emit(started, failed(1));
  expect(lines()?.[0]).toContain("1 of 3 changes · 1 failed");
});

test.each([
  [
    "a subject at the start of the message",
    failureOf(1),
    "the service rejected the request as invalid (422)",
  ],
  ["no subject", { code: "x", message: "a: b" }, "a: b"],
  ["a subject that is not at the start of the message", { code: "x", message: "a: b", subject: "c" }, "a: b"],
])("finds the cause of a failure with %s", (_name, failure, cause) => {
  expect(causeOf(failure)).toBe(cause);
});
