import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadPageAssets } from "../../src/cli/terminal/page-assets.ts";
import { formatFleetPage } from "../../src/fleet/fleet-page.ts";
import type { FleetRun, FleetWorkspace } from "../../src/fleet/fleet-store.ts";
import { viewFleet } from "../../src/fleet/fleet-view.ts";
import { auditPage, openViewer, type Viewer } from "./support/chromium.ts";

let viewer: Viewer;
beforeAll(async () => {
  viewer = await openViewer();
});
afterAll(() => viewer.close());

const now = Date.UTC(2026, 10, 23, 12);
const minutes = 60_000;
const hostile = "<img src=x onerror=alert(1)>";

/** Workspace n. Every tenth fails, every eleventh is in doubt, every thirteenth is paused, one never ran. */
function workspace(index: number): { row: FleetWorkspace; run: FleetRun | undefined } {
  const name = `workspace-${String(index).padStart(4, "0")}`;
  const status = index % 10 === 9 ? "failing" : index % 11 === 10 ? "in_doubt" : "ok";
  const startedAt = now - (index % 15) * minutes;
  const error = {
    code: "unauthorized",
    message: `the service does not accept the key (401) ${hostile}`,
    hint: "Check it.",
  };
  const row: FleetWorkspace = {
    name,
    config: `accounts/${name}/draftsync.yaml`,
    every_ms: 15 * minutes,
    key: null,
    paused: index % 13 === 12,
    retired_at: null,
    since: now - 1000 * minutes,
    due_at: startedAt + 15 * minutes,
    wanted_at: null,
    worker: "worker-1:77",
    started_at: startedAt,
    ended_at: index === 5 ? null : startedAt + 1200,
    last_status: index === 5 ? null : status,
    last_success_at: status === "ok" ? startedAt + 1200 : now - 300 * minutes,
    failures: status === "failing" ? 20 : 0,
    in_doubt: status === "in_doubt" ? 1 : 0,
    commit: null,
    notified: null,
  };
  const run: FleetRun = {
    id: `run-${index}`,
    workspace: name,
    worker: "worker-1:77",
    started_at: startedAt,
    ended_at: startedAt + 1200,
    status,
    exit_code: 0,
    result:
      status === "failing"
        ? null
        : {
            type: "reconcile_finished",
            format_version: 1,
            at: startedAt,
            workspace: name,
            status,
            ms: 1200,
            run_id: `run-${index}`,
          },
    error: status === "failing" ? error : null,
    commit: null,
  };
  return { row, run: index === 5 ? undefined : run };
}

async function pageOf(count: number): Promise<string> {
  const all = Array.from({ length: count }, (_, index) => workspace(index));
  const runs = new Map(all.flatMap(({ row, run }) => (run === undefined ? [] : [[row.name, run] as const])));
  const view = viewFleet({ now, workspaces: all.map(({ row }) => row), workers: [] }, runs);
  return formatFleetPage(view, await loadPageAssets(), (name) => `runs/${name}`);
}

describe("fleet page", () => {
  test("lists the worst first, can be searched, filtered and sorted, and escapes messages", async () => {
    const { page, noises, requests } = await viewer.view(await pageOf(100));
    const first = page.locator("tbody tr").first();
    expect(await first.textContent()).toContain("in doubt");
    expect(await page.locator("#shown").textContent()).toBe("100 workspaces");
    await page.locator("button.chip", { hasText: "failing" }).click();
    expect(await page.locator("#shown").textContent()).toBe("10 of 100 workspaces");
    expect(await page.locator("tbody tr:visible").first().textContent()).toContain(hostile);
    await page.locator("#clear").click();
    await page.locator("#search").fill("workspace-0042");
    expect(await page.locator("tbody tr:visible th").allTextContents()).toEqual(["workspace-0042"]);
    await page.locator("#clear").click();
    await page.locator("th button", { hasText: "Workspace" }).click();
    expect(await page.locator("tbody th").first().textContent()).toBe("workspace-0000");
    await page.locator("th button", { hasText: "Workspace" }).click();
    expect(await page.locator("tbody th").first().textContent()).toBe("workspace-0099");
    await page.locator("th button", { hasText: "Failures" }).click();
    await page.locator("th button", { hasText: "Failures" }).click();
    expect(await page.locator("tbody tr").first().textContent()).toContain("failing");
    expect(await page.locator("tr", { hasText: "failing" }).locator("a").count()).toBe(0);
    expect(
      await page.locator("tr", { hasText: "in doubt" }).locator("a").first().getAttribute("href"),
    ).toMatch(/^runs\/workspace-/);
    expect([...noises, ...requests]).toEqual([]);
  });

  test.each([
    { count: 12, width: 390, colorScheme: "light" },
    { count: 12, width: 1280, colorScheme: "dark" },
    { count: 1000, width: 1280, colorScheme: "light" },
    { count: 1000, width: 390, colorScheme: "dark" },
  ] as const)("is accessible and fits with $count workspaces at $width px in $colorScheme", async (how) => {
    const { count, width, colorScheme } = how;
    const viewed = await viewer.view(await pageOf(count), { viewport: { width, height: 900 }, colorScheme });
    const { page } = viewed;
    expect(await auditPage(viewed)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
  });
});
