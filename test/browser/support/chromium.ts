import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { inject } from "vitest";
import { type Folder, makeFolder } from "../../support/cli.ts";

/** A browser that opens pages from files, like a page downloaded from a pipeline. */
export interface Viewer {
  /**
   * Opens a page and waits until its script has run and its pictures are decoded. `hash` is appended to its address.
   * Requests and errors of the page are collected in {@link Viewed}.
   */
  view(html: string, how?: BrowserContextOptions & { readonly hash?: string }): Promise<Viewed>;
  close(): Promise<void>;
}

/** An open page. */
export interface Viewed {
  readonly page: Page;
  /** Every other address that it loaded or tried to load. */
  readonly requests: readonly string[];
  /** Errors, console messages (including those of the content security policy) and dialogs. */
  readonly noises: readonly string[];
}

/** Starts Chromium without a window. */
export async function openViewer(): Promise<Viewer> {
  const { executablePath, env } = inject("chromium");
  const browser: Browser = await chromium.launch({
    executablePath,
    env: { ...process.env, ...env },
    args: ["--disable-gpu", "--disable-dev-shm-usage"],
  });
  const folder: Folder = await makeFolder();
  let pages = 0;
  return {
    view: async (html, { hash = "", ...options } = {}) => {
      const name = `page-${pages++}.html`;
      await folder.write({ [name]: html });
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const own = pathToFileURL(join(folder.path, name)).href;
      const requests: string[] = [];
      const noises: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(own) && !request.url().startsWith("data:"))
          requests.push(request.url());
      });
      // A request refused by the policy was not sent; the console reports it.
      page.on("requestfailed", (request) => {
        if (request.failure()?.errorText === "csp") requests.splice(requests.indexOf(request.url()), 1);
      });
      page.on("console", (message) => noises.push(message.text()));
      page.on("pageerror", (error) => noises.push(String(error)));
      page.on("dialog", (dialog) => {
        noises.push(dialog.message());
        void dialog.dismiss();
      });
      await page.goto(own + hash, { waitUntil: "load" });
      // "load" does not wait for pictures to be decoded. One that cannot be decoded is for the test to find.
      await page.evaluate(
        "Promise.allSettled([...document.images].map((picture) => picture.decode())).then(() => undefined)",
      );
      return { page, requests, noises };
    },
    close: async () => {
      await browser.close();
      await folder.dispose();
    },
  };
}

/** Violations that axe finds on the page (WCAG 2.2 AA and best practices), one line each. */
export async function auditPage({ page }: Viewed): Promise<readonly string[]> {
  const { source } = (await import("axe-core")).default;
  // `evaluate` bypasses the policy of the page, like the browser's developer tools.
  await page.evaluate(source);
  const found = await page.evaluate("axe.run()");
  if (typeof found !== "object" || found === null || !("violations" in found)) return ["axe did not run"];
  const { violations } = found;
  if (!Array.isArray(violations)) return ["axe did not run"];
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }: Record<string, string>) => `${html} ${failureSummary}`).join("; ")}`,
  );
}
