import { expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { parseEvents } from "../support/events.ts";
import { answerProcessing } from "../support/registrations.ts";
import { useWorkspace } from "../support/workspace.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
const draft = (id: number, count: number) => `draft: ${id}\nproduct_files: [${files(count)}]\n`;
const publishedDraft = (count: number) => `${draft(1, count)}publish: true\n`;

const { apply, arrivals, config, folder, options, proxy, run, sandbox, start } = useWorkspace({
  files: { "manifests/a.yaml": publishedDraft(150) },
});

/** Calls to the service; calls to object storage have no limit. */
const calls = () =>
  arrivals.flatMap(({ method, path }) => (path.startsWith("/api/") ? [`${method} ${path}`] : []));

test("a draft larger than --max-calls continues in the next run and is published last", async () => {
  expect(await apply("--max-calls", "100")).toMatchObject({
    code: 7,
    stderr: expect.stringContaining("100 done, 51 left for the next run"),
  });
  expect(calls()).toHaveLength(100);
  expect(calls()).not.toContain("POST /api/products");
  expect(await apply("--max-calls", "100")).toMatchObject({ code: 0 });
  expect(calls()).toHaveLength(151);
  expect(calls().at(-1)).toBe("POST /api/products");
  expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
});

test("a limited run after one that ended at its limit makes its changes first, and the next one checks again", async () => {
  await folder.write({ "manifests/a.yaml": draft(1, 12) });
  await apply();
  await folder.write({
    ...config("refresh: { attachments: probe }\n"),
    "ledger.json": (await run("state", "export")).stdout,
  });
  await folder.remove(".draftsync");
  await run("state", "import", "ledger.json");
  const limited = (until: string) =>
    start(["apply", "--auto-approve", "--json", "--until", until], { DRAFTSYNC_RATE: "4/1h" }).ended;
  for (const _run of [1, 2]) expect(await limited("20s")).toMatchObject({ code: 0 });
  await folder.write({ "manifests/b.yaml": publishedDraft(1).replace("draft: 1", "draft: 2") });
  const checked = async () => {
    const { code, stdout, stderr } = await limited("2s");
    const isNoted = stderr.includes("this run makes its changes without a check");
    const refresh = parseEvents(stdout).find((event) => event.type === "refresh_started");
    return [code, refresh?.calls, isNoted];
  };
  expect([await checked(), await checked(), await checked()]).toEqual([
    [7, 13, false],
    [7, undefined, true],
    [7, 13, false],
  ]);
  // Without changes nothing else needs the calls.
  await folder.remove("manifests/b.yaml");
  expect(await checked()).toEqual([0, 12, false]);
});

test("every deferred change has an event and is counted in the totals", async () => {
  const { code, stdout } = await apply("--max-calls", "4", "--json");
  const events = parseEvents(stdout);
  const finished = events.filter((event) => event.type === "change_finished");
  expect([code, finished.length]).toEqual([7, 151]);
  expect(finished.filter(({ outcome }) => outcome === "deferred")).toHaveLength(147);
  expect(finished.at(-1)).toMatchObject({ outcome: "deferred", because: "max_calls" });
  expect(events.at(-1)).toMatchObject({
    stopped: "max_calls",
    totals: { done: 4, failed: 0, skipped: 0, deferred: 147, calls: 4 },
  });
});

test("several drafts share --max-calls, and a duplicate waits for the publish of its draft", async () => {
  await folder.write({
    "manifests/a.yaml": `${publishedDraft(3)}---\n${draft(2, 2)}---\n${draft(3, 6)}---
duplicates: [{ name: copy, product: { draft: 1 } }]
`,
  });
  const codes: number[] = [];
  for (let runs = 0; runs < 3; runs += 1) codes.push((await apply("--max-calls", "5")).code);
  expect(codes).toEqual([7, 7, 0]);
  // A run reads once before its first publish or duplicate, unless the service has returned a document already.
  const reads = calls().filter((line) => line.startsWith("GET "));
  expect([calls().length - reads.length, reads.length <= 2]).toEqual([13, true]);
  const copied = calls().findIndex((line) => line.endsWith("/duplicate"));
  expect(copied).toBeGreaterThan(calls().indexOf("POST /api/products"));
});

test("--until stops between two operations of a draft and does not wait for the rate limit", async () => {
  const { "draftsync.yaml": text } = config();
  await folder.write({ "draftsync.yaml": text.replace("limit: 1000, window: 1s", "limit: 10, window: 1h") });
  const ended = await apply("--until", "8s", "--json");
  expect([ended.code, calls().length]).toEqual([7, 10]);
  expect(parseEvents(ended.stdout).at(-1)).toMatchObject({
    type: "run_finished",
    stopped: "until",
    totals: { done: 10, failed: 0, skipped: 0, deferred: 141 },
  });
});

test("--until does not wait for a Retry-After", async () => {
  proxy.choose = () => ({ type: "answer", status: 429, headers: { "retry-after": "60" } });
  const ended = await apply("--until", "2s", "--json");
  expect(parseEvents(ended.stdout).at(-1)).toMatchObject({ stopped: "until", totals: { done: 0 } });
});

test.each(["2", "3"])(
  "replaces with --max-calls %s finish and detach each old file once",
  async (maxCalls) => {
    const sources = (count: number, content: string) =>
      Object.fromEntries(
        Array.from({ length: count }, (_none, at) => [`files/${at}.glb`, `${content} ${at}`]),
      );
    const list = Array.from({ length: 4 }, (_none, at) => `{ source: ../files/${at}.glb }`).join(", ");
    await folder.write({ "manifests/a.yaml": `draft: 1\nproduct_files: [${list}]\n`, ...sources(4, "old") });
    expect(await apply()).toMatchObject({ code: 0 });
    const old = sandbox.state().attachments.map(({ fileId }) => fileId);
    await folder.write(sources(4, "new"));
    arrivals.length = 0;
    let runs = 0;
    let code = 7;
    while (code === 7 && runs < 40) {
      const before = calls().length;
      ({ code } = await apply("--max-calls", maxCalls));
      runs += 1;
      expect(calls().length - before).toBeGreaterThan(0);
      expect(calls().length - before).toBeLessThanOrEqual(Number(maxCalls));
    }
    expect(code).toBe(0);
    const now = sandbox.state().attachments.map(({ fileId }) => fileId);
    expect([now.length, now.filter((id) => old.includes(id))]).toEqual([4, []]);
    const detached = calls().filter((line) => line.startsWith("DELETE"));
    expect([detached.length, new Set(detached).size]).toEqual([4, 4]);
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  },
);

test.each([
  ["one by one", "3", "uploads_query: null"],
  ["in lists", "2", "uploads_page: 100"],
])("uploads named by id are read %s once each, with --max-calls %s", async (_how, maxCalls, setting) => {
  const { "draftsync.yaml": text } = config();
  const profile = `profile: { ${setting}, upload_poll_min: 1ms, settle_delay: 1ms }`;
  await folder.write({ "draftsync.yaml": text.replace(/profile: .*/, profile) });
  const ids: string[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    await folder.write({ [`${name}.glb`]: name });
    const { stdout } = await run("uploads", "create", `${name}.glb`, "--wait", "--state", "other.db");
    ids.push(/"upload_id": ?"([^"]+)"/.exec(stdout)?.[1] ?? "");
  }
  const list = ids.map((id) => `{ upload_id: "${id}" }`).join(", ");
  await folder.write({ "manifests/a.yaml": `draft: 1\nproduct_files: [${list}]\n` });
  arrivals.length = 0;
  const codes: number[] = [];
  while (codes.at(-1) !== 0 && codes.length < 8) codes.push((await apply("--max-calls", maxCalls)).code);
  const reads = calls().filter((line) => line.startsWith("GET"));
  expect([codes.at(-1), reads.length]).toEqual([0, setting === "uploads_query: null" ? 4 : 1]);
  expect(sandbox.state().attachments).toHaveLength(4);
});

