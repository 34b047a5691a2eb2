import { connect } from "node:net";

/** All bytes of a connection, and how it ended. */
export interface Received {
  /** One character per byte. */
  readonly text: string;
  readonly head: string;
  readonly body: string;
  readonly end: "closed" | "reset" | "stopped";
}

/** A request; the body is sent as JSON. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body?: unknown;
  /** Close as soon as this text has arrived. */
  readonly until?: string;
}

/** Sends one request over a socket and returns everything up to the end of the connection. */
export function sendRaw(port: number, request: RawRequest): Promise<Received> {
  const { method, path, key, body, until } = request;
  const text = body === undefined ? "" : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Accept: application/vnd.api+json; com.service.api.version=1",
    `Authorization: Token ${key}`,
    "Connection: close",
    ...(text === ""
      ? []
      : ["Content-Type: application/vnd.api+json", `Content-Length: ${Buffer.byteLength(text)}`]),
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    let end: Received["end"] = "closed";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      received += chunk;
      if (until !== undefined && received.includes(until)) {
        end = "stopped";
        socket.destroy();
      }
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNRESET") end = "reset";
      else reject(error);
    });
    socket.on("close", () => {
      const [head = "", ...rest] = received.split("\r\n\r\n");
      resolve({ text: received, head, body: rest.join("\r\n\r\n"), end });
    });
    socket.write(`${lines.join("\r\n")}\r\n\r\n${text}`);
  });
}
