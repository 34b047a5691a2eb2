import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadPageAssets } from "../../src/cli/terminal/page-assets.ts";
import type { HistoryRun } from "../../src/report/history-view.ts";
import { formatHistoryPage } from "../../src/report/html/history-page.ts";
import { auditPage, openViewer, type Viewer } from "./support/chromium.ts";
import { makeCall, makeRun } from "./support/runs.ts";

let viewer: Viewer;
beforeAll(async () => {
  viewer = await openViewer();
});
afterAll(() => viewer.close());

async function pageOf(...runs: readonly HistoryRun[]): Promise<string> {
  const input = {
    workspace: "studio-a",
    runs,
    bound: { limit: 10, windowMs: 1000 },
    now: Date.UTC(2026, 10, 22),
  };
  return formatHistoryPage(input, await loadPageAssets());
}

const titlesOf = (page: Page) => page.locator("figure h3").allTextContents();
const numbersOf = (page: Page, id: string) =>
  page
    .locator(`figure[aria-labelledby=${id}-h] tbody tr`)
    .evaluateAll((rows) => rows.map((row) => [...row.children].map(({ textContent }) => textContent)));

describe("page of one run", () => {
  test("plots calls with the rate limit, durations by endpoint and calls over time, with their numbers", async () => {
    const viewed = await viewer.view(await pageOf(makeRun()));
    const { page } = viewed;
    expect(await titlesOf(page)).toEqual([
      "Calls in 1 s, with the rate limit",
      "Duration by endpoint",
      "Calls over time",
    ]);
    const peaks = await numbersOf(page, "rate");
    expect(Math.max(...peaks.map(([, , calls]) => Number(calls)))).toBe(9);
    expect(await page.locator("svg .bound").count()).toBe(1);
    expect(await numbersOf(page, "latency")).toContainEqual([
      "POST /api/drafts/:draft_id/product_files",
      "9",
      "40",
      "60",
      "80",
      "100",
      "116",
      "120",
    ]);
    expect(await page.locator("svg[role=img] .mark").count()).toBe(12);
    expect(await page.locator("svg[role=img] desc").count()).toBe(3);
    expect([viewed.noises, viewed.requests]).toEqual([[], []]);
  });

  test("separates changes from calls and shows first what was not done", async () => {
    const totals = { done: 330, failed: 0, in_doubt: 0, skipped: 4670, deferred: 0, calls: 330 };
    const { page } = await viewer.view(await pageOf(makeRun({ status: "interrupted", totals })));
    expect(await page.locator(".tile").allTextContents()).toEqual(["330 done", "4,670 skipped"]);
    expect(await page.locator(".facts").textContent()).toContain("interrupted, 330 done, 4,670 skipped");
    const summary = await page.locator("section[aria-labelledby=sum]").textContent();
    expect(summary).toContain("12 writing calls: 9 done, 1 rejected, 1 not sent, 1 unknown.");
    expect(summary).toContain("It was interrupted. The next plan shows the changes that did not start.");
  });

  test.each([
    ["stopped", "A failure stopped it."],
    ["in_doubt", "Something is in doubt."],
    ["deferred", "It stopped at its limit of calls or time."],
  ])("shows first that the run is %s", async (status, sentence) => {
    const { page } = await viewer.view(await pageOf(makeRun({ status })));
    expect(await page.locator(".callout.warning").textContent()).toContain(sentence);
    expect(await page.locator(".facts").textContent()).toContain(status.replace("_", " "));
  });

  test("shows first that nothing is in doubt once every operation is settled", async () => {
    const run = makeRun({ status: "in_doubt" });
    const settled = { as: "done", at: "2026-11-21T09:00:00.000Z" };
    const operations = run.operations.map((each) => ({ ...each, settled }));
    const { page } = await viewer.view(await pageOf({ ...run, operations }));
    const warning = await page.locator(".callout.warning").textContent();
    expect(warning).toContain("Something was in doubt. It is settled since");
  });

  test("warns of a run that never ended, and not of a complete run", async () => {
    const { finished_at: _ended, ...open } = makeRun();
    const unfinished = await viewer.view(await pageOf(open));
    expect(await unfinished.page.locator(".callout.warning").textContent()).toContain("It was cut off");
    const whole = await viewer.view(await pageOf(makeRun({ status: "done" })));
    expect(await whole.page.locator(".callout.warning").count()).toBe(0);
  });

  test("has no control without JavaScript", async () => {
    const { page } = await viewer.view(await pageOf(makeRun()), { javaScriptEnabled: false });
    expect(await page.locator("button:visible, input:visible, select:visible").count()).toBe(0);
    expect(await page.locator(".tile:visible").count()).toBeGreaterThan(0);
  });

  test("lists its calls, filtered by outcome", async () => {
    const { page } = await viewer.view(await pageOf(makeRun()));
    await page.getByRole("button", { name: "rejected 1" }).click();
    expect(await page.locator("#shown").textContent()).toBe("1 of 12 calls");
    expect(await page.locator(".item:visible").textContent()).toContain("No such renderer.");
  });

  test.each(["dark", "light"] as const)("is accessible when %s", async (colorScheme) => {
    expect(await auditPage(await viewer.view(await pageOf(makeRun()), { colorScheme }))).toEqual([]);
  });

  test("fits 360 pixels without scrolling sideways", async () => {
    const { page } = await viewer.view(await pageOf(makeRun()), { viewport: { width: 360, height: 700 } });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  });
});

