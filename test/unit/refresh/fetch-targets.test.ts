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

/** Short: a service that has asked for a pause is called slowly for one window. */
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

describe("the budget", () => {
  test("is never exceeded at the server, retries counted, whatever it answers", async () => {
    const sequence = fc.array(fc.constantFrom(...Object.keys(replies)), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sequence, fc.integer({ min: 0, max: 15 }), async (names, maxCalls) => {
        const server = await startRawServer((_request, at) => replies[names[at % names.length] ?? ""] ?? "");
        // A lost call counts that long; after a 429 there are few of them.
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

  test("that ends in the middle of the retries leaves that thing unreadable, and the next not checked", async () => {
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
    const seen = server.requests.map(({ path }) => Number(path.split("/").at(-1))).sort((a, b) => a - b);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(observations).toHaveLength(10);
  });

  test("of nothing makes no call, and none is no budget", async () => {
    const { service, server } = await startHarness(() => answer(200, fileDocument()), { rate });
    const nothing = await fetchTargets(optionsOf(service, { targets: files(3), maxCalls: 0 }));
    expect(nothing).toEqual({ observations: [], calls: 0 });
    expect((await fetchTargets(optionsOf(service, { targets: files(30) }))).calls).toBe(30);
    expect(server.requests).toHaveLength(30);
  });

  test("has room for every request at once without a warning", async () => {
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

describe("a service that cannot be worked with", () => {
  test.each([
    { name: "a key that is not accepted", reply: answer(401), code: "unauthorized" },
    {
      name: "a pause longer than max_wait",
      reply: answer(429, undefined, { "Retry-After": "3600" }),
      code: "retry-after-too-long",
    },
  ])("stops the looking: $name", async ({ reply, code }) => {
    const { service, server } = await startHarness(() => reply, { rate, profile: { max_wait: "1m" } });
    const targets = files(50);
    const { observations, calls, stopped } = await fetchTargets(
      optionsOf(service, { targets, concurrency: 1 }),
    );
    expect(stopped).toMatchObject({ code, stops: "run" });
    expect([calls, server.requests.length]).toEqual([1, 1]);
    expect(summarize(observations)).toEqual([`file 1 ${code}`]);
  });

  test("is returned as such after a failure of a different kind, which a target leaves no doubt of", async () => {
    for (const target of [file(1), product, uploads]) {
      const { service } = await startHarness((_request, at) => answer(at === 0 ? 503 : 401), { rate });
      const { stopped } = await fetchTargets(optionsOf(service, { targets: [target] }));
      expect(stopped?.code).toBe("unauthorized");
    }
  });

  test("stops the others that are under way, and none of them is taken for seen", async () => {
    const { service, server } = await startHarness(() => answer(401), { rate, concurrency: 8 });
    const { observations, calls, stopped } = await fetchTargets(optionsOf(service, { targets: files(50) }));
    expect(stopped?.code).toBe("unauthorized");
    expect(calls).toBe(server.requests.length);
    expect(calls).toBeLessThanOrEqual(8);
    expect(observations.every(({ read }) => read.type === "unreadable")).toBe(true);
  });

  test("that is nowhere stops it after its attempts", async () => {
    const service = openForTest("http://127.0.0.1:1", { rate });
    const targets = files(50);
    const { calls, stopped } = await fetchTargets(optionsOf(service, { targets, concurrency: 1 }));
    expect(stopped).toMatchObject({ code: "connection-refused", stops: "run" });
    expect(calls).toBe(3);
  });
});

describe("an interrupt", () => {
  test("begins no target, and awaits those that are on their way", async () => {
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

  test("leaves what waits for the rate bound as it is: neither seen nor unreadable", async () => {
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

  test("before it begins makes no call", async () => {
    const { service, server } = await startHarness(() => answer(200, fileDocument()), { rate });
    const signal = AbortSignal.abort();
    expect(await fetchTargets(optionsOf(service, { targets: files(5), signal }))).toEqual({
      observations: [],
      calls: 0,
    });
    expect(server.requests).toEqual([]);
  });
});

/** A reply, and what a file, a product and a page of uploads are then. */
const table: readonly [string, Reply, string, string, string][] = [
  ["reset", reset, "connection-reset", "connection-reset", "connection-reset"],
  ["no HTTP", replies.garbage ?? "", "not-http", "not-http", "not-http"],
  ...[408, 500, 502, 503, 504].map((status): [string, Reply, string, string, string] => [
    String(status),
    answer(status),
    "server-error",
    "server-error",
    "server-error",
  ]),
  ["429", answer(429, undefined, { "Retry-After": "0.01" }), "rate-limited", "rate-limited", "rate-limited"],
  ["401", answer(401), "unauthorized", "unauthorized", "unauthorized"],
  ["403", answer(403), "forbidden", "forbidden", "forbidden"],
  ["404", answer(404, { errors: [{ title: "no" }] }), "absent", "absent", "gone"],
  ["410", answer(410, { errors: [{ title: "no" }] }), "absent", "absent", "gone"],
  ...[404, 410].map((status): [string, Reply, string, string, string] => [
    `${status} with a web page`,
    answer(status, "<html>nginx</html>", { "Content-Type": "text/html" }),
    "wrong-base-url",
    "wrong-base-url",
    "wrong-base-url",
  ]),
  ["409", answer(409), "conflict", "conflict", "conflict"],
  ["422, as where a probe is refused", answer(422), "invalid", "invalid", "invalid"],
  ["a redirect", answer(302, undefined, { Location: "/x" }), "redirect", "redirect", "redirect"],
  [
    "200 with a web page",
    answer(200, "<html>"),
    "malformed-response",
    "malformed-response",
    "malformed-response",
  ],
  [
    "200 of a different type",
    answer(200, { data: { type: "horse", id: "1" } }),
    "malformed-response",
    "malformed-response",
    "malformed-response",
  ],
  [
    "data together with errors",
    answer(200, { ...fileDocument(), errors: [] }),
    "malformed-response",
    "malformed-response",
    "malformed-response",
  ],
  ["202", answer(202), "accepted", "accepted", "accepted"],
  ["204", answer(204), "present", "empty-response", "empty-response"],
  ["a file", answer(200, fileDocument()), "present", "malformed-response", "malformed-response"],
  ["a product", answer(200, productDocument()), "malformed-response", "present", "malformed-response"],
  ["no uploads", answer(200, { data: [] }), "malformed-response", "malformed-response", "present"],
];

describe("an answer", () => {
  test.each(table)("of %s", async (_name, reply, ofFile, ofProduct, ofUploads) => {
    const { service } = await startHarness(() => reply, { rate });
    const seen: string[] = [];
    for (const target of [file(1), product, uploads]) {
      const { observations } = await fetchTargets(optionsOf(service, { targets: [target] }));
      seen.push(...summarize(observations));
    }
    expect(seen).toEqual([`file 1 ${ofFile}`, `product ${ofProduct}`, `uploads ${ofUploads}`]);
  });

  test("is dated by when it came", async () => {
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
