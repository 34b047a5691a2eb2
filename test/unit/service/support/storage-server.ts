import { createServer } from "node:http";
import { listenLocally } from "../../../support/listen.ts";

/** One request to the storage. */
export interface StorageRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The part of S3 that uploads need. */
export interface StorageServer {
  readonly url: string;
  readonly requests: readonly StorageRequest[];
  /** Objects that were put, or completed, by path. */
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Multipart uploads that are neither completed nor aborted. */
  readonly open: ReadonlySet<string>;
  close(): Promise<void>;
}

/** A response without the headers of S3. */
export interface PlainResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type StorageFault = (
  request: StorageRequest,
  index: number,
) => number | "stall" | "drip" | "switch" | PlainResponse | undefined;

/**
 * Starts a {@link StorageServer}; `fail` may return a status or response, no response (`stall`), an endless one (`drip`), or another
 * protocol (`switch`).
 */
export async function startStorageServer(fail: StorageFault = () => undefined): Promise<StorageServer> {
  const requests: StorageRequest[] = [];
  const objects = new Map<string, Buffer>();
  const parts = new Map<string, Map<number, Buffer>>();
  const open = new Set<string>();

  const handle = (request: StorageRequest): { status: number; body?: string } => {
    const { method, path, query, body } = request;
    const uploadId = query.get("uploadId");
    if (method === "POST" && query.has("uploads")) {
      const id = `mp${open.size + 1}`;
      open.add(id);
      parts.set(id, new Map());
      return {
        status: 200,
        body: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      };
    }
    if (uploadId !== null && method === "DELETE") {
      open.delete(uploadId);
      return { status: 204 };
    }
    if (uploadId !== null && method === "PUT") {
      parts.get(uploadId)?.set(Number(query.get("partNumber")), body);
      return { status: 200 };
    }
    if (uploadId !== null && method === "POST") {
      const sorted = [...(parts.get(uploadId) ?? [])].sort(([a], [b]) => a - b);
      objects.set(path, Buffer.concat(sorted.map(([, bytes]) => bytes)));
      open.delete(uploadId);
      return {
        status: 200,
        body: "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>",
      };
    }
    objects.set(path, body);
    return { status: 200 };
  };

  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const url = new URL(incoming.url ?? "/", "http://storage");
      const request: StorageRequest = {
        method: incoming.method ?? "",
        path: decodeURIComponent(url.pathname),
        query: url.searchParams,
        headers: incoming.headers,
        body: Buffer.concat(chunks),
      };
      requests.push(request);
      const status = fail(request, requests.length - 1);
      if (status === "stall") return;
      if (status === "switch") {
        incoming.socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        );
        return;
      }
      if (status === "drip") {
        outgoing.writeHead(403, { "content-type": "application/xml" });
        const timer = setInterval(() => outgoing.write(" "), 20);
        outgoing.once("close", () => clearInterval(timer));
        return;
      }
      if (typeof status === "object") {
        outgoing.writeHead(status.status, status.headers).end(status.body);
        return;
      }
      const reply =
        status === undefined
          ? handle(request)
          : { status, body: `<Error><Code>Fault${status}</Code><Message>injected</Message></Error>` };
      outgoing.writeHead(reply.status, { etag: '"abc"', "content-type": "application/xml" }).end(reply.body);
    });
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    objects,
    open,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
