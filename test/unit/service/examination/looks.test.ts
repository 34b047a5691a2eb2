import { describe, expect, test } from "vitest";
import { usualLooks } from "../../../support/doctor.ts";
import { unusedPort } from "../../../support/listen.ts";
import { apiKey } from "../support/harness.ts";
import type { RecordedRequest, Reply } from "../support/raw-server.ts";
import { answer } from "../support/raw-server.ts";
import { lookAt, lookThere } from "./examine-at.ts";

const errors = (status: number) => ({ errors: [{ status: String(status), detail: "No." }] });
const html = (status: number) =>
  answer(status, "<!doctype html><title>Welcome</title>", { "Content-Type": "text/html" });
const header = ({ headers }: RecordedRequest, wanted: string) =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";

/** A service as the document has it, with these headers on each answer. */
const good =
  (headers: Readonly<Record<string, string>> = {}) =>
  (request: RecordedRequest): Reply => {
    const all = { Date: new Date().toUTCString(), ...headers };
    if (header(request, "authorization") !== `Token ${apiKey}`) return answer(401, errors(401), all);
    if (!header(request, "accept").includes("version=1")) return answer(406, errors(406), all);
    if (request.path.startsWith("/api/uploads?")) return answer(200, { data: [] }, all);
    return answer(404, errors(404), all);
  };

test("a service as the document has it", async () => {
  const { found, server } = await lookAt(good());
  expect(found).toEqual(usualLooks);
  expect(server.requests).toHaveLength(6);
});

describe("what answers is not the service, and nothing more is asked", () => {
  test.each([
    { name: "a web page", reply: html(200), address: "address-web-page" },
    { name: "a web page that says 404", reply: html(404), address: "address-web-page" },
    { name: "text", reply: answer(200, "hello"), address: "address-not-interface" },
    { name: "JSON of something else", reply: answer(200, { hello: 1 }), address: "address-not-interface" },
    { name: "nothing", reply: answer(204), address: "address-not-interface" },
    { name: "a gateway's page of an error", reply: html(502), address: "address-fails" },
    {
      name: "a redirect to another host",
      reply: answer(301, "", { Location: "https://elsewhere.example/api/products/1" }),
      address: "address-redirects",
    },
  ])("$name: $address", async ({ reply, address }) => {
    const { found, server, settings } = await lookAt(() => reply);
    expect(found).toMatchObject({ address: `failed ${address}`, pace: "not_checked not-checked" });
    expect(server.requests).toHaveLength(1);
    expect(settings).toEqual({});
  });

  test("a redirect on the same host: its address is proposed, with the path that it moved to", async () => {
    const Location = "/v2/api/products/1";
    const { settings, server } = await lookAt(() => answer(308, "", { Location }));
    expect(settings).toEqual({ base_url: `${server.url}/v2` });
    const other = await lookAt(() => answer(308, "", { Location: "http://127.0.0.1:1/login" }));
    expect(other.settings).toEqual({});
  });

  test.each([
    { status: 401, found: { key_accepted: "failed key-refused", version: "not_checked not-checked" } },
    { status: 406, found: { version: "failed version-refused", key_accepted: "not_checked not-checked" } },
  ])("$status to the first call", async ({ status, found }) => {
    const ended = await lookAt(() => answer(status, errors(status)));
    expect(ended.found).toMatchObject({ ...found, errors: "ok errors-jsonapi" });
    expect(ended.server.requests).toHaveLength(1);
  });
});

describe("no answer", () => {
  test.each([
    {
      name: "nobody listens",
      url: async () => `http://127.0.0.1:${await unusedPort()}`,
      code: "connection-refused",
    },
    { name: "nobody has the name", url: async () => "https://no-such-host.invalid", code: "name-not-found" },
  ])("$name: told once, and all else is not checked", async ({ url, code }) => {
    const { checks, found } = await lookThere(await url());
    expect(found.address).toBe("failed address-unreachable");
    expect(checks.find(({ name }) => name === "address")?.finding.facts).toMatchObject({ problem: { code } });
    const { address: _address, tls: _tls, ...others } = found;
    expect(new Set(Object.values(others))).toEqual(new Set(["not_checked not-checked"]));
  });

  test("it never comes: the time that is set, and no second try", async () => {
    const { found, server } = await lookAt(() => () => {}, { timeoutMs: 50 });
    expect(found.address).toBe("failed address-unreachable");
    expect(server.requests).toHaveLength(1);
  });
});

