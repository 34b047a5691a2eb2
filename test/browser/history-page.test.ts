import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadPageAssets } from "../../src/cli/page-assets.ts";
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

describe("the page of a run", () => {
  test("plots calls against the bound, times by endpoint and calls over time, with their numbers", async () => {
    const viewed = await viewer.view(await pageOf(makeRun()));
    const { page } = viewed;
    expect(await titlesOf(page)).toEqual([
      "Calls within 1 s, against the bound",
      "Time by endpoint",
      "Calls over time",
    ]);
    const peaks = await numbersOf(page, "rate");
    expect(Math.max(...peaks.map(([, , calls]) => Number(calls)))).toBe(9);
    expect(await page.locator("svg .bound").count()).toBe(1);
    expect(await numbersOf(page, "latency")).toContainEqual([
      "POST /drafts/{id}/product_files",
      "9",
      "40",
      "60",
      "80",
      "100",
      "120",
      "120",
    ]);
    expect(await page.locator("svg[role=img] .mark").count()).toBe(12);
    expect(await page.locator("svg[role=img] desc").count()).toBe(3);
    expect([viewed.noises, viewed.requests]).toEqual([[], []]);
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

test("the page of several runs compares what they changed, and the drift of those that looked", async () => {
  const second = makeRun({ run_id: "run-2", totals: { done: 1, drift: 3 }, operations: [makeCall(5, 40)] });
  const third = makeRun({ run_id: "run-3", totals: { drift: 0 }, operations: [] });
  const { page } = await viewer.view(await pageOf(makeRun(), second, third));
  expect(await titlesOf(page)).toEqual(["Changes by run", "Drift by run", "Time by endpoint"]);
  const changes = await numbersOf(page, "changes");
  expect(changes.map(([, attach]) => attach)).toEqual(["9", "1", "0"]);
  const drift = await numbersOf(page, "drift-by-run");
  expect(drift.map(([, found]) => found)).toEqual(["not looked", "3", "0"]);
});

test("a history without runs is a page too", async () => {
  const viewed = await viewer.view(await pageOf());
  expect(await viewed.page.locator("main").textContent()).toContain("No writing calls.");
  expect(viewed.noises).toEqual([]);
});
