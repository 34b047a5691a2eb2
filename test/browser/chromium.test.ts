import { expect, test } from "vitest";
import { findChromium } from "../support/chromium.ts";
import { openViewer } from "./support/chromium.ts";

test("CHROMIUM names the program that is used", async () => {
  expect(await findChromium({ CHROMIUM: process.execPath })).toEqual({
    executablePath: process.execPath,
    env: {},
  });
});

test.each(["/nowhere/chromium", import.meta.filename, import.meta.dirname])(
  "CHROMIUM=%s is reported as not a program",
  async (path) => {
    await expect(findChromium({ CHROMIUM: path })).rejects.toThrow(
      `CHROMIUM is ${path}, which is not a program. Correct it, or unset it.`,
    );
  },
);

test("Chromium shows text on a machine without fonts", async () => {
  const viewer = await openViewer();
  try {
    const { page } = await viewer.view("<!doctype html><title>t</title><span>Sea Serpent</span>");
    const box = await page.locator("span").boundingBox();
    expect(box?.width).toBeGreaterThan(40);
    expect(box?.height).toBeGreaterThan(10);
  } finally {
    await viewer.close();
  }
});
