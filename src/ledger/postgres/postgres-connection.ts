import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import pg from "pg";
import { messageOf } from "../../model/errors.ts";
import { LedgerError } from "../ledger-error.ts";
import { readPasswordFile } from "./password-file.ts";
import type { PostgresLocation } from "./postgres-location.ts";

/** The connections of `pg`. */
export type Pool = pg.Pool;

/** Milliseconds. */
const connectTimeoutMs = 10_000;

/** Connections to a location. */
export function openPool(location: PostgresLocation, more: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOf(location),
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    ...more,
  });
  // The server closed an unused connection, which the pool has dropped, or one that was not used yet.
  return pool.on("error", () => {}).on("connect", (client) => void client.on("error", () => {}));
}

/** A socket for `pg`, which leaves a connection open on which it gave up before it was let in. */
export function trackSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  return socket.once("close", () => void sockets.delete(socket));
}

/** How `pg` reaches a location: user, password and TLS. */
function connectionOf(location: PostgresLocation): pg.PoolConfig {
  const { host, port, user, database } = location;
  return {
    host,
    port,
    database,
    ...(user === undefined ? {} : { user }),
    ...passwordOf(location),
    ssl: tlsOf(location),
  };
}

/** Of the location, else PGPASSWORD, which `pg` reads itself, else of the password file, once the server asks for it. */
function passwordOf({ password, host, port, database, user }: PostgresLocation): pg.PoolConfig {
  if (password !== undefined) return { password };
  if (process.env.PGPASSWORD) return {};
  const asked = { host, port, database, user: user ?? process.env.PGUSER ?? pg.defaults.user ?? "" };
  return { password: async () => readPasswordFile(asked) ?? "" };
}

function tlsOf({ tls, rootCertificate, shown }: PostgresLocation): pg.ClientConfig["ssl"] {
  if (tls === "off") return false;
  if (rootCertificate === undefined) return { rejectUnauthorized: tls === "verified" };
  try {
    return { rejectUnauthorized: tls === "verified", ca: readFileSync(rootCertificate, "utf8") };
  } catch (error) {
    throw new LedgerError(
      "ledger-tls",
      `The certificates for the ledger ${shown} cannot be read (${messageOf(error)}).`,
      { hint: "Check the path in ?sslrootcert.", cause: error },
    );
  }
}
