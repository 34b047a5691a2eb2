import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as send } from "node:http";
import { listenLocally } from "../../support/listen.ts";

/** A request, as it stands on the wire. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** What may go wrong with one call. All but `lost` and `refused` let the service carry it out first. */
export type WireFault =
  /** The connection is cut before the service sees the request. */
  | { readonly type: "lost" }
  /** The connection is cut before the answer, or inside its body. */
  | { readonly type: "answer-lost" | "answer-cut" }
  /** The service never sees it, and this status is answered. */
  | { readonly type: "refused"; readonly status: number }
  /** It is carried out, and answered with this status or with a body that is no document. */
  | { readonly type: "failed-after"; readonly status: number }
  /** It is carried out, and a proxy answers with this status and a web page. */
  | { readonly type: "page-after"; readonly status: number }
  | { readonly type: "garbled" };

/** `arrived` chooses the fault; `ended` receives what the service did and what the client received. */
export interface WireObserver {
  arrived(request: WireRequest): WireFault | undefined;
  ended(request: WireRequest, end: WireEnd): void;
}

/** `served`: the service's status, absent when it never saw the request. `reported`: the status that the client received, whole. */
export interface WireEnd {
  readonly served?: { readonly status: number; readonly body: string };
  readonly reported?: number;
}

/** A server in front of the sandbox that makes faults and reports every request. */
export interface Tap {
  readonly url: string;
  /** Cuts every connection; what comes afterwards is cut off unseen until {@link join}. */
  cut(): void;
  join(): void;
  /** Resolves when nothing is on its way to the service any more. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const page = { "content-type": "text/html", "retry-after": "0", location: "/elsewhere" };

/** Starts a tap in front of `target`. */
export async function startTap(target: string, observer: WireObserver): Promise<Tap> {
  const agent = new Agent({ keepAlive: true });
  const underWay = new Set<Promise<void>>();
  let open = true;
  const handle = async (incoming: IncomingMessage, answer: ServerResponse) => {
    const request = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      body: (await readAll(incoming)).toString("latin1"),
    };
    if (!open) return void incoming.socket.destroy();
    const fault = observer.arrived(request);
    // The observer may have ended the client.
    if (fault?.type === "lost" || !open) {
      incoming.socket.destroy();
      return observer.ended(request, {});
    }
    if (fault?.type === "refused") {
      observer.ended(request, { reported: fault.status });
      return void answer.writeHead(fault.status, { ...jsonApi, "retry-after": "0" }).end('{"errors":[]}');
    }
    const response = await forward(incoming, { target, agent, body: Buffer.from(request.body, "latin1") });
    const reported = reportedOf(response.status, fault);
    const served = { status: response.status, body: response.body.toString() };
    observer.ended(request, { served, ...(reported === undefined ? {} : { reported }) });
    if (!open) return void incoming.socket.destroy();
    answerWith(answer, response, fault);
  };
  const server = createServer((incoming, answer) => {
    const handled = handle(incoming, answer)
      .catch(() => void incoming.socket.destroy())
      .finally(() => underWay.delete(handled));
    underWay.add(handled);
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    cut() {
      open = false;
      server.closeAllConnections();
    },
    join() {
      open = true;
    },
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    async close() {
      agent.destroy();
      await new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      });
    },
  };
}

const jsonApi = { "content-type": "application/vnd.api+json" };

/** The status that the client gets whole. */
function reportedOf(status: number, fault: WireFault | undefined): number | undefined {
  if (fault === undefined) return status;
  return fault.type === "failed-after" ? fault.status : undefined;
}

/** Answers a request that the service has carried out, with what the fault makes of it. */
function answerWith(answer: ServerResponse, response: Forwarded, fault: WireFault | undefined): void {
  const cut = () => {
    answer.destroy();
  };
  if (fault?.type === "answer-lost") {
    cut();
    return;
  }
  if (fault?.type === "failed-after") answer.writeHead(fault.status, jsonApi).end('{"errors":[]}');
  else if (fault?.type === "page-after") answer.writeHead(fault.status, page).end("<html>proxy</html>");
  else if (fault?.type === "garbled") answer.writeHead(200, jsonApi).end("<html>");
  else {
    answer.writeHead(response.status, response.headers);
    if (fault?.type === "answer-cut") answer.write(response.body.subarray(0, response.body.length >> 1), cut);
    else answer.end(response.body);
  }
}

interface Forwarded {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

interface Forwarding {
  readonly target: string;
  readonly agent: Agent;
  readonly body: Buffer;
}

async function forward(incoming: IncomingMessage, { target, agent, body }: Forwarding): Promise<Forwarded> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const { connection, ...headers } = incoming.headers;
    send(new URL(incoming.url ?? "/", target), { method: incoming.method, headers, agent }, resolve)
      .once("error", reject)
      .end(body);
  });
  return { status: response.statusCode ?? 500, headers: response.headers, body: await readAll(response) };
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
