import pg from "pg";
import { messageOf, systemCodeOf } from "../../model/errors.ts";
import type { TransactionMode } from "../ledger-database.ts";
import { type FailureMeaning, failedLedger, LedgerError } from "../ledger-error.ts";

const unreachable: FailureMeaning = {
  code: "ledger-unreachable",
  says: "cannot be reached",
  hint: "Check host and port of `state`, and that the database server is running and can be reached from here.",
};

const denied: FailureMeaning = {
  code: "ledger-access-denied",
  says: "refuses this user or its password",
  hint: "Give the password in DRAFTSYNC_STATE, in PGPASSWORD or in the password file (PGPASSFILE or ~/.pgpass), and check the user.",
};

const tls: FailureMeaning = {
  code: "ledger-tls",
  says: "cannot be reached over TLS as it must be",
  hint: "Trust the server's certificate by ?sslrootcert=FILE or NODE_EXTRA_CA_CERTS. ?sslmode=disable turns TLS off, ?sslmode=require on.",
};

const busy: FailureMeaning = {
  code: "ledger-busy",
  says: "is locked by another process",
  hint: "Wait until the other draftsync (or any program that works in the schema) has ended, then run again.",
};

const damaged: FailureMeaning = {
  code: "ledger-corrupt",
  says: "is damaged",
  hint: "Keep a copy of the database, then restore the ledger from a backup.",
};

const invalid: FailureMeaning = { code: "ledger-invalid-value", says: "cannot hold one of the values" };

const conflict: FailureMeaning = {
  code: "ledger-conflict",
  says: "already holds something that this change contradicts",
};

const slow: FailureMeaning = {
  ...unreachable,
  says: "did not answer in time",
  hint: "Look at the load of the database server, then run again.",
};

/** By SQLSTATE or its class, the longest first (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const meanings: readonly (readonly [prefix: string, meaning: FailureMeaning])[] = [
  ["28", denied],
  [
    "3D000",
    {
      code: "ledger-unreadable",
      says: "names a database that does not exist",
      hint: "Create the database, or correct its name in `state`. draftsync makes its schema by itself, not the database.",
    },
  ],
  [
    "25006",
    { code: "ledger-read-only", says: "can be read but not written", hint: "Name the primary server." },
  ],
  [
    "42501",
    {
      code: "ledger-unreadable",
      says: "may not be used by this user",
      hint: "Grant the user CREATE on the database, or USAGE on the schema and all privileges on its tables.",
    },
  ],
  [
    "42P01",
    {
      code: "ledger-unreadable",
      says: "has no such table, or its schema may not be used by this user",
      hint: "Grant the user USAGE on the schema and all privileges on its tables. If it has them, a table was dropped: restore the ledger from a backup.",
    },
  ],
  ["42703", damaged],
  ["XX001", damaged],
  ["XX002", damaged],
  ["23", conflict],
  ["22", invalid],
  ["54", invalid],
  [
    "53100",
    {
      code: "ledger-disk-full",
      says: "could not grow: the server's disk is full",
      hint: "Free some space at the database server, then run again: what was stored before is still there.",
    },
  ],
  [
    "53300",
    {
      code: "ledger-unreachable",
      says: "has no connection left",
      hint: "Raise max_connections at the server, or close other programs.",
    },
  ],
  ["55P03", busy],
  ["40", busy],
  ["57014", slow],
  ["57P", unreachable],
  ["25P0", unreachable],
  ["08", unreachable],
];

/** Says what a failure of PostgreSQL, `pg` or the network means for the ledger at `location`. */
export function explainFailure(thrown: unknown, location: string, mode?: TransactionMode): LedgerError {
  if (thrown instanceof LedgerError) return thrown;
  return failedLedger(location, meaningOf(thrown, mode), thrown);
}

/** Whether others were in the way, or the server is just starting: trying again may help. */
export function isBusy(thrown: unknown): boolean {
  return /^(40|55P03|53300|57P03)/.test(stateOf(thrown) ?? "");
}

/** Whether the connection broke before anything was committed: on another one it may go better. */
export function isLost(thrown: unknown): boolean {
  const state = stateOf(thrown);
  return state === undefined ? isConnectionFailure(thrown) : /^(08|57P0[1-5]|25P0[34])/.test(state);
}

/** Whether the connection is usable after a failure: the server responded and keeps it open. */
export function keepsConnection(thrown: unknown): boolean {
  return thrown instanceof LedgerError || (stateOf(thrown) !== undefined && !isLost(thrown));
}

/** Whether the server said of a commit that it did not take place. */
export function isRefusal(thrown: unknown): boolean {
  return /^(23|40(?!003))/.test(stateOf(thrown) ?? "");
}

function meaningOf(thrown: unknown, mode: TransactionMode | undefined): FailureMeaning | undefined {
  const state = stateOf(thrown);
  if (state === undefined) return withoutState(thrown);
  // The one refusal that a client can lift by itself; it has no code of its own.
  if (state === "28000" && /no encryption|SSL off/.test(messageOf(thrown))) return tls;
  if (state === "42501" && (mode === "write" || mode === "unsynced")) {
    return {
      code: "ledger-read-only",
      says: "may be read but not written by this user",
      hint: "Grant it all privileges on the tables of the schema.",
    };
  }
  return meanings.find(([prefix]) => state.startsWith(prefix))?.[1];
}

function withoutState(thrown: unknown): FailureMeaning | undefined {
  const message = messageOf(thrown);
  if (/does not support SSL|SSL connection/i.test(message)) return tls;
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(systemCodeOf(thrown) ?? ""))
    return tls;
  if (/password/i.test(message)) return denied;
  if (/Query read timeout/.test(message)) return slow;
  return isConnectionFailure(thrown) ? unreachable : undefined;
}

function isConnectionFailure(thrown: unknown): boolean {
  if (/^E[A-Z_]+$/.test(systemCodeOf(thrown) ?? "")) return true;
  return /timeout|Connection terminated|Connection ended|connection error|not queryable/i.test(
    messageOf(thrown),
  );
}

/** The SQLSTATE that the server gave, if it was the server. */
function stateOf(thrown: unknown): string | undefined {
  return thrown instanceof pg.DatabaseError ? thrown.code : undefined;
}
