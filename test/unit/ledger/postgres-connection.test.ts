import { connect, createServer, type Socket } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import { listenLocally } from "../../support/listen.ts";
import { freshSchema, openForTest } from "./samples.ts";

/** `FATAL` 57P01 (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
function termination(): Buffer {
  const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection", ""]
    .map((each) => `${each}\0`)
    .join("");
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from("E"), length, Buffer.from(fields)]);
}

/** Whether the bytes end with ReadyForQuery outside a transaction. */
const isReady = (bytes: Buffer) => bytes.subarray(-6).equals(Buffer.from("Z\0\0\0\x05I"));

test("treats a connection that ends in its ReadyForQuery packet as lost", async () => {
  const server = new URL(inject("databaseUrl"));
  let left = 1;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes) => {
      if (left === 0 || !isReady(bytes)) return void client.write(bytes);
      left -= 1;
      client.end(Buffer.concat([bytes, termination()]));
    });
  });
  const port = await listenLocally(proxy);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const location = new URL(freshSchema());
  location.port = String(port);
  const code = await openForTest(location.href).then(
    () => "opened",
    (error: { readonly code: string }) => error.code,
  );
  expect(left).toBe(0);
  expect(["opened", "ledger-unreachable"]).toContain(code);
  await expect(openForTest(location.href)).resolves.toBeDefined();
});
