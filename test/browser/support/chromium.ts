import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { inject } from "vitest";
import { type Folder, makeFolder } from "../../support/cli.ts";

/** A browser, and pages that are opened from files, as one that was downloaded from a pipeline is. */
export interface Viewer {
  /**
   * Opens a page and waits until its script has run. `hash` comes behind its address. What the page then asks the network
   * for, and what goes wrong in it, is in {@link Viewed}.
   */
  view(html: string, how?: BrowserContextOptions & { readonly hash?: string }): Promise<Viewed>;
  close(): Promise<void>;
}

/** A page that is open. */
export interface Viewed {
  readonly page: Page;
  /** Every address that it loaded or tried to, but its own. */
  readonly requests: readonly string[];
  /** Errors, messages of the console (refusals of the policy are among them) and dialogs. */
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
      // What the policy refused was never sent; it is reported on the console.
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
      return { page, requests, noises };
    },
    close: async () => {
      await browser.close();
      await folder.dispose();
    },
  };
}

/** What axe finds wrong with the page as it is (WCAG 2.2 AA and good practice), a line each. */
export async function auditPage({ page }: Viewed): Promise<readonly string[]> {
  const { source } = (await import("axe-core")).default;
  // As the browser's developer tools do it: the policy of the page holds for the page alone.
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
