import { setTimeout as delay } from "node:timers/promises";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import type { RequestLogEntry } from "../../src/sandbox/server.ts";
import { call, errorsOf, JSON_API, KEY } from "./support/call.ts";
import { makeS3, openSession } from "./support/storage.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const get = { method: "GET", path: "/api/products/5" };

/** For each arrival, the number of arrivals in the window that ends with it. */
function windowsOf(arrivals: readonly RequestLogEntry[], windowMs: number): number[] {
  return arrivals.map(
    (last) =>
      arrivals.filter(({ monotonic }) => monotonic <= last.monotonic && last.monotonic - monotonic < windowMs)
        .length,
  );
}

describe("rate limit of 5 in 200 ms", () => {
  const log: RequestLogEntry[] = [];
  const { send } = useSandbox({ rate: { limit: 5, windowMs: 200 }, log: (arrival) => log.push(arrival) });

  test("returns 429 exactly for the arrivals beyond 5 in any sliding window", async () => {
    for (let burst = 0; burst < 30; burst += 1) {
      await Promise.all(Array.from({ length: 1 + (burst % 4) }, () => send(get)));
      await delay((burst * 37) % 120);
    }
    const arrivals = log.toSorted((a, b) => a.sequence - b.sequence);
    const beyond = windowsOf(arrivals, 200).map((count) => count > 5);
    expect(arrivals.map((arrival) => arrival.status === 429)).toEqual(beyond);
    expect(new Set(beyond)).toEqual(new Set([true, false]));
  });
});

describe("rate limit of 3 in a second", () => {
  const { send, sandbox } = useSandbox({ rate: { limit: 3, windowMs: 1000 } });

  test("counts down in the headers, refuses with Retry-After, and accepts a call after it", async () => {
    const base = sandbox().url;
    const responses = [
      await send(get),
      await call(base, { ...get, headers: { authorization: "Token wrong" } }),
      await call(base, { ...get, path: "/api/nothing" }),
      await send(get),
    ];
    expect(responses.map((response) => response.status)).toEqual([200, 401, 404, 429]);
    expect(responses.map((response) => response.headers["ratelimit-policy"])).toEqual(
      Array(4).fill('"arrivals";q=3;w=1'),
    );
    expect(responses.map((response) => response.headers.ratelimit)).toEqual([
      '"arrivals";r=2',
      '"arrivals";r=1',
      '"arrivals";r=0;t=1',
      '"arrivals";r=0;t=1',
    ]);
    const [refused] = responses.slice(3);
    expect(refused?.headers["content-type"]).toBe(JSON_API);
    expect(refused && errorsOf(refused)).toMatchObject([{ status: "429", code: "too-many-requests" }]);
    expect(refused?.headers["retry-after"]).toBe("1");
    await delay(1000 * Number(refused?.headers["retry-after"]));
    expect((await send(get)).status).toBe(200);
  });
});

describe("rate limit of 1 in an hour", () => {
  const { send } = useSandbox({ rate: { limit: 1, windowMs: 3_600_000 } });

  test("does not count storage requests", async () => {
    const session = await openSession(send);
    const s3 = makeS3(session);
    for (let count = 0; count < 3; count += 1) {
      const put = { Bucket: session.bucket, Key: `${session.key_prefix}${count}`, Body: "x" };
      await expect(s3.send(new PutObjectCommand(put))).resolves.toBeDefined();
    }
    s3.destroy();
    const refused = await send(get);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(3590);
  });
});

test("a sandbox without a rate limit sends no rate headers", async () => {
  const { startSandbox } = await import("../../src/sandbox/server.ts");
  const sandbox = await startSandbox({ key: KEY });
  const response = await call(sandbox.url, get);
  await sandbox.close();
  expect(response.status).toBe(200);
  expect(Object.keys(response.headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
});
