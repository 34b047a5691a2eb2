import type { Socket } from "node:net";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { listenLocally } from "../../support/listen.ts";
import {
  fileDocument,
  openForTest,
  productDocument,
  startHarness,
  target,
  write,
} from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

function makeInterrupts() {
  const [drain, abortInFlight] = [new AbortController(), new AbortController()];
  return {
    interrupts: { drain: drain.signal, abortInFlight: abortInFlight.signal },
    drain: () => drain.abort(),
    abortInFlight: () => abortInFlight.abort(),
  };
}

/** A service whose server never responds; `arrived` resolves with the socket of the next request. */
async function startSilent(overrides: Parameters<typeof openForTest>[1] = {}) {
  const waiting: ((socket: Socket) => void)[] = [];
  const sockets: Socket[] = [];
  const { interrupts, drain, abortInFlight } = makeInterrupts();
  const { service, server, events } = await startHarness(
    () => (socket) => {
      const next = waiting.shift();
      if (next === undefined) sockets.push(socket);
      else next(socket);
    },
    { interrupts, ...overrides },
  );
  const arrived = () =>
    new Promise<Socket>((resolve) => {
      const socket = sockets.shift();
      if (socket === undefined) waiting.push(resolve);
      else resolve(socket);
    });
  return { service, server, events, arrived, drain, abortInFlight };
}

describe("first interrupt", () => {
  it("lets a call in flight end, and starts no waiting call", async () => {
    const { service, server, arrived, drain } = await startSilent({ rate: { limit: 1, windowMs: 60_000 } });
    const first = service.attach(target, {}, write());
    const socket = await arrived();
    const second = service.attach({ ...target, fileId: 2 }, {}, write());
    drain();
    expect(await second).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" }, attempts: 0 });
    expect(await service.detach(target, write())).toMatchObject({ failure: { code: "aborted" } });
    socket.write(answer(201, fileDocument()));
    expect(await first).toMatchObject({ outcome: "done" });
    expect(server.requests).toHaveLength(1);
  });

  it("sends no call again after any response", async () => {
    for (const status of [503, 429]) {
      const { service, server, arrived, drain, events } = await startSilent();
      const updating = service.update(target, {}, write());
      const socket = await arrived();
      drain();
      socket.write(answer(status));
      expect(await updating).toMatchObject({ failure: { status }, attempts: 1 });
      expect(server.requests).toHaveLength(1);
      expect(events.filter((event) => event.type === "waiting" && event.reason === "backoff")).toEqual([]);
    }
  });

  it("does not send a call whose intent is being stored", async () => {
    const { service, server, drain } = await startSilent();
    const beforeSend = async () => drain();
    const publishing = service.publish(1, write({ beforeSend }));
    expect(await publishing).toMatchObject({
      outcome: "not_sent",
      failure: { code: "aborted" },
      attempts: 0,
    });
    expect(server.requests).toEqual([]);
  });

  it("does not wait for a connection attempt", async () => {
    let connected = () => {};
    const connecting = new Promise<void>((resolve) => {
      connected = resolve;
    });
    // The TLS handshake never gets a response.
    const sockets: Socket[] = [];
    const mute = createServer((socket) => {
      sockets.push(socket.once("data", connected).once("error", () => {}));
    });
    const port = await listenLocally(mute);
    const { interrupts, drain } = makeInterrupts();
    const service = openForTest(`https://127.0.0.1:${port}`, { interrupts });
    const publishing = service.publish(1, write());
    await connecting;
    drain();
    expect(await publishing).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" } });
    await service.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => mute.close(closed));
  });
});

describe("second interrupt", () => {
  it("aborts calls in flight, which end unknown and are not sent again", async () => {
    const { service, server, arrived, drain, abortInFlight } = await startSilent();
    const calls = [
      service.publish(1, write()),
      service.update(target, {}, write()),
      service.getUpload("up", new AbortController().signal),
    ];
    const sockets = [await arrived(), await arrived(), await arrived()];
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    drain();
    // An incomplete response.
    sockets[0]?.write(answer(201, productDocument()).slice(0, -5));
    abortInFlight();
    for (const call of calls) {
      expect(await call).toMatchObject({
        outcome: "unknown",
        failure: { code: "aborted-in-flight" },
        attempts: 1,
      });
    }
    await Promise.all(closed);
    expect(server.requests).toHaveLength(3);
  });

  it("prevents every call of a service that is opened after it", async () => {
    const { interrupts, drain, abortInFlight } = makeInterrupts();
    drain();
    abortInFlight();
    const { service, server } = await startHarness(() => answer(204), { interrupts });
    expect(await service.detach(target, write())).toMatchObject({
      failure: { code: "aborted" },
      attempts: 0,
    });
    expect(server.requests).toEqual([]);
  });
});
