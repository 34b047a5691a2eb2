import type { Socket } from "node:net";
import { createServer } from "node:net";
import { listenLocally } from "../../../support/listen.ts";

/** One request as received. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  /** In the order and spelling of the request. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** `performance.now()` when its head was complete. */
  readonly at: number;
  /** Counts the connections of the server, from 1. */
  readonly connection: number;
}

/** The bytes to write, or a function that handles the socket. */
export type Reply = string | Buffer | ((socket: Socket, request: RecordedRequest) => void | Promise<void>);

/** A TCP server that sends exactly the bytes of a reply. */
export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  close(): Promise<void>;
}

/** Starts a {@link RawServer} that calls `reply` for each request, counted from 0. */
export async function startRawServer(
  reply: (request: RecordedRequest, index: number) => Reply,
): Promise<RawServer> {
  const requests: RecordedRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.setNoDelay(true);
    let pending = Buffer.alloc(0);
    let at = 0;
    socket.on("data", (chunk) => {
      if (pending.length === 0) at = performance.now();
      pending = Buffer.concat([pending, chunk]);
      for (;;) {
        const parsed = parseRequest(pending, connection, at);
        if (parsed === undefined) return;
        pending = pending.subarray(parsed.length);
        requests.push(parsed.request);
        const answer = reply(parsed.request, requests.length - 1);
        if (typeof answer === "function") void answer(socket, parsed.request);
        else socket.write(answer);
      }
    });
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function parseRequest(bytes: Buffer, connection: number, at: number) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const size = Number(headers.find(([name]) => name.toLowerCase() === "content-length")?.[1] ?? 0);
  const length = end + 4 + size;
  if (bytes.length < length) return undefined;
  const body = bytes.subarray(end + 4, length).toString("utf8");
  return { request: { method, path, headers, body, at, connection }, length };
}

/** A complete response with a length. */
export function answer(
  status: number,
  body: unknown = undefined,
  headers: Readonly<Record<string, string>> = {},
): string {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const all: Record<string, string> = {
    "Content-Type": "application/vnd.api+json",
    ...(status === 204 ? {} : { "Content-Length": String(Buffer.byteLength(text)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Whatever\r\n${lines.join("")}\r\n${text}`;
}