test.each(["budget", "full"])("a refresh in the mode %s uses at most half of --max-calls", async (mode) => {
  expect(await apply()).toMatchObject({ code: 0 });
  await folder.write({
    "draftsync.yaml": `${config()["draftsync.yaml"]}refresh: { attachments: probe, max_calls: 100, max_age: ${mode === "full" ? "1h" : "0s"} }\n`,
    "manifests/a.yaml": publishedDraft(170),
  });
  arrivals.length = 0;
  const ended = await apply("--max-calls", "10", "--refresh", mode, "--json");
  const events = parseEvents(ended.stdout);
  expect(events.find(({ type }) => type === "refresh_finished")).toMatchObject({
    mode,
    max_calls: 5,
    calls: 5,
  });
  expect(events.at(-1)).toMatchObject({ stopped: "max_calls", totals: { done: 5, calls: 5 } });
  expect([ended.code, calls().length]).toEqual([7, 10]);
});

test("reconcile --interval progresses through a draft larger than --max-calls and reports it", async () => {
  await folder.write({ "manifests/a.yaml": draft(1, 150) });
  const service = start(["reconcile", "--interval", "1s", "--max-calls", "40"]);
  await expect.poll(service.stderr, { timeout: 60_000 }).toContain("ok: 30 done, 30 calls");
  service.kill("SIGTERM");
  const { stderr } = await service.ended;
  expect(stderr.match(/deferred to the next run: 40 done, \d+ deferred, 40 calls/g)).toHaveLength(3);
});

