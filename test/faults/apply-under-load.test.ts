import { join } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { systemClock } from "../../src/model/ports.ts";
import { draftsync } from "../support/cli.ts";
import { useWorkspace } from "../support/workspace.ts";

// Enough concurrent calls that several commits to the ledger are grouped.
const [drafts, filesEach] = [40, 10];
const fileId = (draft: number, at: number) => draft * 100 + at;
const list = (draft: number) =>
  Array.from({ length: filesEach }, (_none, at) => `{ file_id: ${fileId(draft, at)} }`).join(", ");

const { sandbox, proxy, folder, options, run, start } = useWorkspace({
  files: Object.fromEntries(
    Array.from({ length: drafts }, (_none, at) => [
      `manifests/${at + 1}.yaml`,
      `draft: ${at + 1}\nproduct_files: [${list(at + 1)}]\n`,
    ]),
  ),
  service: { rate: "{ limit: 100000, window: 1s }", concurrency: "32" },
});

const location = () => join(folder.path, ".draftsync/state.db");
const apply = ["apply", "--auto-approve", "--json"];

function countEach(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** Requests that arrived without an operation in the ledger. */
async function unknownRequests(): Promise<string[]> {
  const ledger = await openLedger({ location: location(), clock: systemClock });
  const operations = await ledger.operations();
  await ledger.close();
  const journaled = countEach(operations.map(({ method, path }) => `${method} ${path}`));
  return [...countEach(proxy.seen)].flatMap(([request, seen]) =>
    seen > (journaled.get(request) ?? 0) ? [request] : [],
  );
}

async function expectConverged(): Promise<void> {
  expect(await run(...apply)).toMatchObject({ code: 0 });
  const attached = sandbox.state().attachments.map((attachment) => attachment.fileId);
  expect(attached).toHaveLength(drafts * filesEach);
  expect(new Set(attached).size).toBe(drafts * filesEach);
  proxy.seen.splice(0);
  expect(await run(...apply)).toMatchObject({ code: 0 });
  expect(proxy.seen).toEqual([]);
}

test.each([1, 60, 250])(
  "after a kill at request %i, the ledger has every sent request and everything that was reported",
  async (last) => {
    const running = start(apply);
    proxy.choose = () => {
      if (proxy.seen.length === last) running.kill("SIGKILL");
      return undefined;
    };
    const { stdout } = await running.ended;
    proxy.choose = () => undefined;
    expect(proxy.seen.length).toBeGreaterThanOrEqual(last);
    expect(await unknownRequests()).toEqual([]);
    const reported = stdout.split("\n").filter((line) => line.includes('"change_finished"')).length;
    const ledger = await openLedger({ location: location(), clock: systemClock });
    expect((await ledger.load()).attachments.length).toBeGreaterThanOrEqual(reported);
    await ledger.close();
    await expectConverged();
  },
);

test("after the disk fills up mid-run, the recovery log has what was sent and not recorded", async () => {
  const ended = await draftsync(apply, { ...options(), maxFileBytes: 400 });
  expect([3, 4]).toContain(ended.code);
  expect(proxy.seen.length).toBeGreaterThan(0);
  expect(await unknownRequests()).toEqual([]);
  if (ended.code === 4) expect(await run("state", "recover")).toMatchObject({ code: 0 });
  await expectConverged();
});
