import { describe, expect, onTestFinished, test } from "vitest";
import { parseListenAddress, startHealthServer } from "../../../../src/cli/reconcile/health-server.ts";

describe("--listen", () => {
  test.each([
    ["127.0.0.1:9090", { host: "127.0.0.1", port: 9090 }],
    ["localhost:0", { host: "localhost", port: 0 }],
    ["[::1]:80", { host: "::1", port: 80 }],
    [":65535", { host: "::", port: 65_535 }],
  ])("accepts %s", (text, address) => {
    expect(parseListenAddress(text)).toEqual(address);
  });

  test.each(["9090", "127.0.0.1", "127.0.0.1:", ":65536", "::1:80", "http://a:80", "a b:80", "host:-1"])(
    "refuses %s",
    (text) => {
      expect(() => parseListenAddress(text)).toThrow(expect.objectContaining({ code: "invalid-flag" }));
    },
  );
});

describe("the health server", () => {
  async function serve(ready = true) {
    const server = await startHealthServer(
      { host: "127.0.0.1", port: 0 },
      { readiness: () => ({ ready, text: "a reason" }), metrics: async () => "metric 1\n" },
    );
    onTestFinished(() => server.close());
    return async (path: string, method = "GET") => {
      const answer = await fetch(`${server.url}${path}`, { method });
      return { status: answer.status, text: await answer.text(), type: answer.headers.get("content-type") };
    };
  }

  test("serves three paths, and nothing else", async () => {
    const ask = await serve();
    expect(await ask("/healthz")).toMatchObject({ status: 200, text: "ok\n" });
    expect(await ask("/readyz?verbose")).toMatchObject({ status: 200, text: "a reason\n" });
    const type = "text/plain; version=0.0.4; charset=utf-8";
    expect(await ask("/metrics")).toEqual({ status: 200, text: "metric 1\n", type });
    for (const path of ["/", "/metrics/", "/healthz/../metrics/x", "/debug"])
      expect((await ask(path)).status).toBe(404);
  });

  test("returns 503 from /readyz and 200 from /healthz when not ready", async () => {
    const ask = await serve(false);
    expect(await ask("/readyz")).toMatchObject({ status: 503, text: "a reason\n" });
    expect((await ask("/healthz")).status).toBe(200);
  });

  test("rejects methods other than GET and HEAD", async () => {
    const ask = await serve();
    for (const method of ["POST", "PUT", "DELETE"]) expect((await ask("/metrics", method)).status).toBe(405);
    expect(await ask("/metrics", "HEAD")).toMatchObject({ status: 200, text: "" });
  });

  test("fails with the address when it cannot listen", async () => {
    const health = { readiness: () => ({ ready: true, text: "" }), metrics: async () => "" };
    const first = await startHealthServer({ host: "127.0.0.1", port: 0 }, health);
    onTestFinished(() => first.close());
    const port = Number(new URL(first.url).port);
    await expect(startHealthServer({ host: "127.0.0.1", port }, health)).rejects.toMatchObject({
      code: "listen-failed",
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
  });
});