test("a limit too small for the next operation exits with 1 and names a limit that fits", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
  const { code, stderr } = await apply("--max-calls", "1");
  expect([code, calls()]).toEqual([1, []]);
  expect(stderr).toContain(
    "error: --max-calls 1 is too small: the next operation takes 2.\n  Use --max-calls 2 or more.\n",
  );
  expect(await apply("--max-calls", "2")).toMatchObject({ code: 0 });
});

const refusal = (status: number) => {
  const headers = { "content-type": "application/vnd.api+json" };
  return { type: "answer", status, body: `{"errors":[{"status":"${status}"}]}`, headers } as const;
};
const many = Array.from({ length: 12 }, (_none, at) => 11 + at);

test("drafts that are refused in every run do not use up --max-calls for ever", async () => {
  await folder.write({
    "manifests/a.yaml": many.map((id) => draft(id, 1)).join("---\n"),
    "manifests/b.yaml": draft(90, 2),
  });
  proxy.choose = ({ path }) => (path.startsWith("/api/drafts/90/") ? undefined : refusal(400));
  const codes: number[] = [];
  for (let runs = 0; runs < 3; runs += 1) codes.push((await apply("--max-calls", "6")).code);
  expect(codes).toEqual([3, 3, 3]);
  expect(sandbox.state().attachments).toMatchObject([{ draftId: 90 }, { draftId: 90 }]);
});

test("uploads that are refused in every run do not use up --max-calls for ever", async () => {
  const sources = many.map((id) => [`files/${id}.obj`, `content ${id}`] as const);
  await folder.write({
    ...Object.fromEntries(sources),
    "manifests/a.yaml": many
      .map((id) => `draft: ${id}\nproduct_files: [{ source: ../files/${id}.obj }]\n`)
      .join("---\n"),
    "manifests/b.yaml": draft(90, 2),
  });
  proxy.choose = ({ method, path }) =>
    method === "POST" && path === "/api/uploads" ? refusal(422) : undefined;
  for (let runs = 0; runs < 4; runs += 1) expect((await apply("--max-calls", "6")).code).toBe(3);
  expect(sandbox.state().attachments).toMatchObject([{ draftId: 90 }, { draftId: 90 }]);
});

