import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as send } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { listenLocally } from "./listen.ts";

/** The treatment of one request. */
export type Fault =
  /** The request does not reach the service; the connection is cut. */
  | { readonly type: "lost" }
  /** The connection is cut; the request takes effect after this number of milliseconds. */
  | { readonly type: "late"; readonly ms: number }
  /** The request takes effect; the connection is cut before the response, or inside its body. */
  | { readonly type: "answer-lost" | "answer-cut" }
  /** The request takes effect; the response is held until the promise resolves, or forever without one. */
  | { readonly type: "answer-held"; readonly until?: Promise<unknown> }
  /** This response replaces that of the service, which receives the request only with `carriedOut`. */
  | {
      readonly type: "answer";
      readonly carriedOut?: boolean;
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** Holds responses until `answer` is called. */
export function holdAnswers(): { readonly held: Fault; answer(): void } {
  let answer = () => {};
  const until = new Promise<void>((resolve) => {
    answer = resolve;
  });
  return { held: { type: "answer-held", until }, answer };
}

/** The parts of a request that faults depend on. `body` is the text. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** Chooses the fault of a request, or none. Called for each request in the order of arrival. */
export type ChooseFault = (request: Passing) => Fault | undefined;

/** The response of the service, if it received the request, and the status of a complete document at the client. */
export interface PassingEnd {
  readonly served?: { readonly status: number; readonly body: string };
  readonly reported?: number;
}

/** Receives the end of each request. */
export type SeeEnd = (request: Passing, end: PassingEnd) => void;

/** A real server between the client and the sandbox that loses requests and responses on demand. */
export interface FaultyProxy {
  readonly url: string;
  /** `METHOD /path` of every request, faulty or not. */
  readonly seen: string[];
  choose: ChooseFault;
  /** Cuts every connection, and later ones without a record until {@link join}. */
  cut(): void;
  join(): void;
  /** Resolves when no request is in flight to the service, but for late ones. */
  idle(): Promise<void>;
  /** Resolves when the late ones have arrived as well. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy in front of `target`. */
export async function startFaultyProxy(target: string, seeEnd: SeeEnd = () => {}): Promise<FaultyProxy> {
  const seen: string[] = [];
  const agent = new Agent({ keepAlive: true });
  const inFlight = new Set<Promise<void>>();
  const late = new Set<Promise<void>>();
  let choose: ChooseFault = () => undefined;
  let isOpen = true;
  const arriveLate = ({ incoming, request, body, ms }: LateRequest) => {
    const arrived = delay(ms)
      .then(() => forward(incoming, { target, agent, body }))
      .then((answered) =>
        seeEnd(request, { served: { status: answered.status, body: answered.body.toString() } }),
      )
      .finally(() => late.delete(arrived));
    late.add(arrived);
  };
  const handle = async (incoming: IncomingMessage, answer: ServerResponse) => {
    const body = await readAll(incoming);
    if (!isOpen) return void incoming.socket.destroy();
    const request = { method: incoming.method ?? "", path: incoming.url ?? "", body: body.toString() };
    seen.push(`${request.method} ${request.path}`);
    const fault = choose(request);
    if (fault?.type === "late") {
      incoming.socket.destroy();
      return arriveLate({ incoming, request, body, ms: fault.ms });
    }
    // `choose` may have cut all connections.
    if (fault?.type === "lost" || !isOpen) {
      incoming.socket.destroy();
      return seeEnd(request, {});
    }
    if (fault?.type === "answer" && fault.carriedOut !== true) {
      seeEnd(request, reportedBy(fault));
      return write(answer, fault);
    }
    const response = await forward(incoming, { target, agent, body });
    const { status } = response;
    const reported = fault === undefined ? { reported: status } : reportedBy(fault);
    seeEnd(request, { served: { status, body: response.body.toString() }, ...reported });
    if (fault?.type === "answer-held") await (fault.until ?? new Promise<never>(() => {}));
    if (fault?.type === "answer-lost" || !isOpen) return void incoming.socket.destroy();
    respond(answer, response, fault);
  };
  const server = createServer((incoming, answer) => {
    const handled = handle(incoming, answer)
      .catch(() => void incoming.socket.destroy())
      .finally(() => inFlight.delete(handled));
    inFlight.add(handled);
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    get choose() {
      return choose;
    },
    set choose(next: ChooseFault) {
      choose = next;
    },
    cut() {
      isOpen = false;
      server.closeAllConnections();
    },
    join() {
      isOpen = true;
    },
    async idle() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
    async settled() {
      while (inFlight.size + late.size > 0) await Promise.allSettled([...inFlight, ...late]);
    },
    close: () => {
      agent.destroy();
      return new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      });
    },
  };
}

/** A web page or an incomplete response reports nothing. */
function reportedBy(fault: Fault): PassingEnd {
  return fault.type === "answer" && fault.body?.startsWith("{") === true ? { reported: fault.status } : {};
}

interface LateRequest {
  readonly incoming: IncomingMessage;
  readonly request: Passing;
  readonly body: Buffer;
  readonly ms: number;
}

interface Forwarding {
  readonly target: string;
  readonly agent: Agent;
  readonly body: Buffer;
}

async function forward(incoming: IncomingMessage, { target, agent, body }: Forwarding) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const { connection, ...headers } = incoming.headers;
    send(new URL(incoming.url ?? "/", target), { method: incoming.method, headers, agent }, resolve)
      .once("error", reject)
      .end(body);
  });
  return { status: response.statusCode ?? 500, headers: response.headers, body: await readAll(response) };
}

function respond(
  answer: ServerResponse,
  { status, headers, body }: Awaited<ReturnType<typeof forward>>,
  fault: Fault | undefined,
): void {
  if (fault?.type === "answer") {
    write(answer, fault);
    return;
  }
  answer.writeHead(status, headers);
  if (fault?.type === "answer-cut") answer.write(body.subarray(0, body.length >> 1), () => answer.destroy());
  else answer.end(body);
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
