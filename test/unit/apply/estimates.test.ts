import { afterEach, describe, expect, it } from "vitest";
import type { serviceProfileSchema } from "../../../src/service/profile.ts";
import type { World, WorldSettings } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World | undefined;

/** Uploads are pending when registered and have ended at the first read. */
async function start({ profile, sandbox }: WorldSettings = {}): Promise<World> {
  world = await startWorld({
    profile: { upload_poll_min: "600ms", upload_poll_max: "600ms", ...profile },
    sandbox: { uploadProcessingMs: 50, ...sandbox },
  });
  return world;
}

/** Calls of the API, without those to object storage. */
function callsOf({ requests }: World): number {
  return requests().filter((request) => request.includes("/api/")).length;
}

afterEach(async () => {
  await world?.close();
  world = undefined;
});

const sources = (from: number, count: number) =>
  Array.from({ length: count }, (_none, at) => `{ source: ../${from + at}.glb }`).join(", ");
const files = Object.fromEntries(Array.from({ length: 12 }, (_none, at) => [`${at}.glb`, `content ${at}`]));

/** The initial state: files to update, delete and replace, and a draft to publish again. */
const before = `
draft: 1
product_files: [{ file_id: 10, renderer: a }, { file_id: 11 }, { source: ../0.glb }]
publish: true
`;

/** Every kind of change, six uploads in one draft and more in others, one of them shared. */
const after = `
draft: 1
product_files: [{ file_id: 10, renderer: b }, { source: ../0.glb }]
publish: { revision: 2 }
---
draft: 2
product_files: [${sources(1, 5)}]
promotional_files: [{ source: ../6.glb }]
publish: true
---
draft: 3
product_files: [{ upload_key: incoming/a }, { upload_key: incoming/b }, { source: ../1.glb }]
---
draft: 4
publish: true
---
duplicates: [{ name: copy, product: 5 }, { name: of-draft, product: { draft: 2 } }]
`;

/** Each setting of `service.profile`, and the sandbox that fits it. */
const settings: Readonly<Record<keyof typeof serviceProfileSchema.shape, readonly WorldSettings[]>> = {
  types: [{ profile: { types: { draft: "draft" } } }],
  content_type: [{ profile: { content_type: "application/vnd.api+json; charset=utf-8" } }],
  update_method: [{ profile: { update_method: "PUT" } }],
  storage: [{ profile: { storage: { force_path_style: true } } }],
  uploads_query: [
    { profile: { uploads_query: null } },
    { profile: { uploads_query: "ids" }, sandbox: { behavior: { uploadsQuery: "ids" } } },
  ],
  uploads_page: [1, 2, 4, 1000].map((uploads_page) => ({ profile: { uploads_page } })),
  product_include: [{ profile: { product_include: ["draft"] } }],
  settle_delay: [{ profile: { settle_delay: "2s" } }],
  max_wait: [{ profile: { max_wait: "1s" } }],
  upload_deadline: [{ profile: { upload_deadline: "10s" } }],
  upload_poll_min: [{ profile: { upload_poll_min: "500ms" } }],
  upload_poll_max: [{ profile: { upload_poll_max: "500ms" } }],
};

const rows = Object.entries(settings).flatMap(([name, each]) =>
  each.map((setting) => ({ name, setting, text: JSON.stringify(setting.profile) })),
);

describe("estimated calls", () => {
  it.each([{ name: "no", setting: {}, text: "{}" }, ...rows])(
    "suffice for apply --max-calls and exceed it by at most three: $name setting, $text",
    async ({ setting }) => {
      const world = await start(setting);
      await world.write(before, files);
      const first = (await world.plan()).estimate.calls.min;
      expect(await world.apply(undefined, { maxCalls: first })).not.toHaveProperty("stopped");
      expect(callsOf(world)).toBeLessThanOrEqual(first);
      await world.write(after, { ...files, "0.glb": "new content" });
      const { calls } = (await world.plan()).estimate;
      const ended = await world.apply(undefined, { maxCalls: calls.min });
      expect(ended).not.toHaveProperty("stopped");
      expect(ended.totals).toMatchObject({ failed: 0, skipped: 0, in_doubt: 0, deferred: 0 });
      const made = callsOf(world);
      expect(made).toBeLessThanOrEqual(calls.min);
      // Uploads of several drafts may share a read, and one draft's response can replace the first read of another.
      expect(made).toBeGreaterThanOrEqual(calls.min - 3);
      expect((await world.plan()).changes).toEqual([]);
    },
  );

  it.each([
    [null, 19],
    [1, 19],
    [2, 16],
    [4, 15],
    [50, 14],
  ])("include the upload reads for six files of one draft: %s ids a call, %i calls", async (perRead, min) => {
    const profile = perRead === null ? { uploads_query: null } : { uploads_page: perRead };
    const world = await start({ profile });
    await world.write(`draft: 1\nproduct_files: [${sources(0, 6)}]\n`, files);
    expect((await world.plan()).estimate.calls.min).toBe(min);
    expect(await world.apply(undefined, { maxCalls: min })).not.toHaveProperty("stopped");
    expect(callsOf(world)).toBe(min);
  });

  it.each([
    ["a publish alone", "draft: 1\npublish: true\n", 2],
    ["a publish after an attachment", "draft: 1\nproduct_files: [{ file_id: 10 }]\npublish: true\n", 2],
    ["a duplicate alone", "duplicates: [{ name: copy, product: 5 }]\n", 2],
    [
      "a publish and its duplicate",
      "draft: 1\npublish: true\n---\nduplicates: [{ name: copy, product: { draft: 1 } }]\n",
      3,
    ],
  ])("include the read before %s", async (_name, manifest, min) => {
    const world = await start();
    await world.write(manifest);
    expect((await world.plan()).estimate.calls.min).toBe(min);
    expect(await world.apply(undefined, { maxCalls: min })).not.toHaveProperty("stopped");
    expect(callsOf(world)).toBe(min);
  });

  it.each([1, 2])("defer a publish and its read unless both fit in %i calls", async (maxCalls) => {
    const world = await start();
    await world.write("draft: 1\npublish: true\n");
    const ended = await world.apply(undefined, { maxCalls });
    expect(ended.totals.done).toBe(maxCalls - 1);
    expect(world.requests()).toHaveLength(maxCalls === 1 ? 0 : 2);
  });
});
