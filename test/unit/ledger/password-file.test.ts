import { describe, expect, test } from "vitest";
import { findPassword } from "../../../src/ledger/postgres/postgres-connection.ts";

const query = { host: "db.example.com", port: 5432, database: "shop", user: "team" };

describe("a line of the password file", () => {
  test.each([
    ["that names everything", "db.example.com:5432:shop:team:secret", "secret"],
    ["of stars", "*:*:*:*:secret", "secret"],
    ["with colons and backslashes in the password", "*:*:*:*:a\\:b\\\\c", "a:b\\c"],
    ["with the end of a line of Windows", "*:*:*:*:secret\r\n", "secret"],
    ["with spaces in the password", "*:*:*:*: se cret ", " se cret "],
    ["of a different host", "db2.example.com:*:*:*:secret", undefined],
    ["of a different port", "*:5433:*:*:secret", undefined],
    ["of a different database", "*:*:shop2:*:secret", undefined],
    ["of a different user", "*:*:*:me:secret", undefined],
    ["that is a comment", "#db.example.com:*:*:*:secret", undefined],
    ["without a password", "*:*:*:*:", undefined],
    ["with too few fields", "*:*:*:secret", undefined],
  ])("%s", (_, line, password) => {
    expect(findPassword(line, query)).toBe(password);
  });

  test("is the first one that fits", () => {
    const text = "# ours\n*:*:other:*:no\n\n*:*:shop:*:first\n*:*:*:*:second\n";
    expect(findPassword(text, query)).toBe("first");
  });

  test("of localhost is also for a socket", () => {
    const socket = { ...query, host: "/run/postgresql" };
    expect(findPassword("localhost:*:*:*:secret", socket)).toBe("secret");
    expect(findPassword("/run/postgresql:*:*:*:secret", socket)).toBe("secret");
    expect(findPassword("db.example.com:*:*:*:secret", socket)).toBeUndefined();
  });
});
