import { LedgerError } from "../ledger-error.ts";

/** Where a ledger lies in PostgreSQL, and how it is reached. */
export interface PostgresLocation {
  /** For messages: the location without its password. */
  readonly shown: string;
  /** One schema holds one ledger. */
  readonly schema: string;
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** Absent: PGUSER, or the name of the system's user. */
  readonly user?: string;
  /** Absent: PGPASSWORD, or the password file of PostgreSQL. */
  readonly password?: string;
  readonly tls: "off" | "unverified" | "verified";
  /** The file of the certificates to trust, when not those that Node trusts. */
  readonly rootCertificate?: string;
}

const defaultSchema = "draftsync";
const parameters: readonly string[] = ["schema", "host", "sslmode", "sslrootcert"];

/** By `sslmode`. PostgreSQL's `allow` and `prefer` are missing: they turn encryption off without a word. */
const tlsModes: Readonly<Record<string, PostgresLocation["tls"]>> = {
  disable: "off",
  "no-verify": "unverified",
  require: "verified",
  "verify-ca": "verified",
  "verify-full": "verified",
};

/** Whether a ledger's location names a PostgreSQL database; it is the path of a SQLite file otherwise. */
export function isPostgresLocation(location: string): boolean {
  return /^postgres(ql)?:\/\//i.test(location);
}

/**
 * Takes `postgres://user:password@host:port/database?schema=…&sslmode=…` apart. The port is 5432 unless it is given,
 * the schema `draftsync`. Without `sslmode`, TLS is off on this machine (`localhost`, loopback addresses, Unix
 * sockets by `postgres://localhost/database?host=/folder`) and verified on every other: see `tlsModes`.
 *
 * Throws `ledger-location-invalid`. No message repeats what it was given: the password may stand anywhere in it.
 */
export function parsePostgresLocation(location: string): PostgresLocation {
  if (!URL.canParse(location)) throw invalid("is not a URL");
  const url = new URL(location);
  for (const [name] of url.searchParams) {
    if (!parameters.includes(name)) throw invalid(`may have the parameters ${parameters.join(", ")} alone`);
  }
  if (url.hash !== "") throw invalid("may not have a fragment");
  const database = decode(url.pathname.slice(1));
  if (database === "") throw invalid("names no database");
  if (/[@/:]/.test(database)) throw invalid("has a database with @, / or : in its name");
  const host = url.searchParams.get("host") ?? (url.hostname.replace(/^\[|\]$/g, "") || "localhost");
  const schema = url.searchParams.get("schema") ?? defaultSchema;
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalid("has a schema that is not made of lower-case letters, digits and underscores");
  }
  const user = decode(url.username);
  const password = decode(url.password);
  const port = url.port === "" ? 5432 : Number(url.port);
  const rootCertificate = url.searchParams.get("sslrootcert");
  return {
    shown: show({ user, host, port, database, schema }),
    schema,
    host: decode(host),
    port,
    database,
    ...(user === "" ? {} : { user }),
    ...(password === "" ? {} : { password }),
    tls: tlsOf(url.searchParams.get("sslmode"), host),
    ...(rootCertificate === null ? {} : { rootCertificate }),
  };
}

function tlsOf(mode: string | null, host: string): PostgresLocation["tls"] {
  if (mode === null) return /^(localhost|127\..*|::1|\/.*)$/.test(host) ? "off" : "verified";
  const found = Object.hasOwn(tlsModes, mode) ? tlsModes[mode] : undefined;
  if (found === undefined)
    throw invalid(`has an sslmode that is none of ${Object.keys(tlsModes).join(", ")}`);
  return found;
}

function show(parts: { user: string; host: string; port: number; database: string; schema: string }): string {
  const { user, host, port, database, schema } = parts;
  const socket = host.startsWith("/");
  const query = [
    ...(socket ? [`host=${host}`] : []),
    ...(schema === defaultSchema ? [] : [`schema=${schema}`]),
  ];
  return [
    "postgres://",
    user === "" ? "" : `${encodeURIComponent(user)}@`,
    socket ? "localhost" : host.includes(":") ? `[${host}]` : host,
    port === 5432 ? "" : `:${port}`,
    `/${encodeURIComponent(database)}`,
    query.length === 0 ? "" : `?${query.join("&")}`,
  ].join("");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid("has a % that is no percent-encoding");
  }
}

function invalid(says: string): LedgerError {
  return new LedgerError("ledger-location-invalid", `The location of the ledger ${says}.`, {
    hint: "Write it like postgres://user@host:5432/database?schema=draftsync. Special characters of a name or a password are percent-encoded (@ is %40, / is %2F, # is %23, ? is %3F).",
  });
}

/** Which ledger a location names: the same text for every user, password and option. */
export function ledgerAt(location: string): string {
  if (!isPostgresLocation(location)) return location;
  const { host, port, database, schema } = parsePostgresLocation(location);
  return `${host}:${port}/${database}/${schema}`;
}
