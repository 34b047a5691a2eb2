import { describe, expect, test } from "vitest";
import { findPassword } from "../../../src/ledger/postgres/postgres-connection.ts";

const query = { host: "db.example.com", port: 5432, database: "shop", user: "team" };

describe("password file", () => {
  test.each([
    ["with exact fields", "db.example.com:5432:shop:team:secret", "secret"],
    ["with wildcards", "*:*:*:*:secret", "secret"],
    ["with colons and backslashes in the password", "*:*:*:*:a\\:b\\\\c", "a:b\\c"],
    ["with a CRLF line ending", "*:*:*:*:secret\r\n", "secret"],
    ["with spaces in the password", "*:*:*:*: se cret ", " se cret "],
    ["for a different host", "db2.example.com:*:*:*:secret", undefined],
    ["for a different port", "*:5433:*:*:secret", undefined],
    ["for a different database", "*:*:shop2:*:secret", undefined],
    ["for a different user", "*:*:*:me:secret", undefined],
    ["with a comment", "#db.example.com:*:*:*:secret", undefined],
    ["without a password", "*:*:*:*:", undefined],
    ["with too few fields", "*:*:*:secret", undefined],
  ])("handles a line %s", (_, line, password) => {
    expect(findPassword(line, query)).toBe(password);
  });

  test("returns the password of the first matching line", () => {
    const text = "# ours\n*:*:other:*:no\n\n*:*:shop:*:first\n*:*:*:*:second\n";
    expect(findPassword(text, query)).toBe("first");
  });

  test("applies a line for localhost to a socket too", () => {
    const socket = { ...query, host: "/run/postgresql" };
    expect(findPassword("localhost:*:*:*:secret", socket)).toBe("secret");
    expect(findPassword("/run/postgresql:*:*:*:secret", socket)).toBe("secret");
    expect(findPassword("db.example.com:*:*:*:secret", socket)).toBeUndefined();
  });
});