describe("a service that reads the document otherwise", () => {
  test("every path is 404, in a shape of its own", async () => {
    const { found } = await lookAt(() => answer(404, { message: "Not Found" }));
    expect(found).toMatchObject({
      address: "warning address-all-missing",
      errors: "warning errors-other",
      key_accepted: "not_known key-untold",
      wrong_key: "warning wrong-key-taken",
      version: "warning version-unchecked",
      uploads_query: "not_known uploads-query-untold",
    });
  });

  test("it answers whatever the key is: nothing is known of yours", async () => {
    const { found } = await lookAt(() => answer(200, { data: [] }));
    expect(found).toMatchObject({
      key_accepted: "not_known key-untold",
      wrong_key: "warning wrong-key-taken",
    });
  });

  test("one product is forbidden, and the key is accepted all the same; everything is, and it is not", async () => {
    const one = await lookAt((request, at) => (at === 0 ? answer(403, errors(403)) : good()(request)));
    expect(one.found.key_accepted).toBe("ok key-accepted");
    const all = await lookAt(() => answer(403, errors(403)));
    expect(all.found.key_accepted).toBe("failed key-forbidden");
  });

  test("the query is not looked at: uploads come that were not asked for", async () => {
    const listed = { type: "upload", id: "up_1", attributes: {} };
    const { found, settings } = await lookAt((request) =>
      request.path.startsWith("/api/uploads?") ? answer(200, { data: [listed] }) : good()(request),
    );
    expect(found.uploads_query).toBe("warning uploads-query-ignored");
    expect(settings).toEqual({ "profile.uploads_query": null });
  });

  test("the first call fails at the service, the others tell", async () => {
    const { found } = await lookAt((request, at) => (at === 0 ? answer(503, errors(503)) : good()(request)));
    expect(found).toMatchObject({ address: "ok address-answers", key_accepted: "ok key-accepted" });
  });
});

describe("pace", () => {
  test.each([
    {
      headers: { "RateLimit-Policy": '"calls";q=60;w=60' },
      finds: "warning rate-above",
      rate: { limit: 60, window: "1m" },
    },
    {
      headers: { "RateLimit-Policy": '"a";q=5;w=1, "b";q=60;w=60' },
      finds: "warning rate-above",
      rate: { limit: 60, window: "1m" },
    },
    { headers: { "RateLimit-Policy": '"calls";q=600;w=60' }, finds: "ok rate-fits", rate: undefined },
    { headers: { "X-RateLimit-Limit": "60" }, finds: "not_known rate-without-window", rate: undefined },
  ])("$headers: $finds", async ({ headers, finds, rate }) => {
    const { found, settings } = await lookAt(good(headers), { rate: { limit: 10, windowMs: 1000 } });
    expect(found.rate).toBe(finds);
    expect(settings.rate).toEqual(rate);
  });

  test("a call too many is told, and the next ones tell the rest", async () => {
    const { found } = await lookAt((request, at) =>
      at === 0 ? answer(429, "slow down", { "Retry-After": "1" }) : good()(request),
    );
    expect(found).toMatchObject({ ...usualLooks, rate: "warning rate-refused" });
  });

  test("a clock that is minutes apart", async () => {
    const Date_ = new Date(Date.now() - 300_000).toUTCString();
    const { found, checks } = await lookAt(good({ Date: Date_ }));
    expect(found.clock).toBe("warning clock-off");
    const facts = checks.find(({ name }) => name === "clock")?.finding.facts;
    expect(facts).toMatchObject({ aheadMs: expect.closeTo(300_000, -4) });
    expect((await lookAt(() => answer(404, errors(404)))).found.clock).toBe("not_known clock-untold");
  });
});

test("no text of the service brings the key along", async () => {
  const echo = (text: string) => answer(302, text, { Location: `https://x.example/?k=${text}` });
  const { checks } = await lookAt(() => echo(apiKey));
  const page = await lookAt(() => answer(200, `<html>${apiKey}`, { "Content-Type": "text/html" }));
  const rate = await lookAt(good({ "X-RateLimit-Limit": apiKey }));
  expect(JSON.stringify([checks, page.checks, rate.checks])).not.toContain(apiKey);
  expect(JSON.stringify(rate.checks)).toContain("[redacted]");
});
