import { expect, test } from "vitest";
import type { Looks } from "../../../../src/service/examination/examiner.ts";
import { judgeConnection } from "../../../../src/service/examination/judge-connection.ts";
import type { FailedLook } from "../../../../src/service/examination/look.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const day = 86_400_000;
const noAnswer = (code: string, systemCode = ""): FailedLook => ({
  type: "failed",
  request: "GET /api/products/1",
  problem: { code, message: "no" },
  systemCode,
});

function found(looks: Partial<Looks>, plain?: "local" | "open"): string | undefined {
  const all = { product: noAnswer("timeout"), tls: undefined, parameter: "ids", ...looks };
  const check = judgeConnection(all, { now, plain });
  return check === undefined ? undefined : `${check.status} ${check.finding.code}`;
}

test.each([
  { ends: now + 90 * day, finds: "ok tls-good" },
  { ends: now + 14 * day, finds: "ok tls-good" },
  { ends: now + 14 * day - 1, finds: "warning tls-ends-soon" },
  { ends: now + 1, finds: "warning tls-ends-soon" },
])("a certificate that ends at $ends: $finds", ({ ends, finds }) => {
  const tls = { protocol: "TLSv1.3", subject: "api.example.com", issuer: "Example CA", endsAt: ends };
  expect(found({ tls })).toBe(finds);
});

test.each([
  { systemCode: "CERT_HAS_EXPIRED", finds: "failed tls-expired" },
  { systemCode: "CERT_NOT_YET_VALID", finds: "failed tls-not-yet" },
  { systemCode: "ERR_TLS_CERT_ALTNAME_INVALID", finds: "failed tls-other-name" },
  { systemCode: "DEPTH_ZERO_SELF_SIGNED_CERT", finds: "failed tls-untrusted" },
])("$systemCode: $finds", ({ systemCode, finds }) => {
  expect(found({ product: noAnswer("certificate-invalid", systemCode) })).toBe(finds);
});

test("where no connection came so far, nothing is said of TLS", () => {
  expect(found({ product: noAnswer("connection-refused", "ECONNREFUSED") })).toBeUndefined();
});

test.each([
  { plain: "local" as const, finds: "ok tls-local" },
  { plain: "open" as const, finds: "warning tls-plain" },
])("http, $plain: $finds", ({ plain, finds }) => {
  expect(found({}, plain)).toBe(finds);
});
