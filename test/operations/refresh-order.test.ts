import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { Cli } from "../../src/cli/cli.ts";
import { reconcileOnce } from "../../src/cli/reconcile/serve.ts";
import { noInterrupts } from "../../src/cli/runtime/interrupts.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { systemClock } from "../../src/model/ports.ts";
import { makePalette } from "../../src/report/palette.ts";
import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../src/sandbox/server.ts";
import { probes, writes } from "../support/by-hand.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { recordedFile } from "../support/planning.ts";

const key = "canary-key-7a31";
const maxCalls = 7;
const runs = 20;
let arrivals: RequestLogEntry[] = [];
let sandbox: Sandbox;
let folder: Folder;

/** 100 files of ten drafts, the longest unconfirmed first, which is not the order of their ids. */
const files = Array.from({ length: 100 }, (_none, at) => {
  const fileId = ((at * 37 + 36) % 100) + 1;
  return { draftId: Math.ceil(fileId / 10), fileId, confirmedAt: 1_000_000 + at };
});
const paths = files.map(({ draftId, fileId }) => `/api/drafts/${draftId}/product_files/${fileId}`);

const manifest = Array.from({ length: 10 }, (_none, at) => {
  const draft = at + 1;
  const entries = files
    .filter(({ draftId }) => draftId === draft)
    .map(({ fileId }) => `{ file_id: ${fileId} }`);
  return `draft: ${draft}\nproduct_files: [${entries.join(", ")}]\n`;
}).join("---\n");

/** Starts a service with all files and a ledger that records them. `rules` are faults of the sandbox. */
async function start(rules: readonly object[] = []): Promise<void> {
  sandbox = await startSandbox({
    key,
    log: (arrival) => void arrivals.push(arrival),
    ...(rules.length === 0 ? {} : { faults: FaultRulesSchema.parse({ rules }) }),
  });
  for (const { draftId, fileId } of files) sandbox.attach({ draftId, kind: "product_file", fileId });
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: w
service: { base_url: ${sandbox.url}, rate: { limit: 500, window: 100ms }, profile: { settle_delay: 1ms } }
refresh: { attachments: probe, max_calls: ${maxCalls} }
`,
    "manifests/a.yaml": manifest,
  });
  const ledger = await openLedger({ location: join(folder.path, ".draftsync/state.db"), clock: systemClock });
  await ledger.record(
    files.map(({ draftId, fileId, confirmedAt: at }) => ({
      type: "attached",
      attachment: recordedFile(draftId, fileId, { provenance: { by: "post", at } }),
    })),
  );
  await ledger.close();
}

beforeEach(() => {
  arrivals = [];
});
afterEach(async () => {
  await sandbox.close();
  await folder.dispose();
});

const refreshSchema = z.looseObject({ calls: z.int(), unreadable: z.int() });

/** Runs reconcile in this process; returns its exit code and its refresh_finished event. */
async function reconcile() {
  const plain = makePalette(false);
  const interrupts = noInterrupts();
  let code: number | undefined;
  let reported = "";
  const cli: Cli = {
    env: { DRAFTSYNC_API_KEY: key },
    cwd: folder.path,
    terminal: {
      out: (text) => {
        reported += text;
      },
      show: (text) => {
        reported += text;
      },
      err: () => {},
      paintOut: plain,
      paintErr: plain,
      interactive: false,
      isAttached: false,
      log: () => true,
      isVerbose: false,
      adjust: () => {},
      readAll: async () => "",
      ask: async () => undefined,
    },
    signal: interrupts.drain,
    interrupts,
    end: (exitCode) => {
      code = exitCode;
    },
  };
  await reconcileOnce(cli, { json: true, refresh: "budget" });
  const events: { readonly type: string }[] = reported
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { code, refreshed: events.find(({ type }) => type === "refresh_finished") };
}

test("20 runs with a budget of 7 calls check each of 100 files, the longest unconfirmed first", async () => {
  await start();
  const chunks: string[][] = [];
  for (let run = 0; run < runs; run += 1) {
    const before = arrivals.length;
    // The first and the last run are real processes.
    if (run === 0 || run === runs - 1) {
      const { code, stdout } = await draftsync(["reconcile"], {
        cwd: folder.path,
        env: { DRAFTSYNC_API_KEY: key },
      });
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("over the budget of 7 calls; 93 left"),
      });
    } else {
      expect(await reconcile()).toMatchObject({ code: 0, refreshed: { calls: 7, checked: 7, deferred: 93 } });
    }
    chunks.push(probes(arrivals.slice(before)));
  }
  expect(writes(arrivals)).toEqual([]);
  // Fourteen runs check all files in order; the others start again.
  const wanted = [...paths, ...paths];
  for (const [run, chunk] of chunks.entries()) {
    const due = wanted.slice(run * maxCalls, (run + 1) * maxCalls);
    // After 98 files a run wraps around, and files confirmed at the same time have no order.
    if ((run + 1) * maxCalls <= 98) expect([...chunk].sort()).toEqual([...due].sort());
    expect(chunk).toHaveLength(maxCalls);
  }
  expect(new Set(chunks.slice(0, 15).flat())).toEqual(new Set(paths));
});

test("files that cannot be read do not keep other files from being checked", async () => {
  const when = { method: "PATCH", path: "/api/drafts/4/**" };
  await start([{ fault: "status", status: 503, effect: "none", times: "always", when }]);
  let unreadable = 0;
  for (let run = 0; run < runs; run += 1) {
    const before = arrivals.length;
    const { refreshed } = await reconcile();
    const { calls, unreadable: failed } = refreshSchema.parse(refreshed);
    expect(arrivals.length - before).toBeLessThanOrEqual(maxCalls);
    expect(calls).toBe(arrivals.length - before);
    unreadable += failed;
  }
  expect(new Set(probes(arrivals))).toEqual(new Set(paths));
  expect(writes(arrivals)).toEqual([]);
  // Each of the ten gets three attempts, or fewer at the end of the budget, and none before the others had a turn.
  const failed = probes(arrivals).filter((path) => path.includes("/drafts/4/"));
  expect(failed.length).toBeLessThanOrEqual(30 + 3 * maxCalls);
  expect(unreadable).toBeGreaterThanOrEqual(10);
});
