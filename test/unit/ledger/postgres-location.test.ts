import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { isPostgresLocation, parsePostgresLocation } from "../../../src/ledger/postgres/postgres-location.ts";

const here = { schema: "draftsync", port: 5432 };

test.each([
  ["postgres://h/d", true],
  ["postgresql://h/d", true],
  ["POSTGRES://h/d", true],
  ["postgres.db", false],
  ["/data/postgres://h", false],
  ["sqlite://h/d", false],
])("recognizes %s as a PostgreSQL location: %s", (location, is) => {
  expect(isPostgresLocation(location)).toBe(is);
});

describe("PostgreSQL location", () => {
  test.each([
    {
      location: "postgres://me:s%40crt@db.example.com:6543/shop?schema=studio_a&sslmode=no-verify",
      parts: {
        host: "db.example.com",
        port: 6543,
        user: "me",
        password: "s@crt",
        database: "shop",
        schema: "studio_a",
        tls: "unverified",
      },
      shown: "postgres://me@db.example.com:6543/shop?schema=studio_a",
    },
    {
      location: "postgresql://db/shop?sslmode=verify-full&sslrootcert=/ca.pem",
      parts: { ...here, host: "db", database: "shop", tls: "verified", rootCertificate: "/ca.pem" },
      shown: "postgres://db/shop",
    },
    {
      location: "postgres:///shop",
      parts: { ...here, host: "localhost", database: "shop", tls: "off" },
      shown: "postgres://localhost/shop",
    },
    {
      location: "postgres://me@[::1]/a%20b",
      parts: { ...here, host: "::1", user: "me", database: "a b", tls: "off" },
      shown: "postgres://me@[::1]/a%20b",
    },
    {
      location: "postgres://me@localhost/shop?host=/run/postgresql",
      parts: { ...here, host: "/run/postgresql", user: "me", database: "shop", tls: "off" },
      shown: "postgres://me@localhost/shop?host=/run/postgresql",
    },
  ])("is parsed: $shown", ({ location, parts, shown }) => {
    expect(parsePostgresLocation(location)).toEqual({ ...parts, shown });
  });

  test.each([
    ["localhost", "off"],
    ["127.0.0.1", "off"],
    ["10.0.0.7", "verified"],
    ["localhost.example.com", "verified"],
  ])("at %s has TLS %s by default", (host, tls) => {
    expect(parsePostgresLocation(`postgres://${host}/d`).tls).toBe(tls);
  });
});

// In each location, "secret" may be part of an unencoded password.
test.each([
  "postgres://me:a/secret@h/d",
  "postgres://me:12/secret@h/d",
  "postgres://me:12#secret@h/d",
  "postgres://me:12?secret@h/d",
  "postgres://me:%secret@h/d",
  "postgres://me:secret@h",
  "postgres://me:secret@h/",
  "postgres://me@h/d?password=secret",
  "postgres://me@h/d?sslmode=secret",
  "postgres://me@h/d?sslmode=prefer&x=secret",
  "postgres://me@h/d?sslmode=constructor&schema=secret",
  "postgres://me@h/d?schema=pg_secret",
  "postgres://me@h/d?schema=a-secret",
])("rejects %s without repeating it", (location) => {
  let thrown: unknown;
  try {
    parsePostgresLocation(location);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({
    code: "ledger-location-invalid",
    hint: expect.stringContaining("postgres://"),
  });
  expect(inspect(thrown, { depth: 9 }).replace(/\n\s+at .*/g, "")).not.toContain("secret");
});
