import { afterAll, beforeAll, expect, test } from "vitest";
import { openViewer, type Viewer } from "../browser/support/chromium.ts";
import { useFleet } from "../fleet/support/world.ts";
import { repository } from "../support/source-files.ts";

/** `npm run screenshots`: makes the picture of docs/fleet.md from a fleet that runs. */
const names = "atlas basalt cobalt dragon ember fjord granite harbor indigo juniper kestrel lantern".split(
  " ",
);
const fleet = useFleet({ names, files: 12 });
const { run, statuses, read, write, writeManifest, until, startWorker } = fleet;
let viewer: Viewer;
beforeAll(async () => {
  viewer = await openViewer();
});
afterAll(() => viewer.close());

test("a fleet of which two workspaces fail", async () => {
  await run("fleet", "apply");
  startWorker("--slots", "4");
  await run("fleet", "run", "--all");
  const count = async (wanted: string) =>
    (await statuses()).filter(({ status, running_on }) => status === wanted && running_on === undefined)
      .length;
  await until(async () => (await count("ok")) === names.length);
  await write("keys/dragon", "revoked\n");
  await writeManifest("dragon", "A later text");
  const config = await read("accounts/granite/draftsync.yaml");
  await write("accounts/granite/draftsync.yaml", config.replace("reconcile:", "recncile:"));
  await run("fleet", "pause", "harbor");
  await run("fleet", "run", "dragon", "granite");
  await until(async () => (await count("failing")) === 2);
  const { stdout } = await run("fleet", "status", "--html");
  const { page } = await viewer.view(stdout, {
    viewport: { width: 1040, height: 900 },
    colorScheme: "light",
  });
  await page.screenshot({ path: `${repository}docs/images/fleet.png` });
  expect(await page.locator("tbody tr").count()).toBe(names.length);
});
