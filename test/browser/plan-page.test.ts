import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditPage, openViewer, type Viewed, type Viewer } from "./support/chromium.ts";
import { makeLargePlan, makeSmallPlan, pageOf } from "./support/plans.ts";

let viewer: Viewer;
let small: string;
let large: string;

beforeAll(async () => {
  viewer = await openViewer();
  small = await pageOf(makeSmallPlan());
  large = await pageOf(makeLargePlan(1_200));
});
afterAll(() => viewer.close());

const shown = ({ page }: Viewed) => page.locator(".item:visible").count();
const status = ({ page }: Viewed) => page.locator("#shown").textContent();
const hash = ({ page }: Viewed) => new URLSearchParams(new URL(page.url()).hash.slice(1));

describe("filters of the plan page", () => {
  test("select by action, announce counts, and are kept in the hash", async () => {
    const viewed = await viewer.view(small);
    const { page } = viewed;
    expect(await status(viewed)).toBe("5 changes");
    await page.getByRole("button", { name: "update 2" }).click();
    expect([await shown(viewed), await status(viewed)]).toEqual([2, "2 of 5 changes"]);
    await page.getByRole("button", { name: "delete 1" }).click();
    expect([await shown(viewed), await status(viewed)]).toEqual([3, "3 of 5 changes"]);
    expect(hash(viewed).get("show")).toBe("update,delete");
    expect(await page.locator(".group:visible").count()).toBe(2);

    const again = await viewer.view(small, { hash: "#show=update%2Cdelete" });
    expect([await shown(again), await status(again)]).toEqual([3, "3 of 5 changes"]);
    expect(await again.page.locator("button.chip[aria-pressed=true]").count()).toBe(2);
  });

  test("select by draft and by text of addresses and values, ignoring case", async () => {
    const viewed = await viewer.view(small);
    const { page } = viewed;
    await page.locator("#draft").selectOption("drafts/1");
    expect(await shown(viewed)).toBe(2);
    await page.locator("#search").fill("BRIGHT  lamp");
    expect([await shown(viewed), await status(viewed)]).toEqual([1, "1 of 5 changes"]);
    await page.locator("#draft").selectOption("");
    await page.locator("#search").fill("product_files/30");
    expect(await page.locator(".item:visible code").textContent()).toBe("product_files/30");
    expect(await page.locator(".item:visible .value").textContent()).toContain("renderer ");
    await page.locator("#search").fill("of this there is nothing");
    expect([await shown(viewed), await status(viewed)]).toEqual([0, "0 of 5 changes"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    expect([await shown(viewed), hash(viewed).size]).toEqual([5, 0]);
  });

  test("find values in a list too long to show all of them", async () => {
    const viewed = await viewer.view(large, { hash: "#q=lamp.%201177" });
    expect([await shown(viewed), await status(viewed)]).toEqual([1, "1 of 1,200 changes"]);
    const entry = viewed.page.locator(".item:visible");
    await entry.locator("summary").click();
    // The page fills an entry after it has opened.
    await entry.locator("ins").first().waitFor();
    expect(await entry.locator("ins").allTextContents()).toContain("dusk");
  });
});

test("the controls stay in one row of 40 pixels at every width", async () => {
  for (const width of [1280, 768, 390]) {
    const { page } = await viewer.view(large, { viewport: { width, height: 800 } });
    await page.locator(".item").nth(40).scrollIntoViewIfNeeded();
    const box = await page.locator("#controls").boundingBox();
    expect(box).toMatchObject({ y: 0 });
    expect(box?.height).toBeLessThanOrEqual(40);
  }
});

test("each draft links to its manifest when the URL of the repository is known", async () => {
  const sourceUrl = "https://github.example/shop/blob/4f1c/my%20shop";
  const { page } = await viewer.view(await pageOf(makeSmallPlan(), { sourceUrl }));
  const links = page.locator(".group h3 a");
  expect(await links.count()).toBeGreaterThan(0);
  expect(await links.first().getAttribute("href")).toMatch(
    /^https:\/\/github\.example\/shop\/blob\/4f1c\/my%20shop\/.+#L\d+$/,
  );
});

describe("keys of the plan page", () => {
  test("move, open, search, clear and show the list of keys", async () => {
    const viewed = await viewer.view(small);
    const { page } = viewed;
    const focused = () =>
      page.evaluate("document.activeElement.closest('.item')?.querySelector('code')?.title");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const second = await focused();
    await page.keyboard.press("k");
    const first = await focused();
    const titles = await page
      .locator(".item code")
      .evaluateAll((codes) => codes.map((code) => code.getAttribute("title")));
    expect([first, second]).toEqual(titles.slice(0, 2));

    // The first item shows its value in its line and cannot be opened.
    await page.keyboard.press("j");
    const isOpen = () => page.evaluate("document.activeElement.closest('details').open");
    expect(await isOpen()).toBe(true);
    await page.keyboard.press("o");
    expect(await isOpen()).toBe(false);
    await page.keyboard.press("Enter");
    expect(await isOpen()).toBe(true);

    await page.keyboard.press("/");
    await page.keyboard.type("jok/?");
    expect(await page.locator("#search").inputValue()).toBe("jok/?");
    await page.keyboard.press("Escape");
    expect([await page.locator("#search").inputValue(), await shown(viewed)]).toEqual(["", 5]);
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").isVisible()).toBe(false);
  });

  test("keep the focus visible", async () => {
    const { page } = await viewer.view(small);
    await page.keyboard.press("j");
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
  });
});

describe("text differences on the plan page", () => {
  test("are shown side by side and marked without color", async () => {
    const { page } = await viewer.view(small);
    const rows = page.locator("table.text tbody tr");
    expect(
      await rows.evaluateAll((all) =>
        all.map((row) => [...row.children].map(({ textContent }) => textContent)),
      ),
    ).toEqual([
      ["A quiet harbour at dawn.", "A quiet harbour at dusk."],
      ["Two boats, one lamp.", "Two boats, one bright lamp."],
    ]);
    expect(await page.locator("table.text ins").allTextContents()).toEqual(["dusk", "bright "]);
    expect(await page.locator("table.text del").allTextContents()).toEqual(["dawn"]);
    const lines = await page.evaluate(
      "['ins', 'del'].map((name) => getComputedStyle(document.querySelector('table.text ' + name)).textDecorationLine)",
    );
    expect(lines).toEqual(["underline", "line-through"]);
    const marker = await page.evaluate("getComputedStyle(document.querySelector('del'), '::before').content");
    expect(marker).toContain("removed");
  });

  test("can be read without JavaScript", async () => {
    const { page } = await viewer.view(small, { javaScriptEnabled: false });
    expect(await page.locator("#controls").isVisible()).toBe(false);
    expect(await page.locator("table.text ins").first().isVisible()).toBe(true);
    expect(await page.locator(".tile").count()).toBe(4);
  });
});

describe("plan page", () => {
  const background = "getComputedStyle(document.body).backgroundColor";

  test("follows the color scheme of the system until the button changes it", async () => {
    const dark = await viewer.view(small, { colorScheme: "dark" });
    const light = await viewer.view(small, { colorScheme: "light" });
    const [night, day] = [await dark.page.evaluate(background), await light.page.evaluate(background)];
    expect(night).not.toBe(day);
    await dark.page.getByRole("button", { name: "Dark" }).click();
    expect(await dark.page.evaluate(background)).toBe(day);
  });

  test.each(["dark", "light"] as const)("is accessible when %s", async (colorScheme) => {
    const viewed = await viewer.view(small, { colorScheme });
    expect(await auditPage(viewed)).toEqual([]);
  });

  test("fits 360 pixels without scrolling sideways", async () => {
    const { page } = await viewer.view(small, { viewport: { width: 360, height: 700 } });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  });

  test("prints every change opened and no controls", async () => {
    const { page } = await viewer.view(large);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#controls").isVisible()).toBe(false);
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await page.locator(".item > details:not([open])").count()).toBe(0);
    expect(await page.locator("ins").count()).toBeGreaterThan(1_200);
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    expect(await page.locator(".item > details[open]").count()).toBe(0);
  });

  test("loads nothing and logs nothing", async () => {
    const viewed = await viewer.view(small);
    expect([viewed.requests, viewed.noises]).toEqual([[], []]);
  });
});
