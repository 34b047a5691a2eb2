import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { listenLocally } from "../../support/listen.ts";

/** A kill before this byte is forwarded, counted over all connections of the run. */
export interface BytePoint {
  readonly direction: "request" | "response";
  readonly byte: number;
}

/** A TCP proxy that kills at a byte, and counts the forwarded bytes. */
export interface KillProxy {
  readonly url: string;
  readonly passed: { readonly request: number; readonly response: number };
  /** The forwarded chunks, in order. Without other traffic, each is a head, a body or both. */
  readonly chunks: readonly (BytePoint & { readonly length: number })[];
  /** Restarts the count, and kills at `point`, if given. */
  arm(targetPort: number, point?: BytePoint, kill?: () => void): void;
  /** Behaves like the network after a kill: forwards nothing more. Resolves when the server has handled the forwarded bytes. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a {@link KillProxy}; its port is the same for every target. */
export async function startKillProxy(): Promise<KillProxy> {
  let targetPort = 0;
  let point: BytePoint | undefined;
  let kill = () => {};
  let isCut = false;
  const passed = { request: 0, response: 0 };
  const chunks: (BytePoint & { length: number })[] = [];
  const clients = new Set<Socket>();
  const servers = new Set<Socket>();

  const cut = async () => {
    isCut = true;
    for (const client of clients) client.destroy();
    const ends = [...servers].map((server) => (server.destroyed ? undefined : once(server, "close")));
    // Ends the client's side after the forwarded bytes; the server's response is discarded.
    for (const server of servers) server.resume().end();
    await Promise.all(ends);
  };

  /** The part of a chunk before the kill. */
  const pass = (direction: BytePoint["direction"], chunk: Buffer): Buffer => {
    if (isCut) return Buffer.alloc(0);
    const at = point?.direction === direction ? point.byte - passed[direction] : Number.POSITIVE_INFINITY;
    const through = at < chunk.length ? chunk.subarray(0, at) : chunk;
    if (through.length > 0) chunks.push({ direction, byte: passed[direction], length: through.length });
    passed[direction] += through.length;
    return through;
  };

  const proxy = createServer((client) => {
    if (isCut) return void client.destroy();
    const server = connect(targetPort, "127.0.0.1");
    clients.add(client);
    servers.add(server);
    for (const socket of [client, server]) socket.setNoDelay(true).on("error", () => {});
    client.on("close", () => {
      clients.delete(client);
      if (!isCut) server.end();
    });
    server.on("close", () => {
      servers.delete(server);
      client.destroy();
    });
    client.on("data", (chunk) => {
      const through = pass("request", chunk);
      if (through.length > 0) server.write(through);
      if (through.length < chunk.length && !isCut) kill();
    });
    server.on("data", (chunk) => {
      const through = pass("response", chunk);
      if (through.length > 0 && !client.destroyed) client.write(through);
      if (through.length < chunk.length && !isCut) kill();
    });
  });
  const port = await listenLocally(proxy);
  return {
    url: `http://127.0.0.1:${port}`,
    passed,
    chunks,
    arm(target, at, onKill = () => {}) {
      targetPort = target;
      point = at;
      kill = onKill;
      isCut = false;
      passed.request = 0;
      passed.response = 0;
      chunks.length = 0;
    },
    cut,
    async close() {
      await cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
