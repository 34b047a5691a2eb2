import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { callByHand, probes, writes } from "../support/by-hand.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";

const key = "canary-key-0b5e";
let arrivals: RequestLogEntry[] = [];
let sandbox: Sandbox;
let folder: Folder;

const run = (...args: string[]) =>
  draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key, DRAFTSYNC_BASE_URL: sandbox.url } });
const singleCall = async (method: string, path: string, attributes?: object) => {
  const call = { method, path: `/api/${path}`, ...(attributes === undefined ? {} : { attributes }) };
  expect(await callByHand(sandbox, key, call)).toBeLessThan(300);
};

const ours = `draft: 1
product_files:
  - { file_id: 11, renderer: arnold }
  - { file_id: 12, renderer: arnold, file_format: fbx }
  - { file_id: 13, renderer: arnold }
promotional_files: [{ file_id: 21, description: Front view }]
publish: true
`;
const second = `draft: 2
product_files: [{ file_id: 31, renderer: arnold }]
`;
const third = `draft: 3
product_files:
  - { file_id: 41, renderer: arnold }
  - { file_id: 42, renderer: arnold }
  - { file_id: 43, renderer: arnold }
`;

/** The parts of a JSON plan that these tests check, as short strings. */
async function planned(...flags: string[]) {
  const { stdout, code } = await run("plan", "--format", "json", ...flags);
  const { drift, changes, refresh, diagnostics } = JSON.parse(stdout);
  return {
    code,
    drift: drift?.map((item: { type: string; address: string }) => `${item.type} ${item.address}`),
    changes: changes.map(
      (item: { action: string; reason: string; address: string }) =>
        `${item.action} ${item.reason} ${item.address}`,
    ),
    refresh,
    diagnostics: diagnostics.map((item: { code: string }) => item.code),
  };
}

/** Address, nonempty attributes and provenance of each record. */
async function recorded(): Promise<string[]> {
  const { stdout } = await run("state", "export");
  const { attachments }: { attachments: Entry[] } = JSON.parse(stdout);
  return attachments.map(({ address, attributes, provenance }) => {
    const reported = Object.entries(attributes).filter(([, value]) => value !== "");
    return `${address} ${JSON.stringify(Object.fromEntries(reported))} ${provenance.by}`;
  });
}

interface Entry {
  readonly address: string;
  readonly attributes: object;
  readonly provenance: { readonly by: string };
}

