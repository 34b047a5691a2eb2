import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { messageOf, systemCodeOf } from "../../model/errors.ts";
import { LedgerError } from "../ledger-error.ts";

/** What a line of the password file is looked up by. */
export interface PasswordQuery {
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
export function readPasswordFile(query: PasswordQuery): string | undefined {
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
