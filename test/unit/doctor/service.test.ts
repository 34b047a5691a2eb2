import { describe, expect, test } from "vitest";
import { usualService } from "../../support/doctor.ts";
import { unusedPort } from "../../support/listen.ts";
import { apiKey } from "../service/support/harness.ts";
import type { RecordedRequest, Reply } from "../service/support/raw-server.ts";
import { answer } from "../service/support/raw-server.ts";
import { checkServer, checkUrl } from "./check-at.ts";

const errors = (status: number) => ({ errors: [{ status: String(status), detail: "No." }] });
const html = (status: number) =>
  answer(status, "<!doctype html><title>Welcome</title>", { "Content-Type": "text/html" });
const header = ({ headers }: RecordedRequest, wanted: string) =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";

/** A service that follows the document, with these headers on each response. */
const good =
  (headers: Readonly<Record<string, string>> = {}) =>
  (request: RecordedRequest): Reply => {
    const all = { Date: new Date().toUTCString(), ...headers };
    if (header(request, "authorization") !== `Token ${apiKey}`) return answer(401, errors(401), all);
    if (!header(request, "accept").includes("version=1")) return answer(406, errors(406), all);
    if (request.path.startsWith("/api/uploads?")) return answer(200, { data: [] }, all);
    return answer(404, errors(404), all);
  };

test("passes a service that follows the document, with six calls", async () => {
  const { found, server } = await checkServer(good());
  expect(found).toEqual(usualService);
  expect(server.requests).toHaveLength(6);
});

describe("a server that is not the service", () => {
  test.each([
    { name: "a web page", reply: html(200), address: "address-web-page" },
    { name: "a web page with status 404", reply: html(404), address: "address-web-page" },
    { name: "text", reply: answer(200, "hello"), address: "address-not-api" },
    { name: "JSON without data", reply: answer(200, { hello: 1 }), address: "address-not-api" },
    { name: "an empty response", reply: answer(204), address: "address-not-api" },
    { name: "the error page of a gateway", reply: html(502), address: "address-fails" },
    {
      name: "a redirect to another host",
      reply: answer(301, "", { Location: "https://elsewhere.example/api/products/1" }),
      address: "address-redirects",
    },
  ])("gets one call, and is reported as $address, when it returns $name", async ({ reply, address }) => {
    const { found, server, settings } = await checkServer(() => reply);
    expect(found).toMatchObject({ address: `failed ${address}`, latency: "skipped check-skipped" });
    expect(server.requests).toHaveLength(1);
    expect(settings).toEqual({});
  });

  test("has its new address and path suggested after a redirect on the same host", async () => {
    const Location = "/v2/api/products/1";
    const { settings, server } = await checkServer(() => answer(308, "", { Location }));
    expect(settings).toEqual({ base_url: `${server.url}/v2` });
  });

  test.each([
    { status: 401, found: { key_accepted: "failed key-refused", version: "skipped check-skipped" } },
    { status: 406, found: { version: "failed version-refused", key_accepted: "skipped check-skipped" } },
  ])("gets one call when it returns $status", async ({ status, found }) => {
    const ended = await checkServer(() => answer(status, errors(status)));
    expect(ended.found).toMatchObject({ ...found, errors: "ok errors-jsonapi" });
    expect(ended.server.requests).toHaveLength(1);
  });
});

describe("an address without response", () => {
  test.each([
    {
      name: "a closed port",
      url: async () => `http://127.0.0.1:${await unusedPort()}`,
      code: "connection-refused",
    },
    { name: "an unknown host name", url: async () => "https://no-such-host.invalid", code: "name-not-found" },
  ])("is reported once, and the other checks are skipped: $name", async ({ url, code }) => {
    const { checks, found } = await checkUrl(await url());
    expect(found.address).toBe("failed address-unreachable");
    expect(checks.find(({ name }) => name === "address")).toMatchObject({ problem: { code } });
    const { address: _address, tls: _tls, ...others } = found;
    expect(new Set(Object.values(others))).toEqual(new Set(["skipped check-skipped"]));
  });

  test("ends the checks after the timeout without a retry", async () => {
    const { found, server } = await checkServer(() => () => {}, { timeoutMs: 50 });
    expect(found.address).toBe("failed address-unreachable");
    expect(server.requests).toHaveLength(1);
  });
});