beforeEach(async () => {
  sandbox = await startSandbox({ key, log: (arrival) => void arrivals.push(arrival) });
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: w
service: { base_url: https://api.example.com, rate: { limit: 500, window: 1s }, profile: { settle_delay: 1ms } }
refresh: { attachments: probe }
`,
    "manifests/a.yaml": `${ours}---\n${second}`,
  });
  expect((await run("apply", "--auto-approve")).code).toBe(0);
  arrivals = [];
});
afterEach(async () => {
  await sandbox.close();
  await folder.dispose();
});

/** Edits an attribute, detaches a file, attaches files and removes a product, all outside draftsync. */
async function changeOutsideDraftsync(): Promise<void> {
  await folder.write({ "manifests/a.yaml": [ours, second, third].join("---\n") });
  await singleCall("PATCH", "drafts/1/product_files/11", { renderer: "vray" });
  await singleCall("DELETE", "drafts/1/product_files/12");
  await singleCall("PATCH", "drafts/1/promotional_files/21", { description: "" });
  await singleCall("POST", "drafts/3/product_files", { file_id: 41, renderer: "arnold" });
  await singleCall("POST", "drafts/3/product_files", { file_id: 42, renderer: "vray" });
  const [product] = sandbox.state().products;
  sandbox.removeProduct(product?.id ?? 0);
  arrivals = [];
}

const seen = [
  "product_gone drafts/1/product",
  "changed drafts/1/product_files/11",
  "gone drafts/1/product_files/12",
  "changed drafts/1/promotional_files/21",
  "found drafts/3/product_files/41",
  "found drafts/3/product_files/42",
];
const remedies = [
  "update drifted drafts/1/product_files/11",
  "create gone drafts/1/product_files/12",
  "update drifted drafts/1/promotional_files/21",
  "adopt found drafts/3/product_files/41",
  "update attributes_differ drafts/3/product_files/42",
  "create not_recorded drafts/3/product_files/43",
];
const remedyWrites = [
  'PATCH /api/drafts/1/product_files/11 {"renderer":"arnold"}',
  'PATCH /api/drafts/1/promotional_files/21 {"description":"Front view"}',
  'PATCH /api/drafts/3/product_files/42 {"renderer":"arnold"}',
  'POST /api/drafts/1/product_files {"file_id":12,"file_format":"fbx","renderer":"arnold"}',
  'POST /api/drafts/3/product_files {"file_id":43,"renderer":"arnold"}',
];

/** The service matches the manifests, and nothing was published again. */
function expectConverged(): void {
  const held = sandbox
    .state()
    .attachments.map(
      ({ draftId, fileId, attributes }) => `${draftId}/${fileId} ${JSON.stringify(attributes)}`,
    );
  expect(held.sort()).toEqual(
    [
      '1/11 {"renderer":"arnold"}',
      '1/12 {"file_format":"fbx","renderer":"arnold"}',
      '1/13 {"renderer":"arnold"}',
      '1/21 {"description":"Front view"}',
      '2/31 {"renderer":"arnold"}',
      '3/41 {"renderer":"arnold"}',
      '3/42 {"renderer":"arnold"}',
      '3/43 {"renderer":"arnold"}',
    ].sort(),
  );
  expect(sandbox.state().products).toEqual([]);
}

describe("changes made by another client", () => {
  test("are reported by type and reverted by the saved plan", async () => {
    await changeOutsideDraftsync();
    const blind = await planned("--refresh", "none");
    expect(blind).toMatchObject({ drift: undefined, refresh: undefined, diagnostics: [] });
    expect(blind.changes).toEqual(
      [41, 42, 43].map((id) => `create not_recorded drafts/3/product_files/${id}`),
    );
    expect(arrivals).toEqual([]);

    const plan = await planned("--out", "plan.json");
    expect(plan).toMatchObject({ code: 0, drift: seen, changes: remedies, diagnostics: ["product-gone"] });
    // Five recorded files, one product, and three files of a draft that is not recorded yet.
    expect(plan.refresh).toMatchObject({ calls: 9, checked: 9, unreadable: 0, deferred: 0, max_calls: 500 });
    expect(writes(arrivals)).toEqual([]);
    expect(probes(arrivals)).toHaveLength(8);

    arrivals = [];
    expect((await run("apply", "plan.json", "--auto-approve")).code).toBe(0);
    expect(probes(arrivals)).toEqual([]);
    expect(writes(arrivals)).toEqual(remedyWrites);
    expectConverged();
    // A plan does not write the ledger: its drift is recorded by the apply, its confirmations are not.
    expect(await recorded()).toEqual([
      'drafts/1/product_files/11 {"renderer":"arnold"} patch',
      'drafts/1/product_files/12 {"file_format":"fbx","renderer":"arnold"} post',
      'drafts/1/product_files/13 {"renderer":"arnold"} post',
      'drafts/1/promotional_files/21 {"description":"Front view"} patch',
      'drafts/2/product_files/31 {"renderer":"arnold"} post',
      'drafts/3/product_files/41 {"renderer":"arnold"} probe',
      'drafts/3/product_files/42 {"renderer":"arnold"} patch',
      'drafts/3/product_files/43 {"renderer":"arnold"} post',
    ]);
    arrivals = [];
    expect((await run("apply", "plan.json", "--auto-approve")).code).toBe(0);
    expect(arrivals).toEqual([]);
  });

  test("are reverted by apply, and a second apply only probes", async () => {
    await changeOutsideDraftsync();
    const { code, stdout } = await run("apply", "--auto-approve", "--json");
    expect(code).toBe(0);
    expect(writes(arrivals)).toEqual(remedyWrites);
    expectConverged();
    const events = parseEvents(stdout);
    expect(events[0]).toMatchObject({ type: "refresh_started", format_version: 1, calls: 9 });
    const types = events.map(({ type }) => type).filter((type) => type !== "call_finished");
    expect(types.slice(0, 4)).toEqual(["refresh_started", "refresh_finished", "planned", "run_started"]);
    expect(events.find(({ type }) => type === "refresh_finished")).toMatchObject({ drift: 6, calls: 9 });
    expect(types.at(-1)).toBe("run_finished");

    arrivals = [];
    const again = await run("apply", "--auto-approve");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("No changes.") });
    expect(writes(arrivals)).toEqual([]);
    expect(probes(arrivals)).toHaveLength(8);
    expect(new Set((await recorded()).map((line) => line.split(" ").at(-1)))).toEqual(new Set(["probe"]));
    expect((await run("state", "show", "drafts/1/product_files/12")).stdout).toContain("probe");
    // The missing product is reported by every run and never published again.
    expect(again.stdout).toContain("[product-gone]");
  });

  test("are recorded without a call if they match the manifest; only a full refresh finds a file attached to a known draft", async () => {
    await singleCall("PATCH", "drafts/1/product_files/11", { renderer: "vray" });
    await singleCall("POST", "drafts/1/product_files", { file_id: 14 });
    const wished = ours.replace("arnold", "vray").replace("promotional", "  - { file_id: 14 }\npromotional");
    await folder.write({ "manifests/a.yaml": `${wished}---\n${second}` });
    const near = await planned();
    expect(near.drift).toEqual(["changed drafts/1/product_files/11"]);
    expect(near.changes).toEqual(["create not_recorded drafts/1/product_files/14"]);
    arrivals = [];
    const { code, stdout } = await run("apply", "--auto-approve", "--refresh", "full");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("1 to adopt") });
    expect(writes(arrivals)).toEqual([]);
    expect(await recorded()).toEqual(
      expect.arrayContaining([
        'drafts/1/product_files/11 {"renderer":"vray"} probe',
        "drafts/1/product_files/14 {} probe",
      ]),
    );
    const full = await planned("--refresh", "full");
    expect(full).toMatchObject({
      drift: [],
      changes: [],
      refresh: { mode: "full", max_calls: null, deferred: 0 },
    });
  });

  test("are reverted at the given targets only, even for a draft in no manifest", async () => {
    await folder.write({ "manifests/a.yaml": ours });
    await singleCall("PATCH", "drafts/1/product_files/11", { renderer: "vray" });
    await singleCall("DELETE", "drafts/2/product_files/31");
    arrivals = [];
    const { code, stderr } = await run("apply", "--auto-approve", "--target", "drafts/2");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(writes(arrivals)).toEqual([]);
    expect((await recorded()).filter((line) => line.startsWith("drafts/2"))).toEqual([]);
    const { drift, changes } = await planned();
    expect(drift).toEqual(["changed drafts/1/product_files/11"]);
    expect(changes).toEqual(["update drifted drafts/1/product_files/11"]);
  });
});

describe("drift found by reconcile", () => {
  const metrics = async () => folder.read("m.prom");
  const reconcile = () => run("reconcile", "--metrics-file", "m.prom");

  test("is reverted if the policy allows it, and every run reports how much was found", async () => {
    await changeOutsideDraftsync();
    expect(await reconcile()).toMatchObject({ code: 0 });
    expect(writes(arrivals)).toEqual(remedyWrites);
    expectConverged();
    expect(await metrics()).toContain('draftsync_drift{workspace="w"} 6\n');
    arrivals = [];
    expect(await reconcile()).toMatchObject({ code: 0 });
    expect(writes(arrivals)).toEqual([]);
    // The missing product stays.
    expect(await metrics()).toContain('draftsync_drift{workspace="w"} 1\n');
  });

  test("is recorded and excluded if the policy does not allow the change", async () => {
    const config = await folder.read("draftsync.yaml");
    await folder.write({ "draftsync.yaml": `${config}reconcile: { allow: [create] }\n` });
    await changeOutsideDraftsync();
    expect(await reconcile()).toMatchObject({ code: 0 });
    expect(writes(arrivals)).toEqual(remedyWrites.filter((line) => line.startsWith("POST")));
    expect(await metrics()).toContain('draftsync_excluded{action="update",workspace="w"} 3\n');
    expect(await recorded()).toEqual(
      expect.arrayContaining([
        'drafts/1/product_files/11 {"renderer":"vray"} probe',
        'drafts/3/product_files/41 {"renderer":"arnold"} probe',
        'drafts/3/product_files/42 {"renderer":"vray"} probe',
      ]),
    );
    expect((await planned("--refresh", "none")).changes).toEqual([
      "update attributes_differ drafts/1/product_files/11",
      "update attributes_differ drafts/1/promotional_files/21",
      "update attributes_differ drafts/3/product_files/42",
    ]);
  });
});
