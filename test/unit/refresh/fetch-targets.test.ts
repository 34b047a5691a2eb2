import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Observation, RefreshTarget } from "../../../src/model/observed.ts";
import type { ReadOptions, ServiceReader } from "../../../src/model/ports.ts";
import { systemClock } from "../../../src/model/ports.ts";
import type { FetchTargetsOptions } from "../../../src/refresh/fetch-targets.ts";
import { fetchTargets } from "../../../src/refresh/fetch-targets.ts";
import { runs } from "../../support/runs.ts";
import { fileDocument, openForTest, productDocument, startHarness } from "../service/support/harness.ts";
import type { Reply } from "../service/support/raw-server.ts";
import { answer, startRawServer } from "../service/support/raw-server.ts";
import { addressOf } from "./support.ts";

/** A short window, because calls slow down for one window after a 429. */
const rate = { limit: 1000, windowMs: 20 };

const file = (fileId: number): RefreshTarget => ({
  type: "attachment",
  address: addressOf(1, fileId),
  target: { draftId: 1, kind: "product_files", fileId },
});
const files = (count: number) => Array.from({ length: count }, (_none, at) => file(at + 1));
const product: RefreshTarget = { type: "product", address: "drafts/1/product", productId: 771200 };
const uploads: RefreshTarget = { type: "uploads", uploadIds: ["up1", "up2"] };

function optionsOf(reader: ServiceReader, parts: Partial<FetchTargetsOptions>): FetchTargetsOptions {
  return {
    targets: [],
    reader,
    maxCalls: Number.POSITIVE_INFINITY,
    concurrency: 8,
    clock: systemClock,
    signal: new AbortController().signal,
    ...parts,
  };
}

/** `subject read`. */
function summarize(observations: readonly Observation[]): string[] {
  return observations.map((observation) => {
    const { read } = observation;
    const subject =
      observation.type === "attachment" ? `file ${observation.target.fileId}` : observation.type;
    return `${subject} ${read.type === "unreadable" ? read.failure.code : read.type}`;
  });
}

test("an observation is as old as its call, however late the answer comes", async () => {
  let now = 1000;
  const reader = {
    probe: async () => {
      now += 5000;
      return { outcome: "done", status: 204, value: {}, attempts: 1 };
    },
  } as unknown as ServiceReader;
  const clock = { ...systemClock, now: () => now };
  const { observations } = await fetchTargets(optionsOf(reader, { targets: [file(1)], clock }));
  expect(observations).toMatchObject([{ at: 1000 }]);
});

const reset: Reply = (socket) => void socket.resetAndDestroy();
const replies: Readonly<Record<string, Reply>> = {
  "200": answer(200, fileDocument()),
  "204": answer(204),
  "404": answer(404, { errors: [{ title: "no" }] }),
  "500": answer(500),
  "503": answer(503),
  "429": answer(429, undefined, { "Retry-After": "0.01" }),
  reset,
  garbage: "SSH-2.0-OpenSSH_9.6\r\n\r\n",
};