test.each([6, 12])(
  "a draft in doubt is settled although %d others are refused in every run",
  async (count) => {
    await folder.write({ "manifests/b.yaml": draft(90, 1), "manifests/a.yaml": draft(89, 0) });
    proxy.choose = ({ path }) => (path.startsWith("/api/drafts/90/") ? { type: "answer-lost" } : undefined);
    expect((await apply("--max-calls", "1")).code).toBe(4);
    const refused = many.slice(0, count).map((id) => draft(id, 1));
    await folder.write({ "manifests/a.yaml": refused.join("---\n") });
    proxy.choose = ({ path }) => (path.startsWith("/api/drafts/90/") ? undefined : refusal(400));
    const codes: number[] = [];
    for (let runs = 0; runs < 4; runs += 1) codes.push((await apply("--max-calls", "6")).code);
    expect(codes.at(-1)).toBe(3);
  },
);

test("a lost attachment is settled although --until is shorter than settle_delay", async () => {
  const { "draftsync.yaml": text } = config();
  await folder.write({
    "draftsync.yaml": text.replace("settle_delay: 1ms", "settle_delay: 6s"),
    "manifests/a.yaml": publishedDraft(1),
  });
  proxy.choose = ({ path }) => (path.startsWith("/api/drafts/1/") ? { type: "lost" } : undefined);
  expect((await apply("--until", "20s")).code).toBe(4);
  proxy.choose = () => undefined;
  const codes: number[] = [];
  for (let runs = 0; runs < 2; runs += 1) codes.push((await apply("--until", "8s")).code);
  expect(codes).toEqual([7, 0]);
});

test.each(["source: ../files/a.obj", "upload_id: u-1"])(
  "an upload (%s) that stays in processing does not use up --until for ever",
  async (entry) => {
    const { "draftsync.yaml": text } = config();
    const slow = text.replace(
      /profile: .*/,
      "profile: { upload_poll_min: 200ms, upload_poll_max: 200ms, settle_delay: 1ms }",
    );
    await folder.write({ "draftsync.yaml": slow, "manifests/a.yaml": draft(90, 1) });
    proxy.choose = ({ path }) => (path.startsWith("/api/drafts/90/") ? refusal(400) : undefined);
    expect((await apply("--until", "20s")).code).toBe(3);
    await folder.write({
      "files/a.obj": "content",
      "manifests/b.yaml": `draft: 10\nproduct_files: [{ ${entry} }]\n`,
    });
    proxy.choose = answerProcessing;
    expect((await apply("--until", "8s")).code).toBe(7);
    expect(sandbox.state().attachments).toMatchObject([{ draftId: 90 }]);
    await folder.write({
      "draftsync.yaml": slow.replace("settle_delay", "upload_deadline: 3s, settle_delay"),
    });
    const { code, stderr } = await apply("--until", "6s");
    expect([code, stderr]).toEqual([3, expect.stringContaining("[upload-timeout]")]);
  },
);

test("a new draft whose upload is processed for the whole run does not keep others waiting", async () => {
  const { "draftsync.yaml": text } = config();
  const slow = text.replace(/profile: .*/, "profile: { upload_poll_min: 200ms, settle_delay: 1ms }");
  await folder.write({ "draftsync.yaml": slow, "manifests/a.yaml": draft(90, 1) });
  expect((await apply("--until", "20s")).code).toBe(0);
  await folder.write({
    "files/a.obj": "content",
    "manifests/a.yaml": draft(90, 2),
    "manifests/b.yaml": "draft: 10\nproduct_files: [{ source: ../files/a.obj }]\n",
  });
  proxy.choose = answerProcessing;
  expect((await apply("--until", "15s")).code).toBe(7);
  expect(sandbox.state().attachments).toHaveLength(2);
});

