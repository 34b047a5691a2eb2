// Plans and applies in one process until standard input ends: `node --expose-gc cycles.mjs '{ "url", "key", "folder" }'`.
// Prints one JSON line a sample: cycles so far, bytes on the heap after a collection, resident bytes, open descriptors.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  applyPlan,
  buildPlan,
  loadManifests,
  openLedger,
  openService,
  serviceProfileSchema,
  systemClock,
} from "../../dist/index.js";

const { url, key, folder } = JSON.parse(process.argv[2]);
mkdirSync(folder, { recursive: true });
const rate = { limit: 500, windowMs: 100 };
const profile = serviceProfileSchema.parse({ settle_delay: "10ms" });
const ledger = await openLedger({ location: join(folder, "state.db"), clock: systemClock });
const outcomes = { track: () => ({ release: () => {}, save: () => undefined }) };
const cyclesPerSample = 10;
let ended = false;
process.stdin.on("end", () => {
  ended = true;
});
process.stdin.resume();

for (let cycle = 1; !ended; cycle += 1) {
  const { signal } = new AbortController();
  const service = openService({
    baseUrl: url,
    apiKey: key,
    rate,
    rateStore: ledger,
    concurrency: 4,
    timeoutMs: 5_000,
    profile,
    clock: systemClock,
    emit: () => {},
    root: folder,
  });
  // From a folder without manifests: what is desired is put together here.
  const { diagnostics } = await loadManifests({ root: folder, patterns: ["*.yaml"], sources: "hash" });
  const files = Array.from({ length: 8 }, (_none, at) => ({
    address: {
      type: "attachment",
      draftId: 900,
      kind: "product_files",
      ref: { by: "file_id", fileId: at + 1 },
    },
    attributes: { renderer: `cycle ${cycle % 3}` },
    file: "a.yaml",
    position: 1,
    positions: {},
  }));
  const attachments = files.slice(0, 4 + (cycle % 5));
  const draft = {
    draftId: 900,
    protect: false,
    managed: ["product_files"],
    attachments,
    file: "a.yaml",
    position: 1,
  };
  const plan = buildPlan({
    workspace: "cycles",
    serviceOrigin: url,
    desired: { drafts: [draft], duplicates: [] },
    recorded: await ledger.load(),
    rate,
    profile,
    diagnostics,
  });
  await applyPlan({
    plan,
    ledger,
    outcomes,
    service,
    storage: service.storage,
    clock: systemClock,
    emit: () => {},
    signal,
    settleDelayMs: profile.settle_delay,
    concurrency: 4,
    command: "apply",
  });
  await service.close();
  if (cycle % cyclesPerSample > 0) continue;
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  const descriptors = readdirSync("/proc/self/fd").length;
  process.stdout.write(`${JSON.stringify({ cycle, heapUsed, rss, descriptors })}\n`);
}
await ledger.close();
