import { afterEach, beforeEach, expect, test } from "vitest";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";

let folder: Folder;

beforeEach(async () => {
  const draft = (id: number, files: number) =>
    `draft: ${id}\nproduct_files: [${Array.from({ length: files }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ")}]\n`;
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": `${draft(1, 3)}publish: true\n---\n${draft(2, 2)}---\n${draft(3, 6)}---
duplicates: [{ name: copy, product: { draft: 1 } }, { name: other, product: 5 }]
`,
  });
});
afterEach(() => folder.dispose());

const run = (...args: string[]) => draftsync(args, { cwd: folder.path });
const apply = (...args: string[]) => run("apply", "--auto-approve", ...args);

test("a run stops at the end of a draft when its calls are used up, ends with 7, and the next one goes on", async () => {
  const first = await apply("--max-calls", "6", "--json");
  expect(first.code).toBe(7);
  const events = parseEvents(first.stdout);
  const ended = events.filter((event) => event.type === "change_finished");
  expect(events.at(-1)).toMatchObject({
    stopped: "max_calls",
    totals: { done: ended.length, failed: 0, skipped: 0, left: 14 - ended.length, calls: ended.length },
  });
  expect(ended.length).toBeLessThanOrEqual(6);
  const draftsBegun = new Set(ended.map(({ address }) => address.split("/")[1]));
  for (const [draft, changes] of [
    ["1", 4],
    ["2", 2],
    ["3", 6],
  ] as const) {
    const done = ended.filter(({ address }) => address.startsWith(`drafts/${draft}/`)).length;
    expect(done).toBe(draftsBegun.has(draft) ? changes : 0);
  }
  const rest = await apply();
  expect(rest).toMatchObject({ code: 0, stdout: expect.stringContaining(`${14 - ended.length} `) });
  expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
});

test("people are told what is left", async () => {
  expect(await apply("--max-calls", "4")).toMatchObject({
    code: 7,
    stderr: expect.stringContaining("left for the next run"),
  });
});

test("when no draft fits, that is said", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 4\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\n" });
  expect(await apply("--max-calls", "1")).toMatchObject({
    code: 7,
    stderr: expect.stringContaining("Nothing fits into --max-calls 1"),
  });
});

test.each([
  [["--max-calls", "0"], "--max-calls takes a whole number above 0, not 0"],
  [["--until", "yesterday"], "--until takes a time, not yesterday"],
])("%j is refused before anything is read", async (args, message) => {
  expect(await apply(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
});

test("looking at the service counts too", async () => {
  await folder.write({
    "draftsync.yaml":
      "version: 1\nworkspace: w\nservice: sandbox\nrefresh: { attachments: probe, max_calls: 100 }\n",
  });
  const ended = await apply("--max-calls", "4", "--json");
  const events = parseEvents(ended.stdout);
  const looked = events.find(({ type }) => type === "refresh_finished");
  expect(looked).toMatchObject({ max_calls: 4, calls: 4 });
  expect(events.at(-1)).toMatchObject({ type: "run_finished", stopped: "max_calls", totals: { calls: 0 } });
  expect(events.filter(({ type }) => type === "call_finished")).toHaveLength(4);
  expect(ended.code).toBe(7);
});
