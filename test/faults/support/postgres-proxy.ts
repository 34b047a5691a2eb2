import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { inject, onTestFinished } from "vitest";
import { listenLocally } from "../../support/listen.ts";

/** A message of a client to PostgreSQL (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
export interface ClientMessage {
  /** `Q` is a simple query, `P` parses a statement. */
  readonly type: string;
  /** The SQL text of `Q` and `P`; empty for other types. */
  readonly text: string;
  /** The statement name of `P`. */
  readonly name: string;
}

/**
 * | fault | the message | its connection |
 * |---|---|---|
 * | pass | arrives | lives |
 * | lose | never arrives | is cut |
 * | lose-answer | arrives | is cut before anything comes back |
 * | refuse | never arrives | is cut, and so is every later one, until `choose` is set again |
 * | hang | never arrives | stays open without an answer, and so does every later one, until `choose` is set again |
 */
export type Fault = "pass" | "lose" | "lose-answer" | "refuse" | "hang";

/** A proxy between a ledger and PostgreSQL that cuts connections on demand. */
export interface PostgresProxy {
  /** The location as seen through the proxy. */
  through(location: string): string;
  readonly seen: ClientMessage[];
  /** Resolves when no connection is left. */
  drained(): Promise<void>;
  /** Asked once for each message, in the order of arrival. */
  choose: (message: ClientMessage) => Fault;
}

/** Starts a proxy in front of the server of the tests; it is closed after the test. */
export async function startPostgresProxy(): Promise<PostgresProxy> {
  const target = new URL(inject("databaseUrl"));
  const sockets = new Set<Socket>();
  let refusing = false;
  let hanging = false;
  let choose: PostgresProxy["choose"] = () => "pass";
  const seen: ClientMessage[] = [];
  const decide = (message: ClientMessage): Fault => {
    seen.push(message);
    const fault = choose(message);
    refusing ||= fault === "refuse";
    hanging ||= fault === "hang";
    return fault;
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    if (refusing) cut(client, upstream);
    else if (!hanging) join(client, upstream, decide);
  });
  const port = await listenLocally(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  return {
    through: (location) => {
      const url = new URL(location);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    seen,
    drained: async () => {
      for (const socket of sockets) await once(socket, "close");
    },
    get choose() {
      return choose;
    },
    set choose(next) {
      refusing = false;
      hanging = false;
      choose = next;
    },
  };
}

/** Ends the upstream connection gracefully, so that forwarded messages still arrive. */
function cut(client: Socket, upstream: Socket): void {
  client.destroy();
  upstream.end();
}

function join(client: Socket, upstream: Socket, decide: (message: ClientMessage) => Fault): void {
  const read = makeReader();
  let silent = false;
  client.on("close", () => upstream.end());
  upstream.on("close", () => client.destroy());
  upstream.on("data", (data) => {
    if (silent) cut(client, upstream);
    else client.write(data);
  });
  client.on("data", (data) => {
    for (const { bytes, message } of read(data)) {
      const fault = message === undefined ? "pass" : decide(message);
      if (fault === "lose" || fault === "refuse") return cut(client, upstream);
      if (fault === "hang") return;
      upstream.write(bytes);
      silent ||= fault === "lose-answer";
    }
  });
}

/** Cuts a stream into messages. The first one of a connection has no type. */
function makeReader() {
  let rest = Buffer.alloc(0);
  let started = false;
  return (data: Buffer) => {
    rest = Buffer.concat([rest, data]);
    const found: { readonly bytes: Buffer; readonly message?: ClientMessage }[] = [];
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return found;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return found;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      found.push(started ? { bytes, message: messageOf(bytes) } : { bytes });
      started = true;
    }
  };
}

function messageOf(bytes: Buffer): ClientMessage {
  const type = String.fromCharCode(bytes[0] ?? 0);
  const [first = "", second = ""] = bytes.subarray(5).toString("utf8").split("\0");
  if (type === "Q") return { type, name: "", text: first };
  return type === "P" ? { type, name: first, text: second } : { type, name: "", text: "" };
}
