import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { formatWire } from "../support/wire.ts";

const key = "canary-key-5f1c";
let sandbox: Sandbox;
let folder: Folder;
let arrivals: RequestLogEntry[] = [];

const config = (url: string) => `
version: 1
workspace: lifecycle
manifests: ["manifests/*.yaml"]
service:
  base_url: ${url}
  concurrency: 1
  rate: { limit: 1000, window: 1s }
  profile: { upload_poll_min: 10ms }
`;

const dragon = `
draft: 101
product_files:
  - file_id: 5001
    file_format: fbx
    format_version: "2020"
    is_native: false
  - source: ../files/dragon.glb
    file_format: gltf
promotional_files:
  - file_id: 5002
    description: |
      A dragon, lit from the left.
      It has wings.
  - upload_key: incoming/turntable.mp4
    description: Turntable
publish: true
---
draft: 102
product_files:
  - file_id: 5003
    renderer: vray
  - file_id: 5004
  - source: ../files/tree.obj
---
duplicates:
  - name: dragon-winter
    product: { draft: 101 }
`;

const dragonLater = `
draft: 101
protect: false
product_files:
  - file_id: 5001
    file_format: fbx
    format_version: "2024"
    is_native: false
  - source: ../files/dragon.glb
    file_format: gltf
    renderer: ""
promotional_files:
  - file_id: 5002
    description: |
      A dragon, lit from the right.
      It has wings.
  - upload_key: incoming/turntable.mp4
    description: Turntable
  - file_id: 5005
publish: { revision: 2 }
---
draft: 102
product_files:
  - file_id: 5003
    renderer: vray
  - source: ../files/oak.obj
`;

beforeAll(async () => {
  sandbox = await startSandbox({ key, uploadProcessingMs: 0, log: (arrival) => arrivals.push(arrival) });
  folder = await makeFolder({
    "draftsync.yaml": config(sandbox.url),
    "manifests/dragon.yaml": dragon,
    "files/dragon.glb": "glTF first",
    "files/tree.obj": "v 0 0 0",
  });
});

afterAll(async () => {
  await sandbox.close();
  await folder.dispose();
});

function run(...args: string[]) {
  arrivals = [];
  return draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });
}

async function expectNoChanges(): Promise<void> {
  const plan = await run("plan", "--detailed-exitcode");
  expect(plan.stdout).toMatch(/^No changes\. /);
  expect(plan.code).toBe(0);
  const again = await run("apply", "--auto-approve");
  expect(again.code).toBe(0);
  expect(arrivals).toEqual([]);
}

/** Replaces ages, which differ between runs. */
const ageless = (text: string) => text.replaceAll(/just now|\d+ (s|min) ago/g, "a while ago");

describe("plan, apply, edit, plan and apply", () => {
  test("the first plan shows every create and sends nothing", async () => {
    const plan = await run("plan", "--detailed-exitcode");
    expect(plan.stderr).toMatch(/^note: there is no ledger at .*state\.db yet\n\n$/);
    expect(plan.code).toBe(2);
    expect(arrivals).toEqual([]);
    await expect(plan.stdout).toMatchFileSnapshot("../golden/lifecycle-1.plan.txt");
  });

  test("the first apply sends exactly the expected requests", async () => {
    const applied = await run("apply", "--auto-approve");
    expect(applied.stderr).toContain("Applied: 9 done.");
    expect(applied.code).toBe(0);
    await expect(formatWire(arrivals)).toMatchFileSnapshot("../golden/lifecycle-1.http");
    expect(sandbox.state().products).toHaveLength(2);
  });

  test("a second plan and apply find no changes and send nothing", expectNoChanges);

  test("the plan after an edit shows every other action", async () => {
    await folder.remove("files/tree.obj");
    await folder.write({
      "manifests/dragon.yaml": dragonLater,
      "files/dragon.glb": "glTF second",
      "files/oak.obj": "v 0 0 0",
    });
    const plan = await run("plan", "--out", "plan.json");
    expect(plan.code).toBe(0);
    expect(arrivals).toEqual([]);
    await expect(ageless(plan.stdout)).toMatchFileSnapshot("../golden/lifecycle-2.plan.txt");
    const shown = await run("show", "plan.json");
    expect(ageless(shown.stdout.replace(/Workspace: lifecycle at .*\n$/, ""))).toBe(ageless(plan.stdout));
  });

  test("apply of the saved plan sends exactly the expected requests", async () => {
    const applied = await run("apply", "plan.json", "--auto-approve");
    expect(applied.stderr).toContain("Applied: 8 done.");
    expect(applied.code).toBe(0);
    await expect(formatWire(arrivals)).toMatchFileSnapshot("../golden/lifecycle-2.http");
  });

  test("another plan and apply find no changes and send nothing", expectNoChanges);

  test("a saved plan is applied only once", async () => {
    const again = await run("apply", "plan.json", "--auto-approve");
    expect(again.code).toBe(0);
    expect(again.stderr).toContain("Nothing to do: this plan was applied completely");
    expect(arrivals).toEqual([]);
  });

  test("the service has what the manifests declare", () => {
    const held = sandbox
      .state()
      .attachments.map(({ draftId, kind, fileId, ...rest }) => ({ draftId, kind, fileId, ...rest }));
    expect(held.filter(({ draftId }) => draftId === 102).map(({ fileId }) => fileId)).toHaveLength(2);
    expect(held.find(({ fileId }) => fileId === 5001)).toMatchObject({
      attributes: { format_version: "2024" },
    });
    expect(sandbox.state().products).toHaveLength(3);
  });

  test("the key is in no file and no output", async () => {
    const exported = await run("state", "export");
    expect(exported.code).toBe(0);
    expect(`${exported.stdout}${await folder.read("plan.json")}`).not.toContain(key);
    expect((await folder.read(".draftsync/state.db")).includes(key)).toBe(false);
  });
});
