import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request as send } from "node:http";
import { listenLocally } from "./listen.ts";

/** What happens to one request. */
export type Fault =
  /** It never gets to the service; the connection is cut. */
  | { readonly type: "lost" }
  /** The service carries it out; the connection is cut before its answer. */
  | { readonly type: "answer-lost" }
  /** The service carries it out; its answer is kept back until this is resolved, for ever when there is none. */
  | { readonly type: "answer-held"; readonly until?: Promise<unknown> }
  /** It never gets to the service, unless it is `carriedOut`; this is answered instead. */
  | {
      readonly type: "answer";
      readonly carriedOut?: boolean;
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    };

/** Keeps answers back until `answer` is called. */
export function holdAnswers(): { readonly held: Fault; answer(): void } {
  let answer = () => {};
  const until = new Promise<void>((resolve) => {
    answer = resolve;
  });
  return { held: { type: "answer-held", until }, answer };
}

/** A request, as far as faults are chosen by it. `body` is the text. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** Chooses the fault of a request, or none. Called once for each request, in the order of arrival. */
export type ChooseFault = (request: Passing) => Fault | undefined;

/** A real server between the client and the sandbox that loses requests and answers on demand. */
export interface FaultyProxy {
  readonly url: string;
  /** `METHOD /path` of every request that came, faulty or not. */
  readonly seen: string[];
  choose: ChooseFault;
  close(): Promise<void>;
}

/** Starts a proxy in front of `target`. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const seen: string[] = [];
  const proxy: { choose: ChooseFault } = { choose: () => undefined };
  const server = createServer(async (incoming, answer) => {
    const body = await readAll(incoming);
    const passing = { method: incoming.method ?? "", path: incoming.url ?? "", body: body.toString() };
    seen.push(`${passing.method} ${passing.path}`);
    const fault = proxy.choose(passing);
    if (fault?.type === "lost") return void incoming.socket.destroy();
    if (fault?.type === "answer" && fault.carriedOut !== true) return write(answer, fault);
    forward(incoming, { target, body, answer, fault });
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    get choose() {
      return proxy.choose;
    },
    set choose(choose: ChooseFault) {
      proxy.choose = choose;
    },
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

interface Forwarding {
  readonly target: string;
  readonly body: Buffer;
  readonly answer: ServerResponse;
  readonly fault: Exclude<Fault, { type: "lost" }> | undefined;
}

function forward(incoming: IncomingMessage, { target, body, answer, fault }: Forwarding): void {
  const options = { method: incoming.method, headers: { ...incoming.headers, connection: "close" } };
  const onward = send(new URL(incoming.url ?? "/", target), options, async (response) => {
    const content = await readAll(response);
    if (fault?.type === "answer-held") {
      if (fault.until === undefined) return;
      await fault.until;
    }
    if (fault?.type === "answer-lost") return void incoming.socket.destroy();
    if (fault?.type === "answer") return write(answer, fault);
    answer.writeHead(response.statusCode ?? 500, response.headers);
    answer.end(content);
  });
  onward.once("error", () => incoming.socket.destroy());
  onward.end(body);
}

function write(answer: ServerResponse, { status, headers, body }: Extract<Fault, { type: "answer" }>): void {
  answer.writeHead(status, { "content-type": "application/vnd.api+json", ...headers });
  answer.end(body ?? "");
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
