import { execFileSync } from "node:child_process";
import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";
import { openViewer, type Viewer } from "./support/chromium.ts";

/** A picture of one pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const sources = ["ok.png", "renamed.png", "large.png", "vector.svg", "later.png"];

let viewer: Viewer;
let folder: Folder;
const run = (...args: string[]) => draftsync(args, { cwd: folder.path });

beforeAll(async () => {
  viewer = await openViewer();
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": `draft: 1\npromotional_files: [${sources.map((source) => `{ source: ${source} }`).join(", ")}]\n`,
    "manifests/ok.png": png,
    "manifests/renamed.png": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "manifests/large.png": Buffer.concat([png, Buffer.alloc(200_000)]),
    "manifests/vector.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "manifests/later.png": Buffer.concat([png, Buffer.from("planned")]),
  });
});
afterAll(async () => {
  await viewer.close();
  await folder.dispose();
});

async function picturesOf(html: string) {
  const { page, requests, noises } = await viewer.view(html);
  expect([requests, noises]).toEqual([[], []]);
  return page.locator(".item").evaluateAll((items) =>
    Object.fromEntries(
      items.map((item) => {
        const picture = item.querySelector("img");
        const shown =
          picture === null ? item.querySelector(".body > .note")?.textContent : picture.naturalWidth;
        return [item.querySelector("code")?.textContent?.split("/").at(-1), shown];
      }),
    ),
  );
}

test("the plan page shows small, complete pictures and explains why others are missing", async () => {
  const { code, stdout } = await run("plan", "--out", "plan.json", "--format", "html");
  expect(code).toBe(0);
  expect(await picturesOf(stdout)).toEqual({
    "ok.png": 1,
    "later.png": 1,
    "renamed.png": "Picture not shown: it is not a PNG, JPEG, GIF or WebP image.",
    "large.png": "Picture not shown: 200.1 kB, above the limit of 200.0 kB.",
    "vector.svg": undefined,
  });
});

test("the page of a saved plan shows only pictures that match the plan and are inside the workspace", async () => {
  const outside = await makeFolder({ "ok.png": png });
  await folder.write({ "manifests/later.png": Buffer.concat([png, Buffer.from("another")]) });
  await folder.remove("manifests/ok.png");
  await symlink(join(outside.path, "ok.png"), join(folder.path, "manifests/ok.png"));
  const pictures = await picturesOf((await run("show", "plan.json", "--format", "html")).stdout);
  expect(pictures).toMatchObject({
    "ok.png": "Picture not shown: it is outside the workspace.",
    "later.png": "Picture not shown: the file differs from the plan.",
  });
  await outside.write({ "plan.json": await folder.read("plan.json") });
  const elsewhere = await draftsync(["show", "plan.json", "--format", "html"], { cwd: outside.path });
  expect(await picturesOf(elsewhere.stdout)).toMatchObject({
    "ok.png": "Picture not shown: the workspace was not found.",
  });
  // A broken link would be an error for the commands of the next test.
  await rm(join(folder.path, "manifests/ok.png"));
  await outside.dispose();
});

test("the page shows the replaced or detached picture from git", async () => {
  const of = (files: string) => `draft: 1\npromotional_files: [${files}]\n`;
  const shop = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": of("{ source: cover.png }, { source: gone.png }, { source: unsaved.png }"),
    "manifests/cover.png": png,
    "manifests/gone.png": Buffer.concat([png, Buffer.from("gone")]),
    "manifests/unsaved.png": Buffer.concat([png, Buffer.from("no commit has it")]),
  });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: shop.path });
  git("init", "--quiet");
  git("add", "manifests/cover.png", "manifests/gone.png");
  git("commit", "--quiet", "--message", "Add pictures");
  expect((await draftsync(["apply", "--auto-approve"], { cwd: shop.path })).code).toBe(0);
  await shop.write({
    "manifests/a.yaml": of("{ source: cover.png }, { source: unsaved.png }"),
    "manifests/cover.png": Buffer.concat([png, Buffer.from("new")]),
    "manifests/unsaved.png": Buffer.concat([png, Buffer.from("new, too")]),
  });
  await rm(join(shop.path, "manifests/gone.png"));
  git("commit", "--quiet", "--all", "--message", "Replace a picture");

  const { stdout } = await draftsync(["plan", "--format", "html"], { cwd: shop.path });
  const { page, requests, noises } = await viewer.view(stdout);
  expect([requests, noises]).toEqual([[], []]);
  const shown = await page
    .locator(".item")
    .evaluateAll((items) =>
      items.map((item) => [
        item.querySelector("code")?.textContent?.split("/").at(-1),
        ...[...item.querySelectorAll("img")].map(({ alt, naturalWidth }) => `${naturalWidth} ${alt}`),
      ]),
    );
  const [before, after] = ["1 The picture that is attached now", "1 The picture as it will be attached"];
  expect(shown.sort()).toEqual([
    ["cover.png", before, after],
    ["gone.png", before],
    ["unsaved.png", after],
  ]);
  await shop.dispose();
});

test("history --html prints a page for one run or several, with the drift of a run that refreshed", async () => {
  await folder.write({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\nrefresh: { attachments: probe }\n",
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11, renderer: arnold }]\n",
  });
  expect(await run("apply", "--auto-approve")).toMatchObject({ code: 0 });
  const one = await viewer.view((await run("history", "--html")).stdout);
  expect(await one.page.locator("h1").textContent()).toMatch(/^Run: apply/);
  expect(await one.page.locator("figure").count()).toBe(3);
  const [{ totals }] = JSON.parse((await run("history", "--json")).stdout).runs;
  expect(totals).toMatchObject({ done: 1, drift: 0 });

  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11, renderer: karma }]\n" });
  await run("apply", "--auto-approve");
  const two = await viewer.view((await run("history", "--html")).stdout);
  expect(await two.page.locator("h1").textContent()).toBe("History: w");
  expect(await two.page.locator("figure h3").allTextContents()).toContain("Drift by run");
  expect(await run("history", "--html", "--json")).toMatchObject({ code: 1 });
});
