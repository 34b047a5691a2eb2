import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import type { CallClass } from "../../../src/service/retry-policy.ts";
import { listenLocally, unusedPort } from "../../support/listen.ts";
import { startConnectProxy } from "./support/connect-proxy.ts";
import { classes, sends, summarize, valid } from "./support/failure-rows.ts";
import { closeAfterTest, openForTest } from "./support/harness.ts";
import { answer, startRawServer } from "./support/raw-server.ts";
import { expiredSigned, selfSigned } from "./support/self-signed.ts";

/** The treatment of a connection: it continues with TLS, or ends at the first byte. */
type Step = "serve" | "drop-handshake" | "drop-request";

interface TlsService {
  readonly url: string;
  /** Bytes of requests, decrypted. */
  readonly received: () => number;
  readonly connections: () => number;
}

/** A TLS service that applies these steps to its first connections, and serves the rest. */
async function startTlsService(
  steps: readonly Step[],
  { callClass, signed = selfSigned }: { callClass: CallClass; signed?: typeof selfSigned },
): Promise<TlsService> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let received = 0;
  let step: Step | undefined;
  const tls = createTlsServer(signed, (socket) => {
    const served = step;
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      received += chunk.length;
      if (served === "drop-request") socket.destroy();
      else socket.write(answer(200, valid[callClass]));
    });
  });
  tls.on("tlsClientError", () => {});
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    step = steps[connections] ?? "serve";
    connections += 1;
    if (step === "drop-handshake") socket.once("data", () => socket.destroy());
    else tls.emit("connection", socket);
  });
  const port = await listenLocally(server, "localhost");
  closeAfterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `https://localhost:${port}`, received: () => received, connections: () => connections };
}

const trusting = { authorities: [selfSigned.cert] };
const trustingExpired = [expiredSigned.cert];

describe.each(classes)("call of class %s", (callClass) => {
  it("is sent again after a dropped TLS handshake, and takes effect once", async () => {
    const tls = await startTlsService(["drop-handshake", "drop-handshake"], { callClass });
    const result = await sends[callClass](openForTest(tls.url, trusting));
    expect(result).toMatchObject({ outcome: "done", attempts: 3 });
    expect(tls.connections()).toBe(3);
  });

  it("may have been sent when the connection breaks after the TLS handshake", async () => {
    const tls = await startTlsService(["drop-handshake", "drop-request"], { callClass });
    const result = await sends[callClass](openForTest(tls.url, trusting));
    const repeatable = callClass !== "attach" && callClass !== "non_idempotent";
    expect(summarize(result, tls.connections())).toBe(repeatable ? "done 3" : "unknown connection-reset 2");
  });

  it.each([
    [
      "nothing listens at the address",
      "connection-refused",
      async () => openForTest(`http://127.0.0.1:${await unusedPort()}`),
    ],
    ["the host name is unknown", "name-not-found", async () => openForTest("https://no-such-host.invalid")],
    [
      "a proxy never responds",
      "connect-timeout",
      async () => {
        const server = await startRawServer(() => () => {});
        closeAfterTest(() => server.close());
        return openForTest("https://service.example", { proxyFor: () => server.url, timeoutMs: 20 });
      },
    ],
    [
      "a proxy refuses",
      "proxy-refused",
      async () => {
        const proxy = await startConnectProxy(0, 503);
        closeAfterTest(() => proxy.close());
        return openForTest("https://service.example", { proxyFor: () => proxy.url });
      },
    ],
  ])("is not sent and stops the run after three attempts when %s", async (_name, code, open) => {
    const service = await open();
    const result = await sends[callClass](service);
    expect(summarize(result, service.callCount())).toBe(`not_sent ${code} 3 run`);
  });

  it.each([
    ["has expired", expiredSigned, trustingExpired],
    ["is not trusted", selfSigned, []],
  ])("sends nothing and stops the run when the certificate %s", async (_name, signed, authorities) => {
    const tls = await startTlsService([], { callClass, signed });
    const service = openForTest(tls.url, { authorities });
    const result = await sends[callClass](service);
    expect(summarize(result, service.callCount())).toBe("not_sent certificate-invalid 1 run");
    expect(tls.received()).toBe(0);
  });
});
