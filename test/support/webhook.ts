import { createServer } from "node:http";
import { listenLocally } from "./listen.ts";

/** A received notification. */
export interface Notice {
  readonly path: string;
  readonly type: string | undefined;
  readonly body: { readonly text: string; readonly status: string; readonly former_status?: string };
}

/** A real server that receives notifications. */
export interface Webhook {
  readonly url: string;
  readonly notices: readonly Notice[];
  /** The status of its responses. */
  status: number;
  close(): Promise<void>;
}

/** Starts a webhook on this machine. */
export async function startWebhook(): Promise<Webhook> {
  const notices: Notice[] = [];
  const answer = { status: 204 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    notices.push({ path: request.url ?? "", type: request.headers["content-type"], body });
    // A redirect leads to the same server, which would accept it.
    response.writeHead(request.url?.endsWith("/elsewhere") ? 204 : answer.status, { location: "/elsewhere" });
    response.end();
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    notices,
    get status() {
      return answer.status;
    },
    set status(status: number) {
      answer.status = status;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
