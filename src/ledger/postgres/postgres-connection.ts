import { readFileSync, statSync } from "node:fs";
import { Socket } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { messageOf, systemCodeOf } from "../../model/errors.ts";
import { LedgerError } from "../ledger-error.ts";
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

/** What a line of the password file is looked up by. */
interface PasswordQuery {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * The password that PostgreSQL's password file has for a connection: the file that PGPASSFILE names, or the one in the
 * user's home (https://www.postgresql.org/docs/current/libpq-pgpass.html). `undefined` when there is no file or no line
 * that fits. Throws `ledger-access-denied` for a file that others may read or that cannot be read.
 */
function readPasswordFile(query: PasswordQuery): string | undefined {
  const path = process.env.PGPASSFILE || defaultPath();
  const text = readSafely(path);
  return text === undefined ? undefined : findPassword(text, query);
}

/** {@link readPasswordFile} in the text of a file: the first line that fits. */
export function findPassword(
  text: string,
  { host, port, database, user }: PasswordQuery,
): string | undefined {
  // A socket's folder counts as this machine, as libpq has it for its usual folder.
  const hosts = host.startsWith("/") ? [host, "localhost"] : [host];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const [lineHost = "", linePort = "", lineDatabase = "", lineUser = "", password = ""] = fieldsOf(line);
    const fits =
      isOneOf(lineHost, hosts) &&
      isOneOf(linePort, [String(port)]) &&
      isOneOf(lineDatabase, [database]) &&
      isOneOf(lineUser, [user]);
    if (fits && password !== "") return password;
  }
  return undefined;
}

function isOneOf(field: string, values: readonly string[]): boolean {
  return field === "*" || values.includes(field);
}

/** Fields end at a colon; a backslash takes its meaning from a colon or another backslash. */
function fieldsOf(line: string): string[] {
  const fields = line.match(/(?:\\.|[^:\\])*(?::|$)/g) ?? [];
  return fields.map((field) => field.replace(/:$/, "").replace(/\\(.)/g, "$1"));
}

function defaultPath(): string {
  return process.platform === "win32"
    ? join(process.env.APPDATA ?? homedir(), "postgresql", "pgpass.conf")
    : join(homedir(), ".pgpass");
}

function readSafely(path: string): string | undefined {
  try {
    const { mode, uid } = statSync(path);
    // Root may let a group read it: so Kubernetes gives secrets to a pod.
    const forbidden = uid === 0 && process.getuid?.() !== 0 ? 0o037 : 0o077;
    if (process.platform !== "win32" && (mode & forbidden) !== 0) {
      throw denied(
        `The password file ${path} may be read by others, and is not used.`,
        `Run: chmod 0600 ${path}`,
      );
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    if (systemCodeOf(error) === "ENOENT" || systemCodeOf(error) === "ENOTDIR") return undefined;
    throw denied(`The password file ${path} cannot be read (${messageOf(error)}).`, "Check PGPASSFILE.");
  }
}

function denied(message: string, hint: string): LedgerError {
  return new LedgerError("ledger-access-denied", message, { hint });
}
