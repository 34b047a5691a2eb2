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

function refusal(code: string, message = "the server's words"): Error {
  const error = new pg.DatabaseError(message, message.length, "error");
  error.code = code;
  return error;
}

function systemError(code: string, message = `connect ${code} 10.0.0.1:5432`): Error {
  return Object.assign(new Error(message), { code });
}

describe("a failure", () => {
  const noEntry = 'no pg_hba.conf entry for host "10.0.0.1", user "me", database "d", no encryption';
  test.each<[string, Error, string]>([
    ["a wrong password", refusal("28P01"), "ledger-access-denied"],
    ["a user the server does not let in", refusal("28000"), "ledger-access-denied"],
    ["no password", new Error("SASL: client password must be a string"), "ledger-access-denied"],
    ["a server that asks for TLS", refusal("28000", noEntry), "ledger-tls"],
    ["a server without TLS", new Error("The server does not support SSL connections"), "ledger-tls"],
    ["a certificate of its own", systemError("DEPTH_ZERO_SELF_SIGNED_CERT"), "ledger-tls"],
    ["another host's certificate", systemError("ERR_TLS_CERT_ALTNAME_INVALID"), "ledger-tls"],
    ["no such database", refusal("3D000"), "ledger-unreadable"],
    ["no permission", refusal("42501"), "ledger-unreadable"],
    ["a replica", refusal("25006"), "ledger-read-only"],
    ["a full disk", refusal("53100"), "ledger-disk-full"],
    ["no connection left", refusal("53300"), "ledger-unreachable"],
    ["a server that is starting", refusal("57P03"), "ledger-unreachable"],
    ["a host that is not there", systemError("ENOTFOUND"), "ledger-unreachable"],
    ["a connection that was reset", systemError("ECONNRESET"), "ledger-unreachable"],
    [
      "an attempt that took too long",
      new Error("timeout exceeded when trying to connect"),
      "ledger-unreachable",
    ],
    ["a statement that took too long", refusal("57014"), "ledger-unreachable"],
    ["an answer that took too long", new Error("Query read timeout"), "ledger-unreachable"],
    ["a serialization failure", refusal("40001"), "ledger-busy"],
    ["a deadlock", refusal("40P01"), "ledger-busy"],
    ["a lock", refusal("55P03"), "ledger-busy"],
    ["a contradiction", refusal("23505"), "ledger-conflict"],
    ["a number that is too large", refusal("22003"), "ledger-invalid-value"],
    ["a table that is gone, or not to be used", refusal("42P01"), "ledger-unreadable"],
    ["a damaged page", refusal("XX001"), "ledger-corrupt"],
    ["anything else", refusal("0A000"), "ledger-failed"],
    ["a defect", new TypeError("x is not a function"), "ledger-failed"],
  ])("of %s is explained", (_, thrown, code) => {
    const explained = explainFailure(thrown, "postgres://h/d");
    expect(explained).toMatchObject({ code, cause: thrown });
    expect(explained.message).toContain("The ledger postgres://h/d ");
    expect(explained.message).toContain(thrown.message);
  });

  test("of permission while writing is of writing", () => {
    expect(explainFailure(refusal("42501"), "l", "write").code).toBe("ledger-read-only");
  });

  test("that is explained already stays as it is", () => {
    const error = new LedgerError("ledger-conflict", "No.");
    expect(explainFailure(error, "l")).toBe(error);
  });
});

describe("after a failure", () => {
  const none = { busy: false, lost: false, keeps: true, refused: false };
  test.each<[string, Error, Partial<typeof none>]>([
    ["serialization failure", refusal("40001"), { busy: true, refused: true }],
    ["unknown completion", refusal("40003"), { busy: true }],
    ["lock timeout", refusal("55P03"), { busy: true }],
    ["starting server", refusal("57P03"), { busy: true, lost: true, keeps: false }],
    ["shutdown", refusal("57P01"), { lost: true, keeps: false }],
    ["idle in transaction for too long", refusal("25P03"), { lost: true, keeps: false }],
    ["reset connection", systemError("ECONNRESET"), { lost: true, keeps: false }],
    ["query timeout", new Error("Query read timeout"), { lost: true, keeps: false }],
    ["contradiction", refusal("23505"), { refused: true }],
    ["wrong password", refusal("28P01"), {}],
    ["canceled statement", refusal("57014"), {}],
    ["a value that cannot be stored", new LedgerError("ledger-invalid-value", "No."), {}],
  ])("%s: what to do", (_, thrown, expected) => {
    const found = {
      busy: isBusy(thrown),
      lost: isLost(thrown),
      keeps: keepsConnection(thrown),
      refused: isRefusal(thrown),
    };
    expect(found).toEqual({ ...none, ...expected });
  });
});
