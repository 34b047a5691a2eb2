import type { Socket } from "node:net";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { listenLocally } from "../../support/listen.ts";
import {
  closeAfterTest,
  noSignal,
  openForTest,
  productDocument,
  startHarness,
  target,
  write,
} from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

describe("unreachable service", () => {
  it("is reported when its port does not speak TLS", async () => {
    const port = await listenWith(
      (socket) => void socket.once("data", () => socket.write("HTTP/1.1 400 \r\n\r\n")),
    );
    const result = await openForTest(`https://localhost:${port}`).attach(target, {}, write());
    expect(result).toMatchObject({
      outcome: "not_sent",
      failure: {
        code: "tls-failed",
        message: expect.stringMatching(/could be made: the port does not speak TLS$/),
      },
    });
  });

  it("leaves a call not sent when the TLS handshake never ends", async () => {
    const port = await listenWith(() => {});
    const service = openForTest(`https://localhost:${port}`, { timeoutMs: 100 });
    const result = await service.publish(48213, write());
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 3, failure: { code: "connect-timeout" } });
  });
});

describe("service that does not respond", () => {
  it("leaves an attachment in doubt when the headers never arrive", async () => {
    const { service, server } = await startHarness(() => "", { timeoutMs: 100 });
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "unknown", attempts: 1, failure: { code: "timeout" } });
    expect(server.requests).toHaveLength(1);
  });

  it("times out a whole exchange, also when the body trickles", async () => {
    const { service } = await startHarness(
      () => (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        const timer = setInterval(() => socket.write(" "), 10);
        socket.on("close", () => clearInterval(timer));
      },
      { timeoutMs: 150 },
    );
    const result = await service.publish(48213, write());
    expect(result).toMatchObject({ outcome: "unknown", failure: { code: "timeout", status: 200 } });
  });

  it("gets a read again on a new connection", async () => {
    const { service, server } = await startHarness(
      (_request, index) => (index === 0 ? "" : answer(200, productDocument())),
      { timeoutMs: 150, profile: { settle_delay: "0s" } },
    );
    expect(await service.getProduct(771200, undefined, noSignal())).toMatchObject({
      outcome: "done",
      attempts: 2,
    });
    expect(new Set(server.requests.map((request) => request.connection)).size).toBe(2);
  });

  it("leaves a publish in doubt when the client is closed", async () => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const { service } = await startHarness(() => () => arrive());
    const publishing = service.publish(48213, write());
    await arrived;
    await service.close();
    expect(await publishing).toMatchObject({ outcome: "unknown", failure: { code: "connection-reset" } });
  });

  it("is disconnected after 10 MiB of a body without a length", async () => {
    const { service } = await startHarness(() => (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
      const chunk = Buffer.alloc(1024 * 1024, 0x20);
      const pour = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on("drain", pour);
      pour();
    });
    const result = await service.publish(48213, write());
    expect(result).toMatchObject({ outcome: "unknown", failure: { code: "response-too-large" } });
  });
});

describe("connection to the service", () => {
  it("leaves a request in doubt when it breaks, without a retry by the HTTP library", async () => {
    const { service, server } = await startHarness((_request, index) =>
      index === 0 ? answer(403) : (socket) => void socket.destroy(),
    );
    await service.attach(target, {}, write());
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "unknown", attempts: 1, failure: { code: "connection-reset" } });
    expect(server.requests).toHaveLength(2);
  });

  it("is a separate one for each publish and duplicate", async () => {
    const { service, server } = await startHarness(() => answer(403));
    await service.detach(target, write());
    await service.publish(48213, write());
    await service.duplicate(771200, write());
    await service.detach(target, write());
    const [first, second, third, fourth] = server.requests.map((request) => request.connection);
    expect(fourth).toBe(first);
    expect(new Set([first, second, third]).size).toBe(3);
  });
});

/** A server that handles each connection as the test defines. */
async function listenWith(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    onConnection(socket);
  });
  const port = await listenLocally(server, "localhost");
  closeAfterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return port;
}
