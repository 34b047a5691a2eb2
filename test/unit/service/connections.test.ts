import { createServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { listenLocally, unusedPort } from "../../support/listen.ts";
import { startConnectProxy } from "./support/connect-proxy.ts";
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

/** A raw server, and a proxy that leads every tunnel to it. */
async function startBehindProxy(reply: Parameters<typeof startRawServer>[0], status?: number) {
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  const proxy = await startConnectProxy(server.port, status);
  closeAfterTest(() => proxy.close());
  return { server, proxy };
}

/** A TLS server that answers 204 to everything. */
async function startTls(signed: typeof selfSigned): Promise<number> {
  const server = createServer(signed, (socket) => {
    socket.on("data", () => socket.write(answer(204)));
    socket.on("error", () => socket.destroy());
  });
  const port = await listenLocally(server);
  closeAfterTest(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return port;
}

describe("through a proxy", () => {
  it("a request goes in a tunnel, and the proxy's password to the proxy alone", async () => {
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

  it("TLS is between this machine and the service: the proxy sees nothing of the request", async () => {
    const proxy = await startConnectProxy(await startTls(exampleSigned));
    closeAfterTest(() => proxy.close());
    const options = { proxyFor: () => proxy.url, authorities: [exampleSigned.cert] };
    const result = await openForTest("https://service.example", options).detach(target, write());
    expect(result).toMatchObject({ outcome: "done" });
    expect(proxy.requests.map(({ authority }) => authority)).toEqual(["service.example:443"]);
    expect(proxy.passed().length).toBeGreaterThan(100);
    expect(proxy.passed()).not.toContain(apiKey);
  });

  it("the certificate must still be the service's", async () => {
    const proxy = await startConnectProxy(await startTls(selfSigned));
    closeAfterTest(() => proxy.close());
    const options = { proxyFor: () => proxy.url, authorities: [selfSigned.cert] };
    const result = await openForTest("https://service.example", options).publish(1, write());
    expect(result).toMatchObject({
      outcome: "not_sent",
      failure: { code: "certificate-invalid", stops: "run" },
    });
  });

  it.each([403, 407, 502])(
    "that answers %i nothing was sent, and what cannot be undone is tried again",
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

  it("that is not there nothing was sent", async () => {
    const proxyUrl = `http://127.0.0.1:${await unusedPort()}`;
    const service = openForTest("https://service.example", { proxyFor: () => proxyUrl });
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "connection-refused" } });
  });

  it("a tunnel that breaks after the request leaves it in doubt", async () => {
    const { proxy } = await startBehindProxy(() => (socket) => void socket.destroy());
    const options = { allowHttp: true, proxyFor: () => proxy.url };
    const result = await openForTest("http://service.example", options).publish(1, write());
    expect(result).toMatchObject({ outcome: "unknown", attempts: 1, failure: { code: "connection-reset" } });
  });

  it("what cannot be undone takes a tunnel of its own", async () => {
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

  it("this machine is never reached", async () => {
    const { server, proxy } = await startBehindProxy(() => answer(204));
    const service = openForTest(server.url, { proxyFor: () => proxy.url });
    expect(await service.detach(target, write())).toMatchObject({ outcome: "done" });
    expect(proxy.requests).toEqual([]);
  });

  it("whose address is none, nothing is opened, and its password is not shown", () => {
    const open = () => openForTest("https://service.example", { proxyFor: () => "socks5://ann:s3cret@p" });
    expect(open).toThrow(expect.objectContaining({ code: "proxy-invalid" }));
    expect(open).not.toThrow(/s3cret/);
  });
});

describe("TLS", () => {
  it("takes an authority of one's own beside the usual ones", async () => {
    const url = `https://localhost:${await startTls(selfSigned)}`;
    const trusted = openForTest(url, { authorities: [selfSigned.cert] });
    expect(await trusted.detach(target, write())).toMatchObject({ outcome: "done" });
    const other = openForTest(url, { authorities: [exampleSigned.cert] });
    expect(await other.detach(target, write())).toMatchObject({ failure: { code: "certificate-invalid" } });
  });
});