describe("call budget", () => {
  test("is never exceeded, including retries, for any responses", async () => {
    const sequence = fc.array(fc.constantFrom(...Object.keys(replies)), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sequence, fc.integer({ min: 0, max: 15 }), async (names, maxCalls) => {
        const server = await startRawServer((_request, at) => replies[names[at % names.length] ?? ""] ?? "");
        // A lost call counts against the rate for settle_delay.
        const profile = { settle_delay: "1ms" };
        const service = openForTest(server.url, { concurrency: 8, rate, profile });
        try {
          const { observations, calls } = await fetchTargets(
            optionsOf(service, { targets: files(20), maxCalls }),
          );
          expect(server.requests.length).toBeLessThanOrEqual(maxCalls);
          expect(calls).toBe(server.requests.length);
          expect(new Set(server.requests.map(({ path }) => path)).size).toBe(observations.length);
        } finally {
          await service.close();
          await server.close();
        }
      }),
      runs(20),
    );
  });

  test("leaves a target unreadable, and the next unchecked, when it ends during retries", async () => {
    const { service, server } = await startHarness(() => answer(503), { rate });
    const { observations, calls } = await fetchTargets(
      optionsOf(service, { targets: files(3), maxCalls: 5, concurrency: 1 }),
    );
    expect(summarize(observations)).toEqual(["file 1 server-error", "file 2 server-error"]);
    expect([calls, server.requests.length]).toEqual([5, 5]);
  });

  test("is spent on the first targets first", async () => {
    const { service, server } = await startHarness(() => answer(200, fileDocument()), { rate });
    const { observations } = await fetchTargets(
      optionsOf(service, { targets: files(30), maxCalls: 10, concurrency: 4 }),
    );
    const requested = server.requests.map(({ path }) => Number(path.split("/").at(-1))).sort((a, b) => a - b);
    expect(requested).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(observations).toHaveLength(10);
  });

  test("allows no calls when it is 0, and any number when it is infinite", async () => {
    const { service, server } = await startHarness(() => answer(200, fileDocument()), { rate });
    const nothing = await fetchTargets(optionsOf(service, { targets: files(3), maxCalls: 0 }));
    expect(nothing).toEqual({ observations: [], calls: 0 });
    expect((await fetchTargets(optionsOf(service, { targets: files(30) }))).calls).toBe(30);
    expect(server.requests).toHaveLength(30);
  });

  test("causes no listener warning with 60 concurrent requests", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const { service } = await startHarness(() => answer(200, fileDocument()), { rate, concurrency: 60 });
    await fetchTargets(optionsOf(service, { targets: files(60), concurrency: 60 }));
    await nextTurn();
    expect(warnings).toEqual([]);
  });
});

describe("a failure that stops the run", () => {
  test.each([
    { name: "a rejected key", reply: answer(401), code: "unauthorized", read: ["file 1 unauthorized"] },
    {
      name: "a pause longer than max_wait",
      reply: answer(429, undefined, { "Retry-After": "3600" }),
      code: "retry-after-too-long",
      read: [],
    },
  ])("stops the refresh: $name", async ({ reply, code, read }) => {
    const { service, server } = await startHarness(() => reply, { rate, profile: { max_wait: "1m" } });
    const targets = files(50);
    const { observations, calls, stopped } = await fetchTargets(
      optionsOf(service, { targets, concurrency: 1 }),
    );
    expect(stopped).toMatchObject({ code, stops: "run" });
    expect([calls, server.requests.length]).toEqual([1, 1]);
    expect(summarize(observations)).toEqual(read);
  });

  test("is returned when it follows a retried failure, for every type of target", async () => {
    for (const target of [file(1), product, uploads]) {
      const { service } = await startHarness((_request, at) => answer(at === 0 ? 503 : 401), { rate });
      const { stopped } = await fetchTargets(optionsOf(service, { targets: [target] }));
      expect(stopped?.code).toBe("unauthorized");
    }
  });

  test("stops the reads in flight, and leaves them unreadable", async () => {
    const { service, server } = await startHarness(() => answer(401), { rate, concurrency: 8 });
    const { observations, calls, stopped } = await fetchTargets(optionsOf(service, { targets: files(50) }));
    expect(stopped?.code).toBe("unauthorized");
    expect(calls).toBe(server.requests.length);
    expect(calls).toBeLessThanOrEqual(8);
    expect(observations.every(({ read }) => read.type === "unreadable")).toBe(true);
  });

  test("stops the refresh after three attempts when nothing listens at the address", async () => {
    const service = openForTest("http://127.0.0.1:1", { rate });
    const targets = files(50);
    const { calls, stopped } = await fetchTargets(optionsOf(service, { targets, concurrency: 1 }));
    expect(stopped).toMatchObject({ code: "connection-refused", stops: "run" });
    expect(calls).toBe(3);
  });
});

