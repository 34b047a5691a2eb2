import { afterAll, beforeAll, expect, test } from "vitest";
import type { Arrival, Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";

const key = "canary-key-3ce4";
const limit = 7;
const windowMs = 250;
let sandbox: Sandbox;
let folder: Folder;
const arrivals: Arrival[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ key, log: (arrival) => arrivals.push(arrival) });
  const ids = Array.from({ length: 30 }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
  folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: w
service:
  base_url: ${sandbox.url}
  rate: { limit: ${limit}, window: ${windowMs}ms }
  concurrency: 32
`,
    "manifests/a.yaml": [1, 2, 3]
      .map((draft) => `draft: ${draft}\nproduct_files: [${ids}]\npublish: true\n`)
      .join("---\n"),
  });
});
afterAll(async () => {
  await sandbox.close();
  await folder.dispose();
});

/** The largest number of arrivals in any window of the given length, closed at both ends. */
function largestWindow(times: readonly number[], length: number): number {
  let largest = 0;
  let from = 0;
  for (const [at, time] of times.entries()) {
    while (time - (times[from] ?? 0) > length) from += 1;
    largest = Math.max(largest, at - from + 1);
  }
  return largest;
}

test("no window at the server sees more calls than the bound, and none is refused", async () => {
  const { code } = await draftsync(["apply", "--auto-approve"], {
    cwd: folder.path,
    env: { DRAFTSYNC_API_KEY: key },
  });
  expect(code).toBe(0);
  const service = arrivals.filter(({ side }) => side === "service");
  expect(service).toHaveLength(93);
  expect(service.filter(({ status }) => status === 429)).toEqual([]);
  const times = service.map(({ monotonic }) => monotonic).sort((a, b) => a - b);
  expect(largestWindow(times, windowMs)).toBeLessThanOrEqual(limit);
  // The measure itself: a bound that idles would pass the line above.
  expect(largestWindow(times, windowMs)).toBeGreaterThan(limit / 2);
});
