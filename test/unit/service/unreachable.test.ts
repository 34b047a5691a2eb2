import type { Server, Socket } from "node:net";
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { listenLocally, unusedPort } from "../../support/listen.ts";
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
import { selfSigned } from "./support/self-signed.ts";

describe("a service that cannot be reached", () => {
  it("is retried on every call, publications too, and then stops the run", async () => {
    const service = openForTest(`http://127.0.0.1:${await unusedPort()}`);
    const result = await service.publish(48213, write());
    expect(result).toMatchObject({
      outcome: "not_sent",
      attempts: 3,
      failure: { code: "connection-refused", stops: "run" },
    });
  });

  it("says so when the host name does not exist", async () => {
    const service = openForTest("https://no-such-host.invalid");
    const result = await service.update(target, {}, write());
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "name-not-found" } });
  });

  it("counts as not sent when the TLS handshake is dropped", async () => {
    const port = await listenWith((socket) => void socket.once("data", () => socket.destroy()));
    const result = await openForTest(`https://localhost:${port}`).attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 3 });
  });

  it("counts as not sent when the other side does not speak TLS", async () => {
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

  it("counts as not sent when the handshake never ends", async () => {
    const port = await listenWith(() => {});
    const service = openForTest(`https://localhost:${port}`, { timeoutMs: 100 });
    const result = await service.publish(48213, write());
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 3, failure: { code: "connect-timeout" } });
  });

  it("never gets the key when its certificate is not valid, and stops the run at once", async () => {
    let bytes = 0;
    const server = createTlsServer(selfSigned, (socket) => {
      socket.on("data", (chunk) => {
        bytes += chunk.length;
      });
      socket.on("error", () => socket.destroy());
    });
    const port = await listen(server);
    const result = await openForTest(`https://localhost:${port}`).detach(target, write());
    expect(result).toMatchObject({
      outcome: "not_sent",
      attempts: 1,
      failure: { code: "certificate-invalid", stops: "run" },
    });
    expect(bytes).toBe(0);
  });
});

describe("a service that does not answer", () => {
  it("leaves an attachment in doubt when the headers never come", async () => {
    const { service, server } = await startHarness(() => "", { timeoutMs: 100 });
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "unknown", attempts: 1, failure: { code: "timeout" } });
    expect(server.requests).toHaveLength(1);
  });

  it("has one deadline for the whole exchange: a body that trickles does not stretch it", async () => {
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

  it("is asked again by a read", async () => {
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

  it("leaves a publication in doubt when the service is closed meanwhile", async () => {
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

  it("ends after 10 MiB of a body without a length", async () => {
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

describe("a connection that breaks", () => {
  it("is never repaired underneath: a kept connection that dies takes its request with it", async () => {
    const { service, server } = await startHarness((_request, index) =>
      index === 0 ? answer(403) : (socket) => void socket.destroy(),
    );
    await service.attach(target, {}, write());
    const result = await service.attach(target, {}, write());
    expect(result).toMatchObject({ outcome: "unknown", attempts: 1, failure: { code: "connection-reset" } });
    expect(server.requests).toHaveLength(2);
  });

  it("takes a connection of its own for what cannot be undone", async () => {
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

/** A server that gets a connection and then does what the test says, whatever is sent to it. */
async function listenWith(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  return await listen(
    createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      onConnection(socket);
    }),
    () => {
      for (const socket of sockets) socket.destroy();
    },
  );
}

async function listen(server: Server, beforeClose: () => void = () => {}): Promise<number> {
  const port = await listenLocally(server, "localhost");
  closeAfterTest(async () => {
    beforeClose();
    await new Promise((resolve) => server.close(resolve));
  });
  return port;
}