describe("an interrupt", () => {
  test("starts no target, and waits for those in flight", async () => {
    const interrupt = new AbortController();
    const held: (() => void)[] = [];
    const { service, server } = await startHarness(
      () => (socket) => void held.push(() => socket.write(answer(200, fileDocument()))),
      { rate, concurrency: 3 },
    );
    const ended = fetchTargets(
      optionsOf(service, { targets: files(20), concurrency: 3, signal: interrupt.signal }),
    );
    await expect.poll(() => held.length, { timeout: 10_000 }).toBe(3);
    interrupt.abort();
    for (const send of held) send();
    const { observations, calls, stopped } = await ended;
    expect(server.requests).toHaveLength(3);
    expect(summarize(observations).sort()).toEqual(["file 1 present", "file 2 present", "file 3 present"]);
    expect([calls, stopped]).toEqual([3, undefined]);
  });

  test("leaves out targets that wait for the rate limit", async () => {
    const interrupt = new AbortController();
    const { service, server } = await startHarness(() => answer(200, fileDocument()), {
      rate: { limit: 1, windowMs: 60_000 },
    });
    const ended = fetchTargets(optionsOf(service, { targets: files(5), signal: interrupt.signal }));
    await expect.poll(() => server.requests.length, { timeout: 10_000 }).toBe(1);
    interrupt.abort();
    const { observations, calls } = await ended;
    expect(observations.length).toBeLessThanOrEqual(1);
    expect(observations.every(({ read }) => read.type === "present")).toBe(true);
    expect(calls).toBe(1);
  });

  test("allows no calls when it comes before the start", async () => {
    const { service, server } = await startHarness(() => answer(200, fileDocument()), { rate });
    const signal = AbortSignal.abort();
    expect(await fetchTargets(optionsOf(service, { targets: files(5), signal }))).toEqual({
      observations: [],
      calls: 0,
    });
    expect(server.requests).toEqual([]);
  });
});

/** A reply, and the result for a file, a product and a page of uploads: as for a file if left out. */
type Row = [name: string, reply: Reply, ofFile: string, ofProduct?: string, ofUploads?: string];

const notFound = (status: number) => answer(status, { errors: [{ title: "no" }] });
const table: readonly Row[] = [
  ["a reset", reset, "connection-reset"],
  ["text that is not HTTP", replies.garbage ?? "", "not-http"],
  ...[408, 500, 502, 503, 504].map((status): Row => [`${status}`, answer(status), "server-error"]),
  ["429", answer(429, undefined, { "Retry-After": "0.01" }), "rate-limited"],
  ["401", answer(401), "unauthorized"],
  ["403", answer(403), "forbidden"],
  ["404", notFound(404), "absent", "absent", "gone"],
  ["410", notFound(410), "absent", "absent", "gone"],
  [
    "404 with a web page",
    answer(404, "<html>nginx</html>", { "Content-Type": "text/html" }),
    "wrong-base-url",
  ],
  [
    "410 with a web page",
    answer(410, "<html>nginx</html>", { "Content-Type": "text/html" }),
    "wrong-base-url",
  ],
  ["409", answer(409), "conflict"],
  ["422, which may refuse a probe", answer(422), "invalid"],
  ["a redirect", answer(302, undefined, { Location: "/x" }), "redirect"],
  ["200 with a web page", answer(200, "<html>"), "malformed-response"],
  ["200 with a different type", answer(200, { data: { type: "horse", id: "1" } }), "malformed-response"],
  ["data together with errors", answer(200, { ...fileDocument(), errors: [] }), "malformed-response"],
  ["202", answer(202), "accepted"],
  ["204", answer(204), "present", "empty-response", "empty-response"],
  ["a file", answer(200, fileDocument()), "present", "malformed-response", "malformed-response"],
  ["a product", answer(200, productDocument()), "malformed-response", "present", "malformed-response"],
  ["an empty list", answer(200, { data: [] }), "malformed-response", "malformed-response", "present"],
];

describe("a response", () => {
  test.each(table)(
    "gives a result per type of target: %s",
    async (_name, reply, ofFile, ofProduct = ofFile, ofUploads = ofFile) => {
      const { service } = await startHarness(() => reply, { rate });
      const results: string[] = [];
      for (const target of [file(1), product, uploads]) {
        const { observations } = await fetchTargets(optionsOf(service, { targets: [target] }));
        results.push(...summarize(observations));
      }
      expect(results).toEqual([`file 1 ${ofFile}`, `product ${ofProduct}`, `uploads ${ofUploads}`]);
    },
  );

  test("has the time when it arrived", async () => {
    const times = [10, 20, 30];
    const probe = (_target: unknown, _options: ReadOptions) =>
      Promise.resolve({ outcome: "done", status: 200, value: {}, attempts: 1 } as const);
    const { service } = await startHarness(() => answer(204), { rate });
    const clock = { ...systemClock, now: () => times.shift() ?? 0 };
    const { observations } = await fetchTargets(
      optionsOf({ ...service, probe }, { targets: files(3), concurrency: 1, clock }),
    );
    expect(observations.map(({ at }) => at)).toEqual([10, 20, 30]);
  });
});
