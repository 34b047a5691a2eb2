import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { createServer } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import { openAgent } from "../../../src/service/connections.ts";
import { listenLocally, unusedPort } from "../../support/listen.ts";
import { type ProxyReply, startConnectProxy } from "./support/connect-proxy.ts";
import {
  apiKey,
  closeAfterTest,
  noSignal,
  openForTest,
  productDocument,
  target,
  write,
} from "./support/harness.ts";
import { answer, startRawServer } from "./support/raw-server.ts";
import { exampleSigned, selfSigned } from "./support/self-signed.ts";

/** A raw server, and a proxy whose tunnels all end there. */
async function startBehindProxy(reply: Parameters<typeof startRawServer>[0], status?: ProxyReply) {
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  const proxy = await startConnectProxy(server.port, status);
  closeAfterTest(() => proxy.close());
  return { server, proxy };
}

/** A TLS server that returns 204 to every request. */
async function startTls(signed: typeof selfSigned): Promise<number> {
  const server = createServer(signed, (socket) => {
    socket.on("data", () => socket.write(answer(204)));
    socket.on("error", () => socket.destroy());
  });
  const port = await listenLocally(server);
  closeAfterTest(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return port;
}

/** A proxy whose tunnels all end at a TLS server. */
async function startBeforeTls(signed: typeof selfSigned, status?: ProxyReply) {
  const proxy = await startConnectProxy(await startTls(signed), status);
  closeAfterTest(() => proxy.close());
  return proxy;
}

/** Object storage, as its client reaches it. */
async function openStorageAgent(
  proxyUrl: string,
  given: { authorities?: readonly string[]; connectTimeoutMs?: number } = {},
) {
  const usual = { authorities: [exampleSigned.cert], connectTimeoutMs: 10_000 };
  const options = { proxyFor: () => proxyUrl, ...usual, ...given };
  const agent = await openAgent(new URL("https://service.example"), options);
  closeAfterTest(async () => agent.destroy());
  return agent;
}

/** The status of a request through the agent of object storage, once its connection is free again. */
async function statusThrough(agent: Awaited<ReturnType<typeof openAgent>>): Promise<number | undefined> {
  const sent = get("https://service.example/", { agent });
  const [response]: IncomingMessage[] = await once(sent, "response");
  response?.resume();
  await once(sent, "close");
  return response?.statusCode;
}

describe("object storage behind a proxy", () => {
  it("is trusted by the given authorities, and keeps its tunnel", async () => {
    const proxy = await startBeforeTls(exampleSigned);
    const agent = await openStorageAgent(proxy.url.replace("//", "//ann:p%40ss@"));
    expect([await statusThrough(agent), await statusThrough(agent)]).toEqual([204, 204]);
    expect(proxy.requests).toEqual([
      { authority: "service.example:443", authorization: `Basic ${btoa("ann:p@ss")}` },
    ]);
  });

  it("is not trusted without them, whatever NODE_TLS_REJECT_UNAUTHORIZED says", async () => {
    const proxy = await startBeforeTls(exampleSigned);
    const agent = await openStorageAgent(proxy.url, { authorities: [] });
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    await expect(statusThrough(agent).finally(() => vi.unstubAllEnvs())).rejects.toThrow("certificate");
  });

  it("is not reached if the proxy refuses, and the error names the proxy", async () => {
    const proxy = await startBeforeTls(exampleSigned, 407);
    const agent = await openStorageAgent(proxy.url);
    await expect(statusThrough(agent)).rejects.toMatchObject({
      message: "the proxy refused to connect to service.example:443 (407)",
      hint: expect.stringContaining("HTTPS_PROXY"),
    });
    await proxy.idle();
  });

  it.each(["close", "silent"] as const)(
    "keeps no connection if the proxy's response is %s",
    async (reply) => {
      const proxy = await startBeforeTls(exampleSigned, reply);
      const agent = await openStorageAgent(proxy.url, { connectTimeoutMs: 100 });
      await expect(statusThrough(agent)).rejects.toThrow();
      await proxy.idle();
      expect(proxy.requests).toHaveLength(1);
    },
  );
});

describe("HTTP proxy", () => {
  it("tunnels a request, and sends the proxy's password only to the proxy", async () => {
    const { server, proxy } = await startBehindProxy(() => answer(200, productDocument(771200)));
    const asked: string[] = [];
    const service = openForTest("http://service.example/shop", {
      allowHttp: true,
      proxyFor: (url) => {
        asked.push(url);
        return proxy.url.replace("//", "//ann:p%40ss@");
      },
    });
    expect(await service.getProduct(771200, undefined, noSignal())).toMatchObject({ outcome: "done" });
    expect(new Set(asked)).toEqual(new Set(["http://service.example/shop"]));
    expect(proxy.requests).toEqual([
      { authority: "service.example:80", authorization: `Basic ${btoa("ann:p@ss")}` },
    ]);
    const [request] = server.requests;
    expect(request?.path).toBe("/shop/api/products/771200");
    expect(JSON.stringify(request?.headers)).toContain(apiKey);
    expect(JSON.stringify(request?.headers)).not.toContain("roxy");
  });

  it("sees no plaintext of a request to an https service", async () => {
    const proxy = await startBeforeTls(exampleSigned);
    const options = { proxyFor: () => proxy.url, authorities: [exampleSigned.cert] };
    const result = await openForTest("https://service.example", options).detach(target, write());
    expect(result).toMatchObject({ outcome: "done" });
    expect(proxy.requests.map(({ authority }) => authority)).toEqual(["service.example:443"]);
    expect(proxy.passed().length).toBeGreaterThan(100);
    expect(proxy.passed()).not.toContain(apiKey);
  });

  it("does not exempt the service from presenting its own certificate", async () => {
    const proxy = await startBeforeTls(selfSigned);
    const options = { proxyFor: () => proxy.url, authorities: [selfSigned.cert] };
    const result = await openForTest("https://service.example", options).publish(1, write());
    expect(result).toMatchObject({
      outcome: "not_sent",
      failure: { code: "certificate-invalid", stops: "run" },
    });
  });

  it.each([403, 407, 502])(
    "leaves a publish not sent after three attempts when it returns %i",
    async (status) => {
      const { server, proxy } = await startBehindProxy(() => answer(204), status);
      const service = openForTest("https://service.example", {
        proxyFor: () => proxy.url.replace("//", "//ann:s3cret@"),
      });
      const result = await service.publish(48213, write());
      expect(result).toMatchObject({
        outcome: "not_sent",
        attempts: 3,
        failure: { code: "proxy-refused", stops: "run", hint: expect.stringContaining("HTTPS_PROXY") },
      });
      expect(JSON.stringify(result)).not.toContain("s3cret");
      expect(proxy.requests).toHaveLength(3);
      expect(server.requests).toEqual([]);
    },
  );

  it("leaves a call not sent after three attempts when the proxy closes each connection", async () => {
    const { server, proxy } = await startBehindProxy(() => answer(204), "close");
    const service = openForTest("https://service.example", { proxyFor: () => proxy.url });
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 3, failure: { code: "unreachable" } });
    expect(proxy.requests).toHaveLength(3);
    expect(server.requests).toEqual([]);
  });

  it("leaves a call not sent when nothing listens at its address", async () => {
    const proxyUrl = `http://127.0.0.1:${await unusedPort()}`;
    const service = openForTest("https://service.example", { proxyFor: () => proxyUrl });
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "connection-refused" } });
  });

  it("leaves a call in doubt when its tunnel breaks after the request", async () => {
    const { proxy } = await startBehindProxy(() => (socket) => void socket.destroy());
    const options = { allowHttp: true, proxyFor: () => proxy.url };
    const result = await openForTest("http://service.example", options).publish(1, write());
    expect(result).toMatchObject({ outcome: "unknown", attempts: 1, failure: { code: "connection-reset" } });
  });

  it("opens a separate tunnel for each publish", async () => {
    const { proxy } = await startBehindProxy((request) =>
      request.method === "POST" ? answer(201, productDocument(7)) : answer(204),
    );
    const service = openForTest("http://service.example", { allowHttp: true, proxyFor: () => proxy.url });
    await service.detach(target, write());
    for (const tunnels of [2, 3]) {
      await service.publish(1, write());
      expect(proxy.requests).toHaveLength(tunnels);
    }
  });

  it("is not used for a service on this machine", async () => {
    const { server, proxy } = await startBehindProxy(() => answer(204));
    const service = openForTest(server.url, { proxyFor: () => proxy.url });
    expect(await service.detach(target, write())).toMatchObject({ outcome: "done" });
    expect(proxy.requests).toEqual([]);
  });

  it("is rejected without showing its password when its address is invalid", () => {
    const open = () => openForTest("https://service.example", { proxyFor: () => "socks5://ann:s3cret@p" });
    expect(open).toThrow(expect.objectContaining({ code: "proxy-invalid" }));
    expect(open).not.toThrow(/s3cret/);
  });
});

describe("TLS", () => {
  it("trusts a configured certificate authority, and no other private one", async () => {
    const url = `https://localhost:${await startTls(selfSigned)}`;
    const trusted = openForTest(url, { authorities: [selfSigned.cert] });
    expect(await trusted.detach(target, write())).toMatchObject({ outcome: "done" });
    const other = openForTest(url, { authorities: [exampleSigned.cert] });
    expect(await other.detach(target, write())).toMatchObject({ failure: { code: "certificate-invalid" } });
  });
});
