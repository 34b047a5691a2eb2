import pg from "pg";
import { describe, expect, test } from "vitest";
import { LedgerError } from "../../../src/ledger/ledger-error.ts";
import {
  explainFailure,
  isBusy,
  isLost,
  isRefusal,
  keepsConnection,
} from "../../../src/ledger/postgres/postgres-failure.ts";

function refusal(code: string, message = "the server's message"): Error {
  const error = new pg.DatabaseError(message, message.length, "error");
  error.code = code;
  return error;
}

function systemError(code: string, message = `connect ${code} 10.0.0.1:5432`): Error {
  return Object.assign(new Error(message), { code });
}

describe("explanation of a PostgreSQL failure", () => {
  const noEntry = 'no pg_hba.conf entry for host "10.0.0.1", user "me", database "d", no encryption';
  test.each<[string, Error, string]>([
    ["a wrong password", refusal("28P01"), "ledger-access-denied"],
    ["a rejected user", refusal("28000"), "ledger-access-denied"],
    ["no password", new Error("SASL: client password must be a string"), "ledger-access-denied"],
    ["a server that requires TLS", refusal("28000", noEntry), "ledger-tls"],
    ["a server without TLS", new Error("The server does not support SSL connections"), "ledger-tls"],
    ["a self-signed certificate", systemError("DEPTH_ZERO_SELF_SIGNED_CERT"), "ledger-tls"],
    ["another host's certificate", systemError("ERR_TLS_CERT_ALTNAME_INVALID"), "ledger-tls"],
    ["an unknown database", refusal("3D000"), "ledger-unreadable"],
    ["a missing permission", refusal("42501"), "ledger-unreadable"],
    ["a replica", refusal("25006"), "ledger-read-only"],
    ["a full disk", refusal("53100"), "ledger-disk-full"],
    ["too many connections", refusal("53300"), "ledger-unreachable"],
    ["a server that is starting", refusal("57P03"), "ledger-unreachable"],
    ["an unknown host", systemError("ENOTFOUND"), "ledger-unreachable"],
    ["a reset connection", systemError("ECONNRESET"), "ledger-unreachable"],
    ["a connection timeout", new Error("timeout exceeded when trying to connect"), "ledger-unreachable"],
    ["a canceled statement", refusal("57014"), "ledger-unreachable"],
    ["a query timeout", new Error("Query read timeout"), "ledger-unreachable"],
    ["a serialization failure", refusal("40001"), "ledger-busy"],
    ["a deadlock", refusal("40P01"), "ledger-busy"],
    ["a lock timeout", refusal("55P03"), "ledger-busy"],
    ["a unique violation", refusal("23505"), "ledger-conflict"],
    ["a number out of range", refusal("22003"), "ledger-invalid-value"],
    ["a missing table", refusal("42P01"), "ledger-unreadable"],
    ["a damaged page", refusal("XX001"), "ledger-corrupt"],
    ["any other code", refusal("0A000"), "ledger-failed"],
    ["a programming error", new TypeError("x is not a function"), "ledger-failed"],
  ])("has a code and the server's message for %s", (_, thrown, code) => {
    const explained = explainFailure(thrown, "postgres://h/d");
    expect(explained).toMatchObject({ code, cause: thrown });
    expect(explained.message).toContain("The ledger postgres://h/d ");
    expect(explained.message).toContain(thrown.message);
  });

  test("is ledger-read-only for a missing permission on a write", () => {
    expect(explainFailure(refusal("42501"), "l", "write").code).toBe("ledger-read-only");
  });

  test("returns a LedgerError unchanged", () => {
    const error = new LedgerError("ledger-conflict", "No.");
    expect(explainFailure(error, "l")).toBe(error);
  });
});

describe("classification of a PostgreSQL failure", () => {
  const none = { busy: false, lost: false, keeps: true, refused: false };
  test.each<[string, Error, Partial<typeof none>]>([
    ["serialization failure", refusal("40001"), { busy: true, refused: true }],
    ["unknown completion", refusal("40003"), { busy: true }],
    ["lock timeout", refusal("55P03"), { busy: true }],
    ["starting server", refusal("57P03"), { busy: true, lost: true, keeps: false }],
    ["shutdown", refusal("57P01"), { lost: true, keeps: false }],
    ["idle transaction timeout", refusal("25P03"), { lost: true, keeps: false }],
    ["reset connection", systemError("ECONNRESET"), { lost: true, keeps: false }],
    ["query timeout", new Error("Query read timeout"), { lost: true, keeps: false }],
    ["unique violation", refusal("23505"), { refused: true }],
    ["wrong password", refusal("28P01"), {}],
    ["canceled statement", refusal("57014"), {}],
    ["value that cannot be stored", new LedgerError("ledger-invalid-value", "No."), {}],
  ])("decides about retry and connection after a %s", (_, thrown, expected) => {
    const found = {
      busy: isBusy(thrown),
      lost: isLost(thrown),
      keeps: keepsConnection(thrown),
      refused: isRefusal(thrown),
    };
    expect(found).toEqual({ ...none, ...expected });
  });
});
