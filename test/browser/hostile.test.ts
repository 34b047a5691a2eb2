import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadPageAssets } from "../../src/cli/terminal/page-assets.ts";
import type { Plan } from "../../src/model/plan.ts";
import { formatHistoryPage } from "../../src/report/html/history-page.ts";
import { openViewer, type Viewer } from "./support/chromium.ts";
import { makeSmallPlan, pageOf } from "./support/plans.ts";
import { makeRun } from "./support/runs.ts";

/** Each part would run, load, close an element or hide text in a page that does not escape it. */
const hostile = [
  `</script><script>alert("ran")</script>`,
  `<!--<script>`,
  `<img src=x onerror=alert(1)>`,
  `"><svg onload=alert(2)>`,
  `' autofocus onfocus=alert(3) x='`,
  `</title></style></textarea></noscript><iframe srcdoc="<script>parent.alert(4)</script>">`,
  `javascript:alert(5)`,
  `<a href="javascript:alert(6)">click</a><base href="https://example.com/">`,
  `<link rel=stylesheet href=https://example.com/x.css><meta http-equiv=refresh content="0;url=https://example.com/">`,
  `}</style><style>*{display:none}`,
  `{{constructor.constructor('alert(7)')()}} \${alert(8)} &lt;script&gt; &#60;b&#62;`,
  "\u0000\u001b[31m\u202eevil\u2066\u2028\u2029\ufeff]]>",
].join(" ");

/** Replaces every string in a value by the hostile text, except discriminants and times. */
function poison(value: unknown): unknown {
  if (typeof value === "string") return hostile;
  if (Array.isArray(value)) return value.map(poison);
  if (typeof value !== "object" || value === null) return value;
  const kept = new Set(["action", "reason", "severity", "by", "at", "started_at", "finished_at", "outcome"]);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, kept.has(key) ? member : poison(member)]),
  );
}

let viewer: Viewer;
beforeAll(async () => {
  viewer = await openViewer();
});
afterAll(() => viewer.close());

function poisonedPlan(): Plan {
  const plan = makeSmallPlan();
  const changes = plan.changes.map((change) => ({
    ...change,
    ...Object.fromEntries(
      Object.entries({ before: change.before, after: change.after }).map(([side, state]) => [
        side,
        poison(state),
      ]),
    ),
    address: change.address.includes("files/")
      ? `${change.address.replace(/\d+$/, "source:")}${hostile}`
      : change.address,
  }));
  return {
    ...plan,
    workspace: hostile,
    service_origin: hostile,
    plan_id: hostile,
    changes: changes as Plan["changes"],
    diagnostics: [
      {
        severity: "warning",
        code: hostile,
        message: hostile,
        hint: hostile,
        address: hostile,
        place: { file: hostile, line: 1, column: 1 },
        excerpt: [{ line: 1, text: hostile }],
      },
    ],
  };
}

async function poisonedHistory(): Promise<string> {
  const run = makeRun();
  const operations = run.operations.map((operation) => ({
    ...operation,
    address: hostile,
    kind: hostile,
    method: hostile,
    path: hostile,
    failure: { code: hostile, message: hostile },
    settled: { as: hostile, at: operation.started_at, by: hostile },
  }));
  const poisoned = {
    ...run,
    run_id: hostile,
    command: hostile,
    plan_id: hostile,
    status: hostile,
    operations,
  };
  const input = { workspace: hostile, runs: [poisoned], bound: { limit: 10, windowMs: 1000 }, now: 0 };
  return formatHistoryPage(input, await loadPageAssets());
}

describe("hostile text in every field", () => {
  test.each([
    { name: "a plan", make: () => pageOf(poisonedPlan()) },
    { name: "the history", make: poisonedHistory },
  ])("has no effect on the page of $name", async ({ make }) => {
    const html = await make();
    for (const char of "\u0000\u001b\u202e\u2066\u2028\u2029\ufeff") expect(html).not.toContain(char);
    const viewed = await viewer.view(html);
    const { page } = viewed;
    await page.locator("#search").fill("onerror=alert");
    await page.locator("#search").press("Escape");
    await page.getByRole("button", { name: "Open all" }).click();
    expect([viewed.noises, viewed.requests]).toEqual([[], []]);
    const foreign = await page.evaluate(
      "document.querySelectorAll('iframe, link, base, a:not(.skip), [onerror], [onload], [onfocus], img').length",
    );
    expect(foreign).toBe(0);
    expect(await page.evaluate("document.scripts.length")).toBe(1);
    expect(await page.locator("h1").textContent()).toContain("<script>alert");
  });

  test("is searchable and shown completely in a long plan", async () => {
    const plan = poisonedPlan();
    const first = plan.changes.find(({ address }) => address.includes("/promotional_files/"));
    const changes = first === undefined ? [] : Array.from({ length: 1_001 }, () => first);
    const viewed = await viewer.view(await pageOf({ ...plan, changes }));
    const { page } = viewed;
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".body").first().waitFor();
    expect(await page.locator(".body").first().textContent()).toContain("</script><script>alert");
    await page.locator("#search").fill("<img src=x onerror=alert(1)>");
    expect(await page.locator("#shown").textContent()).toBe("1,001 changes");
    expect([viewed.noises, viewed.requests]).toEqual([[], []]);
  });
});

test("the content security policy stops a script and a request that are in the page", async () => {
  const html = (await pageOf(makeSmallPlan())).replace(
    "</main>",
    `<script>alert("ran")</script><img src="https://example.com/x.png"><b style="color:red" onclick="alert(1)">x</b></main>`,
  );
  const { page, noises, requests } = await viewer.view(html);
  await page.locator("b", { hasText: "x" }).last().click();
  expect(requests).toEqual([]);
  expect(noises.every((noise) => noise.includes("Content Security Policy"))).toBe(true);
  expect(noises.length).toBeGreaterThan(2);
});