describe("a service that deviates from the document", () => {
  test("is reported when it returns 404 for every path in a different format", async () => {
    const { found } = await checkServer(() => answer(404, { message: "Not Found" }));
    expect(found).toMatchObject({
      address: "warning address-api-missing",
      errors: "warning errors-other",
      key_accepted: "unknown key-unknown",
      wrong_key: "warning wrong-key-accepted",
      version: "warning version-unchecked",
      uploads_query: "unknown uploads-query-unknown",
    });
  });

  test("is reported when it ignores the key", async () => {
    const { found } = await checkServer(() => answer(200, { data: [] }));
    expect(found).toMatchObject({
      key_accepted: "unknown key-unknown",
      wrong_key: "warning wrong-key-accepted",
    });
  });

  test("may forbid one product to an accepted key, but not everything", async () => {
    const one = await checkServer((request, at) => (at === 0 ? answer(403, errors(403)) : good()(request)));
    expect(one.found.key_accepted).toBe("ok key-accepted");
    const all = await checkServer(() => answer(403, errors(403)));
    expect(all.found.key_accepted).toBe("failed key-forbidden");
  });

  test("has another uploads query suggested when it ignores the query", async () => {
    const listed = { type: "upload", id: "up_1", attributes: {} };
    const { found, settings } = await checkServer((request) =>
      request.path.startsWith("/api/uploads?") ? answer(200, { data: [listed] }) : good()(request),
    );
    expect(found.uploads_query).toBe("warning uploads-query-ignored");
    expect(settings).toEqual({ "profile.uploads_query": null });
  });

  test("is checked by the other calls when it fails the first", async () => {
    const { found } = await checkServer((request, at) =>
      at === 0 ? answer(503, errors(503)) : good()(request),
    );
    expect(found).toMatchObject({ address: "ok address-reachable", key_accepted: "ok key-accepted" });
  });
});

describe("rate and clock", () => {
  const perMinute = { limit: 60, window: "1m" };
  test.each([
    [{ "RateLimit-Policy": '"calls";q=60;w=60' }, "warning rate-too-high", perMinute],
    [{ "RateLimit-Policy": '"a";q=5;w=1, "b";q=60;w=60' }, "warning rate-too-high", perMinute],
    [{ "RateLimit-Policy": '"calls";q=600;w=60' }, "ok rate-fits", undefined],
    [{ "X-RateLimit-Limit": "60" }, "unknown rate-without-window", undefined],
  ])("have the headers %j reported as %s", async (headers, finds, rate) => {
    const { found, settings } = await checkServer(good(headers), { rate: { limit: 10, windowMs: 1000 } });
    expect(found.rate).toBe(finds);
    expect(settings.rate).toEqual(rate);
  });

  test("are checked by the next calls after a rate-limited one", async () => {
    const { found } = await checkServer((request, at) =>
      at === 0 ? answer(429, "slow down", { "Retry-After": "1" }) : good()(request),
    );
    expect(found).toMatchObject({ ...usualService, rate: "warning rate-refused" });
  });

  test("are reported when the clock is minutes off", async () => {
    const Date_ = new Date(Date.now() - 300_000).toUTCString();
    const { found, checks } = await checkServer(good({ Date: Date_ }));
    expect(found.clock).toBe("warning clock-off");
    const details = checks.find(({ name }) => name === "clock")?.details;
    expect(details).toMatchObject({ ahead_ms: expect.closeTo(300_000, -4) });
    expect((await checkServer(() => answer(404, errors(404)))).found.clock).toBe("unknown clock-unknown");
  });
});

test("redacts the key in every text of the service", async () => {
  const echo = (text: string) => answer(302, text, { Location: `https://x.example/?k=${text}` });
  const { checks } = await checkServer(() => echo(apiKey));
  const page = await checkServer(() => answer(200, `<html>${apiKey}`, { "Content-Type": "text/html" }));
  const rate = await checkServer(good({ "X-RateLimit-Limit": apiKey }));
  expect(JSON.stringify([checks, page.checks, rate.checks])).not.toContain(apiKey);
  expect(JSON.stringify(rate.checks)).toContain("[redacted]");
});
