import type { CertificateFacts, Check, FindingCode, Problem } from "../../model/examination.ts";
import { makeCheck } from "../../model/examination.ts";
import { isoTime } from "../../model/time.ts";
import type { Looks } from "./examiner.ts";
import type { SeenTls } from "./tls-watch.ts";

const dayMs = 86_400_000;

/** A certificate that ends sooner should have been renewed: those who do it by a program do it a month before. */
const soonDays = 14;

/** What is known of the connection beside what was seen. */
export interface ConnectionFacts {
  /** Wall clock, epoch milliseconds. */
  readonly now: number;
  /** The address is http: on this machine, or where others can read it. */
  readonly plain: "local" | "open" | undefined;
}

/** Judges TLS and the service's certificate; `undefined` when no connection came so far. Pure. */
export function judgeConnection({ product, tls }: Looks, { now, plain }: ConnectionFacts): Check | undefined {
  if (plain === "open") return makeCheck("tls", "warning", { code: "tls-plain", facts: {} });
  if (plain === "local") return makeCheck("tls", "ok", { code: "tls-local", facts: {} });
  if (tls !== undefined) {
    const facts = certificateFacts(tls, now);
    return facts.days < soonDays
      ? makeCheck("tls", "warning", { code: "tls-ends-soon", facts })
      : makeCheck("tls", "ok", { code: "tls-good", facts });
  }
  if (product.type !== "failed") return makeCheck("tls", "not_known", { code: "tls-unseen", facts: {} });
  const { problem, systemCode = "" } = product;
  if (problem.code !== "certificate-invalid" && problem.code !== "tls-failed") return undefined;
  return makeCheck("tls", "failed", failedTls(codes.get(systemCode) ?? "tls-untrusted", problem));
}

type FailedTlsCode = Extract<FindingCode, "tls-expired" | "tls-not-yet" | "tls-other-name" | "tls-untrusted">;

/** OpenSSL's reasons as Node names them. */
const codes: ReadonlyMap<string, FailedTlsCode> = new Map([
  ["CERT_HAS_EXPIRED", "tls-expired"],
  ["CERT_NOT_YET_VALID", "tls-not-yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls-other-name"],
  ["HOSTNAME_MISMATCH", "tls-other-name"],
]);

function failedTls(code: FailedTlsCode, problem: Problem) {
  return { code, facts: { problem } };
}

function certificateFacts({ protocol, subject, issuer, endsAt }: SeenTls, now: number): CertificateFacts {
  const days = Math.floor((endsAt - now) / dayMs);
  return { protocol, subject, issuer, endsAt: isoTime(endsAt), days };
}
