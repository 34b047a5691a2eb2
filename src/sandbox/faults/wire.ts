import { once } from "node:events";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { WireFault } from "./catalogue.ts";

/** What a fault of the connection is made from. */
export interface WireParts {
  readonly outgoing: ServerResponse;
  /** What the service answered, when the request was carried out before. */
  readonly answered: WholeAnswer | undefined;
  /** How long a connection is held that nothing comes over, milliseconds. */
  readonly holdMs: number;
  /** Aborted when the sandbox ends. */
  readonly closing: AbortSignal;
}

/** An answer in memory. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** The length that a huge body claims to have: 2 GiB. */
export const HUGE_LENGTH = 2 * 1024 ** 3;

const NO_DOCUMENT: WholeAnswer = {
  status: 200,
  headers: { "content-type": "application/vnd.api+json" },
  body: Buffer.from('{"meta":{}}'),
};

/** Writes each fault on the socket. Ends when the sandbox has done its part; the connection is then of no more use. */
export const WIRES: Readonly<Record<WireFault, (parts: WireParts) => Promise<void>>> = {
  reset: async ({ outgoing }) => {
    outgoing.socket?.resetAndDestroy();
  },
  close: async ({ outgoing }) => end(outgoing.socket),
  stall: async ({ outgoing, holdMs, closing }) => {
    await untilGone(outgoing.socket, holdMs, closing);
    outgoing.socket?.destroy();
  },
  garbage: async ({ outgoing }) => {
    outgoing.socket?.write(Buffer.from("SIP/2.0 999 \u0000\u00ff not HTTP at all\r\n\r\n", "latin1"));
    end(outgoing.socket);
  },
  "cut-body": async ({ outgoing, answered }) => {
    const { status, headers, body } = withBody(answered);
    outgoing.writeHead(status, { ...headers, "content-length": body.length });
    await writeAndEnd(outgoing, body.subarray(0, body.length / 2));
  },
  "cut-chunks": async ({ outgoing, answered }) => {
    const { status, headers, body } = withBody(answered);
    outgoing.writeHead(status, { ...headers, "transfer-encoding": "chunked" });
    await writeAndEnd(outgoing, body.subarray(0, body.length / 2));
  },
  "huge-body": async ({ outgoing, answered, holdMs, closing }) => {
    const { status, headers, body } = withBody(answered);
    outgoing.writeHead(status, { ...headers, "content-length": HUGE_LENGTH });
    outgoing.write(body);
    await untilGone(outgoing.socket, holdMs, closing);
    outgoing.socket?.destroy();
  },
};

/** The status a client sees of the fault; `null` when it sees none. */
export function statusSeen(fault: WireFault, answered: WholeAnswer | undefined): number | null {
  return fault === "cut-body" || fault === "cut-chunks" || fault === "huge-body"
    ? withBody(answered).status
    : null;
}

/** Waits, unless the sandbox ends before. */
export async function wait(ms: number, closing: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: closing }).catch(() => undefined);
}

/** What has no body to be cut (204) gets one. */
function withBody(answered: WholeAnswer | undefined): WholeAnswer {
  return answered === undefined || answered.body.length === 0 ? NO_DOCUMENT : answered;
}

async function writeAndEnd(outgoing: ServerResponse, part: Buffer): Promise<void> {
  await new Promise<void>((written) => outgoing.write(part, () => written()));
  end(outgoing.socket);
}

/** Closes in order (FIN), and wholly once the other side has seen it. */
function end(socket: Socket | null): void {
  socket?.end(() => socket.destroySoon());
}

async function untilGone(socket: Socket | null, ms: number, closing: AbortSignal): Promise<void> {
  if (socket === null || socket.destroyed) return;
  const settled = new AbortController();
  const signal = AbortSignal.any([closing, settled.signal]);
  await Promise.race([once(socket, "close", { signal }).catch(() => undefined), wait(ms, signal)]);
  settled.abort();
}
