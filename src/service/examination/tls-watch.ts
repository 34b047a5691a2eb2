import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { TLSSocket } from "node:tls";
import { z } from "zod";

/** What TLS has agreed on with the service, and the certificate that the service showed. */
export interface SeenTls {
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  /** Epoch milliseconds. */
  readonly endsAt: number;
}

/** Looks at the connections of this process to one host. */
export interface TlsWatch {
  /** Of the first connection over TLS. */
  seen(): SeenTls | undefined;
  stop(): void;
}

/** Where undici tells of each connection, through a proxy too. */
const channel = "undici:client:connected";

const messageSchema = z.object({
  connectParams: z.object({ hostname: z.string() }),
  socket: z.instanceof(TLSSocket),
});

/** Begins to look; `host` is the host name of the service's address, without brackets. */
export function watchTls(host: string): TlsWatch {
  let seen: SeenTls | undefined;
  const look = (message: unknown): void => {
    const parsed = messageSchema.safeParse(message);
    if (seen === undefined && parsed.success && parsed.data.connectParams.hostname === host) {
      seen = readTls(parsed.data.socket);
    }
  };
  subscribe(channel, look);
  return { seen: () => seen, stop: () => void unsubscribe(channel, look) };
}

function readTls(socket: TLSSocket): SeenTls {
  const { subject, issuer, valid_to: validTo } = socket.getPeerCertificate();
  return {
    protocol: socket.getProtocol() ?? "TLS",
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    endsAt: Date.parse(validTo),
  };
}

type DistinguishedName = Readonly<Partial<Record<"CN" | "O", string | string[] | undefined>>>;

function nameOf(name: DistinguishedName | undefined): string {
  return [name?.CN ?? name?.O ?? "nobody"].flat().join(", ");
}
