import { cp } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { openViewer, type Viewer } from "../browser/support/chromium.ts";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

/** `npm run screenshots`: makes the pictures of docs/reference/report-page.md from the sample workspace and the real command. */
let viewer: Viewer;
let folder: Folder;
const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await draftsync(args, { cwd: folder.path });
  expect(code, stderr).toBe(0);
  return stdout;
};

const edits: readonly (readonly [string, string])[] = [
  ["She comes up where the charts show nothing.", "She comes up where the old charts show only water."],
  ["an hour before sunset", "half an hour before sunset"],
  ["the tail fluke still far out", "the tail fluke still far out at sea"],
];

beforeAll(async () => {
  viewer = await openViewer();
  folder = await makeFolder();
  await cp(`${repository}manifests`, folder.path, {
    recursive: true,
    filter: (path) => !path.endsWith(".draftsync"),
  });
  await run("apply", "--auto-approve");
  let description = await folder.read("texts/sea-serpent-hero.md");
  for (const [from, to] of edits) description = description.replace(from, to);
  const manifest = await folder.read("drafts/sea-serpent.yaml");
  await folder.write({
    "texts/sea-serpent-hero.md": description,
    "drafts/sea-serpent.yaml": manifest.replace(
      "file_format: gltf\n",
      "file_format: gltf\n    renderer: eevee\n",
    ),
    "drafts/beacon.yaml":
      "draft: 48270\nproduct_files: [{ file_id: 9900191, file_format: fbx }]\npublish: true\n",
  });
  await folder.remove("drafts/harbour.yaml");
});
afterAll(async () => {
  await viewer.close();
  await folder.dispose();
});

const picture = (name: string) => `${repository}docs/images/${name}.png`;

test("the plan: light, dark and narrow", async () => {
  const html = await run("plan", "--format", "html");
  const viewport = { width: 1040, height: 1180 };
  for (const [name, how] of [
    ["plan", { viewport, colorScheme: "light" }],
    ["plan-dark", { viewport, colorScheme: "dark", hash: "#draft=drafts%2F48213" }],
    ["plan-narrow", { viewport: { width: 360, height: 780 }, colorScheme: "light", hash: "#show=update" }],
  ] as const) {
    const { page } = await viewer.view(html, how);
    if (name !== "plan") await page.locator("#list").evaluate((list) => list.scrollIntoView());
    await page.screenshot({ path: picture(name) });
  }
});

/** Who ran it is of the machine that makes the pictures. */
async function hideStarter(page: Page): Promise<void> {
  for (const text of await page.locator(".facts dd, .group h3 code, .runs td").all()) {
    const shown = (await text.textContent()) ?? "";
    await text.evaluate(
      (element, words) => element.replaceChildren(words),
      shown.replace(/(\bby |^)\S+ on .*/, "$1you on laptop"),
    );
  }
}

test("a run, and several", async () => {
  const one = await run("history", "--html");
  const viewport = { width: 1040, height: 1400 };
  const { page } = await viewer.view(one, { viewport, colorScheme: "light" });
  await hideStarter(page);
  await page.screenshot({ path: picture("run") });
  await run("apply", "--auto-approve", "--remove-drafts", "--max-deletes", "100");
  for (const format of ["obj", "stl", "ply"]) {
    await folder.write({
      "drafts/crate.yaml": `draft: 48271\nproduct_files: [{ file_id: 9900192, file_format: ${format} }]\n`,
    });
    await run("apply", "--auto-approve");
  }
  const several = await viewer.view(await run("history", "--html"), { viewport, colorScheme: "dark" });
  await hideStarter(several.page);
  await several.page.screenshot({ path: picture("history") });
});

test("drift", async () => {
  const key = "sandbox-key";
  const sandbox = await startSandbox({ key });
  const shop = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: lantern-hill\nservice: { base_url: ${sandbox.url} }\n`,
    "manifests/sea-serpent.yaml":
      "draft: 48213\ntitle: Sea Serpent\nproduct_files:\n  - { file_id: 9900011, renderer: arnold }\n" +
      "promotional_files:\n  - { file_id: 9900016, description: One turn in twelve seconds. }\n  - { file_id: 9900017 }\n",
  });
  const options = { cwd: shop.path, env: { DRAFTSYNC_API_KEY: key } };
  expect((await draftsync(["apply", "--auto-approve"], options)).code).toBe(0);
  const headers = {
    authorization: `Token ${key}`,
    accept: "application/vnd.api+json; com.service.api.version=1",
    "content-type": "application/vnd.api+json",
  };
  const body = JSON.stringify({ data: { type: "product_file", attributes: { renderer: "vray" } } });
  const file = `${sandbox.url}/api/drafts/48213/product_files/9900011`;
  expect((await fetch(file, { method: "PATCH", headers, body })).ok).toBe(true);
  sandbox.detach({ draftId: 48213, kind: "promotional_file", fileId: 9900017 });
  const { code, stdout } = await draftsync(["drift", "--probe", "--format", "html"], options);
  expect(code).toBe(2);
  const { page } = await viewer.view(stdout, {
    viewport: { width: 1040, height: 620 },
    colorScheme: "light",
  });
  await page.screenshot({ path: picture("drift") });
  await sandbox.close();
  await shop.dispose();
});