test("the page of several runs compares their changes and the drift they found", async () => {
  const second = makeRun({ run_id: "run-2", totals: { done: 1, drift: 3 }, operations: [makeCall(5, 40)] });
  const third = makeRun({ run_id: "run-3", totals: { drift: 0 }, operations: [] });
  const { page } = await viewer.view(await pageOf(makeRun(), second, third));
  expect(await titlesOf(page)).toEqual(["Changes by run", "Drift by run", "Duration by endpoint"]);
  const changes = await numbersOf(page, "changes");
  expect(changes.map(([, attach]) => attach)).toEqual(["9", "1", "0"]);
  const drift = await numbersOf(page, "drift-by-run");
  expect(drift.map(([, found]) => found)).toEqual(["not checked", "3", "0"]);
});

test("the bars of several runs differ without color, and times are within the day", async () => {
  const kinds = ["attach", "update", "detach", "publish", "duplicate", "upload"];
  const operations = kinds.map((kind, at) => makeCall(at * 10, 5, { kind }));
  const { page, noises } = await viewer.view(await pageOf(makeRun({ operations }), makeRun({ operations })));
  const drawing = page.locator("figure[aria-labelledby=changes-h] .drawing");
  const fills = await drawing
    .locator("rect[fill]")
    .evaluateAll((marks) => marks.map((mark) => mark.getAttribute("fill")));
  expect(new Set(fills).size).toBe(kinds.length);
  const legend = page.locator("figure[aria-labelledby=changes-h] .legend rect[fill]");
  expect(await legend.count()).toBe(kinds.length);
  expect(await drawing.locator("text").allTextContents()).toContain("06:53:10");
  expect(noises).toEqual([]);
});

test("the page of several runs has no plot of changes if there were none, and counts runs by status", async () => {
  const refused = makeRun({ status: "stopped", operations: [makeCall(0, 5, { outcome: "rejected" })] });
  const { page } = await viewer.view(await pageOf(refused, refused));
  expect(await titlesOf(page)).toEqual(["Duration by endpoint"]);
  expect(await page.locator(".tile").allTextContents()).toEqual(["2 runs stopped"]);
});

test("the page of several runs starts with one line per run: when, what, by whom and how it ended", async () => {
  const by = { user: "ann", host: "ci-3" };
  const runs = [
    makeRun({ status: "done", command: "reconcile", started_by: by }),
    makeRun({ run_id: "other" }),
  ];
  const { page } = await viewer.view(await pageOf(...runs));
  const rows = await page.locator(".runs tbody tr").allTextContents();
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/UTCreconcileann on ci-3.*done/);
  const headings = await page.locator("h2").allTextContents();
  expect(headings.slice(0, 4)).toEqual(["Result", "Runs", "Calls", "Trends"]);
});

test("the page of an empty history has no errors", async () => {
  const viewed = await viewer.view(await pageOf());
  expect(await viewed.page.locator("main").textContent()).toContain("No writing calls.");
  expect(viewed.noises).toEqual([]);
});
