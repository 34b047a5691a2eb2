import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { listenLocally } from "../../../support/listen.ts";

/** A proxy whose tunnels all lead to one port of this machine, with a record of its traffic. */
export interface ConnectProxy {
  readonly url: string;
  /** One for each requested tunnel. */
  readonly requests: readonly { readonly authority: string; readonly authorization: string | undefined }[];
  /** Resolves when no connection to the proxy is open. */
  readonly idle: () => Promise<void>;
  /** The bytes from the tunnels to the service. */
  readonly passed: () => string;
  close(): Promise<void>;
}

/** What a proxy answers; only 200 opens a tunnel. `close` ends the connection, and `silent` leaves it open, without a response. */
export type ProxyReply = number | "close" | "silent";

/** Returns `status` to each request. */
export async function startConnectProxy(targetPort: number, status: ProxyReply = 200): Promise<ConnectProxy> {
  const requests: { authority: string; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  let passed = "";
  const server = createServer((_request, response) => void response.writeHead(405).end());
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
  });
  server.on("connect", (request, socket) => {
    requests.push({ authority: request.url ?? "", authorization: request.headers["proxy-authorization"] });
    if (status === "silent") {
      socket.resume().on("end", () => socket.end());
      return;
    }
    if (status === "close") {
      socket.end();
      return;
    }
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const onward = connect(targetPort, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.on("data", (data: Buffer) => {
        passed += data.toString("latin1");
      });
      socket.pipe(onward).pipe(socket);
    });
    sockets.add(onward);
    onward.on("error", () => socket.destroy());
    onward.on("close", () => socket.destroy());
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    idle: async () => {
      const closing = [...sockets].filter(({ closed }) => !closed);
      await Promise.all(closing.map((socket) => new Promise((done) => void socket.once("close", done))));
    },
    passed: () => passed,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
