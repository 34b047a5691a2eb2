import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { buildConnector, Pool } from "undici";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../../../src/service/exchange-handler.ts";
import { ExchangeHandler } from "../../../src/service/exchange-handler.ts";
import { closeAfterTest } from "./support/harness.ts";
import { answer, type Reply, startRawServer } from "./support/raw-server.ts";

/** Runs in its own thread, because the test blocks its own, and signals its response. */
const serverThatAnswers = `
  const { parentPort, workerData } = require("node:worker_threads");
  const answer = (socket) => socket.write("HTTP/1.1 204 No Content\\r\\n\\r\\n", () => {
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  });
  const server = require("node:net").createServer((socket) => socket.on("data", () => answer(socket)).on("error", () => {}));
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

/** The exchange of one request with a server that sends this reply. */
async function exchangeWith(reply: Reply, options: Pool.Options = {}): Promise<Exchange> {
  const server = await startRawServer(() => reply);
  closeAfterTest(() => server.close());
  const pool = new Pool(server.url, options);
  closeAfterTest(() => pool.destroy());
  return await new Promise<Exchange>((resolve) => {
    pool.dispatch({ method: "POST", path: "/" }, new ExchangeHandler(10_000, resolve));
  });
}

describe("ExchangeHandler", () => {
  it("never sends a request that timed out while its connection was made", async () => {
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

  it("accepts a response that arrived in time while the process was suspended", async () => {
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

  it("returns the final response after an interim one", async () => {
    const exchange = await exchangeWith(
      `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${answer(201, "{}", { "X-Twice": "a" })}`,
    );
    if (exchange.type !== "answer") throw new Error(exchange.type);
    expect([exchange.answer.status, exchange.answer.body.toString(), exchange.answer.header("link")]).toEqual(
      [201, "{}", undefined],
    );
  });

  it("returns no status when only an interim response arrived", async () => {
    const interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    expect(await exchangeWith((socket) => void socket.end(interim))).toMatchObject({
      type: "lost",
      reason: "broken",
      status: undefined,
    });
  });

  it("reports a broken connection when a response ends inside its chunks", async () => {
    const head = "HTTP/1.1 201 Created\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    const reply: Reply = (socket) => void socket.end(`${head}8\r\n{"data":\r\n`);
    expect(await exchangeWith(reply, { pipelining: 0 })).toMatchObject({
      type: "lost",
      reason: "broken",
      status: 201,
    });
  });
});
