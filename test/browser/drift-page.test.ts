import { afterAll, beforeAll, expect, test } from "vitest";
import { loadPageAssets } from "../../src/cli/terminal/page-assets.ts";
import type { DriftReport } from "../../src/report/drift-report.ts";
import { formatDriftPage } from "../../src/report/html/drift-page.ts";
import { auditPage, openViewer, type Viewer } from "./support/chromium.ts";

let viewer: Viewer;
beforeAll(async () => {
  viewer = await openViewer();
});
afterAll(() => viewer.close());

const now = Date.UTC(2026, 10, 23);
const seen = "2026-11-22T23:59:00.000Z";
const file = { confirmed: null, observed_at: seen, last_call: null };

function reportOf(drift: DriftReport["drift"]): DriftReport {
  return {
    format_version: 1,
    workspace: "studio-a",
    service_origin: "https://api.example.com",
    refresh: {
      mode: "budget",
      attachments: "probe",
      calls: 9,
      max_calls: 500,
      checked: 9,
      unreadable: 0,
      deferred: 4,
      not_checked: 4,
      oldest_unconfirmed: null,
    },
    drift,
  };
}

const hostile = "<img src=x onerror=alert(1)>";
const report = reportOf([
  {
    ...file,
    type: "changed",
    address: "drafts/1/product_files/11",
    title: "Sea Serpent",
    declared_at: "manifests/sea.yaml:7",
    before: { file_id: 11, renderer: "arnold" },
    after: { file_id: 11, renderer: hostile },
    attributes: ["renderer"],
  },
  {
    ...file,
    type: "gone",
    address: "drafts/1/promotional_files/21",
    title: "Sea Serpent",
    before: { file_id: 21, description: "x" },
    after: null,
    attributes: [],
  },
  {
    ...file,
    type: "product_gone",
    address: "duplicates/winter",
    before: { product_id: 9 },
    after: null,
    attributes: [],
  },
]);

test("the drift page shows changes by draft, who made them, and what was not checked", async () => {
  const { page, noises, requests } = await viewer.view(formatDriftPage(report, now, await loadPageAssets()));
  const summary = await page.locator("section[aria-labelledby=sum]").textContent();
  expect(summary).toContain("3 resources changed outside draftsync.");
  expect(summary).toContain("4 not checked");
  expect(await page.locator("#list h3").allTextContents()).toEqual([
    expect.stringContaining("Sea Serpent drafts/1"),
    expect.stringContaining("duplicates"),
  ]);
  expect(await page.locator(".item .badge").allTextContents()).toEqual(["changed", "gone", "gone"]);
  const first = await page.locator(".item").first().textContent();
  expect(first).toContain(hostile);
  expect(first).toContain("no call by draftsync: made by a person or another tool");
  expect(await page.locator("img").count()).toBe(0);
  expect([noises, requests]).toEqual([[], []]);
});

test.each(["dark", "light"] as const)(
  "the drift page is accessible when %s and fits 360 pixels",
  async (colorScheme) => {
    const html = formatDriftPage(report, now, await loadPageAssets());
    const viewed = await viewer.view(html, { colorScheme, viewport: { width: 360, height: 700 } });
    expect(await auditPage(viewed)).toEqual([]);
    expect(await viewed.page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  },
);

test("the drift page reports that there is no drift", async () => {
  const { page } = await viewer.view(formatDriftPage(reportOf([]), now, await loadPageAssets()));
  expect(await page.locator("main").textContent()).toContain("No drift.");
  expect(await page.locator("#list").count()).toBe(0);
});