test("an upload is read although files that are refused in every run would use up --max-calls", async () => {
  await folder.write({
    "files/a.obj": "content",
    "manifests/a.yaml": [11, 12, 13].map((id) => draft(id, 1)).join("---\n"),
    "manifests/b.yaml": "draft: 90\nproduct_files: [{ source: ../files/a.obj }]\n",
  });
  let reads = 0;
  proxy.choose = (request) => {
    if (/^\/api\/drafts\/1[123]\//.test(request.path)) return refusal(404);
    const answer = answerProcessing(request);
    if (answer !== undefined) reads += 1;
    return reads > 2 ? undefined : answer;
  };
  for (let runs = 0; runs < 8; runs += 1) await apply("--max-calls", "3");
  expect(sandbox.state().attachments).toMatchObject([{ draftId: 90 }]);
});

test("a draft whose calls are refused with 429 in every run fails, and does not use up --max-calls for ever", async () => {
  await folder.write({ "manifests/a.yaml": draft(11, 1), "manifests/b.yaml": draft(90, 1) });
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.startsWith("/api/drafts/11/")
      ? { ...refusal(429), headers: { ...refusal(429).headers, "retry-after": "0" } }
      : undefined;
  const { code, stderr } = await apply("--max-calls", "1");
  expect([code, stderr]).toEqual([3, expect.stringContaining("[rate-limited]")]);
  await apply("--max-calls", "1");
  expect(sandbox.state().attachments).toMatchObject([{ draftId: 90 }]);
});

test("no more bytes are stored than --max-calls leaves calls to register them", async () => {
  const sources = many.slice(0, 6).map((id) => [`files/${id}.obj`, `content ${id}`] as const);
  const list = sources.map(([path]) => `{ source: ../${path} }`).join(", ");
  await folder.write({
    ...Object.fromEntries(sources),
    "manifests/a.yaml": `draft: 1\nproduct_files: [${list}]\n`,
  });
  expect((await apply("--max-calls", "1")).stderr).toContain("Use --max-calls 2 or more.");
  expect(arrivals).toEqual([]);
  expect((await apply("--max-calls", "3")).code).toBe(7);
  const registered = calls().filter((line) => line === "POST /api/uploads");
  const stored = arrivals.filter(({ method }) => method === "PUT");
  expect([stored.length, registered.length]).toEqual([2, 2]);
});

test("a doubt is settled although files of its draft are refused in every run", async () => {
  await folder.write({ "manifests/a.yaml": draft(1, 1) });
  proxy.choose = () => ({ type: "answer-lost" });
  expect((await apply("--max-calls", "1")).code).toBe(4);
  const refused = many.map((id) => `{ file_id: ${id} }`).join(", ");
  await folder.write({ "manifests/a.yaml": `draft: 1\nproduct_files: [${refused}, { file_id: 1 }]\n` });
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.startsWith("/api/drafts/1/") ? refusal(400) : undefined;
  const codes: number[] = [];
  for (let runs = 0; runs < 3; runs += 1) codes.push((await apply("--max-calls", "6")).code);
  expect(codes.at(-1)).toBe(3);
});

test("a new file is attached although doubts of its draft cannot be settled in any run", async () => {
  await folder.write({ "manifests/a.yaml": draft(1, 2) });
  proxy.choose = () => ({ type: "answer-lost" });
  expect((await apply("--max-calls", "2")).code).toBe(4);
  await folder.write({ "manifests/a.yaml": draft(1, 3) });
  proxy.choose = ({ method }) => (method === "PATCH" ? refusal(403) : undefined);
  for (let runs = 0; runs < 2; runs += 1) expect((await apply("--max-calls", "2")).code).toBe(4);
  expect(sandbox.state().attachments.map(({ fileId }) => fileId)).toEqual([1, 2, 3]);
});

test("a publish that waits for a person does not keep a limited run from checking the service", async () => {
  const unconfirmed = async (...args: string[]) => {
    const all = ["apply", "--auto-approve", "--json", ...args];
    const { code, stdout } = await draftsync(all, { ...options(), confirmsLedger: false });
    return [code, parseEvents(stdout).find((event) => event.type === "refresh_started")?.calls];
  };
  await folder.write({
    ...config("refresh: { attachments: probe }\n"),
    "manifests/a.yaml": publishedDraft(2),
  });
  expect(await unconfirmed()).toEqual([5, 2]);
  await folder.write({ "manifests/a.yaml": publishedDraft(9) });
  expect(await unconfirmed("--max-calls", "4")).toEqual([7, 2]);
  await folder.write({ "manifests/a.yaml": publishedDraft(4) });
  expect(await unconfirmed("--max-calls", "4")).toEqual([5, 2]);
});
