import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { buildConnector, Pool } from "undici";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../../../src/service/exchange-handler.ts";
import { ExchangeHandler } from "../../../src/service/exchange-handler.ts";
import { closeAfterTest } from "./support/harness.ts";
import { answer, startRawServer } from "./support/raw-server.ts";

/** In a thread of its own, since the test's stands still: notes that it has answered. */
const serverThatAnswers = `
  const { parentPort, workerData } = require("node:worker_threads");
  const answer = (socket) => socket.write("HTTP/1.1 204 No Content\\r\\n\\r\\n", () => {
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  });
  const server = require("node:net").createServer((socket) => socket.on("data", () => answer(socket)).on("error", () => {}));
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

describe("ExchangeHandler", () => {
  it("never sends a request that was given up while its connection was made", async () => {
    const server = await startRawServer(() => answer(204));
    closeAfterTest(() => server.close());
    const connector = buildConnector({});
    let hold = true;
    let goOn = () => {};
    const pool = new Pool(server.url, {
      connections: 1,
      connect: (options, callback) => {
        goOn = () => void connector(options, callback);
        if (!hold) goOn();
      },
    });
    closeAfterTest(() => pool.destroy());
    const send = (path: string, timeoutMs: number) =>
      new Promise<Exchange>((resolve) => {
        pool.dispatch({ method: "POST", path }, new ExchangeHandler(timeoutMs, resolve));
      });
    const given = await send("/given-up", 20);
    expect(given).toMatchObject({ type: "not_sent", reason: "timeout" });
    hold = false;
    const next = send("/next", 10_000);
    goOn();
    expect(await next).toMatchObject({ type: "answer", answer: { status: 204 } });
    expect(server.requests.map((request) => request.path)).toEqual(["/next"]);
  });

  it("takes an answer that came while the process stood still until after its deadline", async () => {
    const answered = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(serverThatAnswers, { eval: true, workerData: answered });
    closeAfterTest(async () => void (await worker.terminate()));
    const [port]: number[] = await once(worker, "message");
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
    closeAfterTest(() => pool.destroy());
    const timeoutMs = 50;
    const standStill = () => {
      Atomics.wait(answered, 0, 0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * timeoutMs);
    };
    const exchange = await new Promise<Exchange>((resolve) => {
      const handler = new ExchangeHandler(timeoutMs, resolve);
      const start = handler.onRequestStart.bind(handler);
      handler.onRequestStart = (controller) => {
        start(controller);
        setImmediate(standStill);
      };
      pool.dispatch({ method: "POST", path: "/" }, handler);
    });
    expect(exchange).toMatchObject({ type: "answer", answer: { status: 204 } });
  });

  it("does not take an interim answer for the final one", async () => {
    const server = await startRawServer(
      () => `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${answer(201, "{}", { "X-Twice": "a" })}`,
    );
    closeAfterTest(() => server.close());
    const pool = new Pool(server.url);
    closeAfterTest(() => pool.destroy());
    const exchange = await new Promise<Exchange>((resolve) => {
      pool.dispatch({ method: "POST", path: "/" }, new ExchangeHandler(10_000, resolve));
    });
    if (exchange.type !== "answer") throw new Error(exchange.type);
    expect([exchange.answer.status, exchange.answer.body.toString(), exchange.answer.header("link")]).toEqual(
      [201, "{}", undefined],
    );
  });

  it("knows no status when only an interim answer came", async () => {
    const server = await startRawServer(
      () => (socket) => void socket.end("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    );
    closeAfterTest(() => server.close());
    const pool = new Pool(server.url);
    closeAfterTest(() => pool.destroy());
    const exchange = await new Promise<Exchange>((resolve) => {
      pool.dispatch({ method: "POST", path: "/" }, new ExchangeHandler(10_000, resolve));
    });
    expect(exchange).toMatchObject({ type: "lost", reason: "broken", status: undefined });
  });

  it("takes an answer that breaks off inside its chunks for a broken connection, not for another protocol", async () => {
    const head = "HTTP/1.1 201 Created\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    const server = await startRawServer(() => (socket) => void socket.end(`${head}8\r\n{"data":\r\n`));
    closeAfterTest(() => server.close());
    const pool = new Pool(server.url, { pipelining: 0 });
    closeAfterTest(() => pool.destroy());
    const exchange = await new Promise<Exchange>((resolve) => {
      pool.dispatch({ method: "POST", path: "/" }, new ExchangeHandler(10_000, resolve));
    });
    expect(exchange).toMatchObject({ type: "lost", reason: "broken", status: 201 });
  });
});
