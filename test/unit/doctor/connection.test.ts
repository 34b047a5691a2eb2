import { expect, test } from "vitest";
import type { FailedSample, Samples } from "../../../src/doctor/check.ts";
import { checkTls } from "../../../src/doctor/check-connection.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const day = 86_400_000;
const noResponse = (code: string, systemCode = ""): FailedSample => ({
  type: "failed",
  request: "GET /api/products/1",
  problem: { code, message: "no" },
  systemCode,
});

function found(samples: Partial<Samples>, baseUrl = "https://api.example.com"): string | undefined {
  const all = { product: noResponse("timeout"), tls: undefined, parameter: "ids", ...samples };
  const rate = { limit: 10, windowMs: 1000 };
  const settings = { baseUrl, rate, concurrency: 8, contentType: "application/vnd.api+json", now };
  const result = checkTls({ ...settings, samples: all, responses: [], reads: [] });
  return result === undefined ? undefined : `${result.status} ${result.code}`;
}

test.each([
  { days: 90, finds: "ok tls-valid" },
  { days: 14, finds: "ok tls-valid" },
  { days: 13.9, finds: "warning tls-expires-soon" },
  { days: 0.1, finds: "warning tls-expires-soon" },
])("reports a certificate that expires in $days days as $finds", ({ days, finds }) => {
  const expiresAt = now + days * day;
  const tls = { protocol: "TLSv1.3", subject: "api.example.com", issuer: "Example CA", expiresAt };
  expect(found({ tls })).toBe(finds);
});

test.each([
  { systemCode: "CERT_HAS_EXPIRED", finds: "failed tls-expired" },
  { systemCode: "CERT_NOT_YET_VALID", finds: "failed tls-not-yet-valid" },
  { systemCode: "ERR_TLS_CERT_ALTNAME_INVALID", finds: "failed tls-wrong-host" },
  { systemCode: "DEPTH_ZERO_SELF_SIGNED_CERT", finds: "failed tls-untrusted" },
])("reports $systemCode as $finds", ({ systemCode, finds }) => {
  expect(found({ product: noResponse("certificate-invalid", systemCode) })).toBe(finds);
});

test("skips the check without a connection", () => {
  expect(found({ product: noResponse("connection-refused", "ECONNREFUSED") })).toBeUndefined();
});

test.each([
  { baseUrl: "http://127.0.0.1:4010", finds: "ok tls-local" },
  { baseUrl: "http://api.example.com", finds: "warning tls-plain" },
])("reports the URL $baseUrl as $finds", ({ baseUrl, finds }) => {
  expect(found({}, baseUrl)).toBe(finds);
});
