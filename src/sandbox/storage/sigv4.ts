import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import type { StorageSession, StorageSessions } from "../store/sessions.ts";
import { REGION } from "./place.ts";
import { StorageError } from "./storage-error.ts";

/** A request as it was signed: its path still encoded, its query decoded. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^/\s,]+)\/(\d{8})\/([^/\s,]+)\/([^/\s,]+)\/aws4_request, *SignedHeaders=([a-z0-9;-]+), *Signature=([0-9a-f]{64})$/;

/** The clocks may differ by this much (S3's RequestTimeTooSkewed). */
const MAX_SKEW_MS = 15 * 60_000;

/**
 * Checks who signed a request, by signing the same request again with the session's secret (AWS General Reference,
 * "Signature Version 4"). The answer is the session, good at that moment.
 *
 * @throws StorageError in S3's terms.
 */
export async function checkSignature(
  request: SignedRequest,
  sessions: StorageSessions,
  now: number,
): Promise<StorageSession> {
  const header = request.headers.authorization;
  if (header === undefined) throw new StorageError("AccessDenied", "The request is not signed.");
  const [, accessKey = "", day = "", region, service, names = "", signature = ""] =
    AUTHORIZATION.exec(header) ?? [];
  if (accessKey === "" || region !== REGION || service !== "s3") {
    throw new StorageError(
      "AccessDenied",
      `The request must be signed with AWS4-HMAC-SHA256 for s3 in ${REGION}.`,
    );
  }
  const session = sessions.find(accessKey);
  if (session === undefined) {
    throw new StorageError("InvalidAccessKeyId", "The access key does not exist.");
  }
  const signingDate = readDate(request.headers["x-amz-date"], day, now);
  const signed = new Set(names.split(";"));
  checkSignedHeaders(request.headers, signed);
  if (!equal(request.headers["x-amz-security-token"], session.token)) {
    throw new StorageError("InvalidToken", "The session token does not belong to the access key.");
  }
  const expected = await sign(request, session, { signed, signingDate });
  if (!equal(expected, signature)) {
    throw new StorageError(
      "SignatureDoesNotMatch",
      "The signature does not match the request and the secret key.",
    );
  }
  if (now >= session.expiresAt) throw new StorageError("ExpiredToken", "The session has expired.");
  return session;
}

async function sign(
  request: SignedRequest,
  session: StorageSession,
  how: { signed: ReadonlySet<string>; signingDate: Date },
): Promise<string | undefined> {
  const signer = new SignatureV4({
    credentials: {
      accessKeyId: session.accessKey,
      secretAccessKey: session.secretKey,
      sessionToken: session.token,
    },
    region: REGION,
    service: "s3",
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const headers: Record<string, string> = {};
  for (const name of how.signed) headers[name] = String(request.headers[name] ?? "");
  const { method, path } = request;
  const again = await signer.sign(
    { method, path, query: { ...request.query }, headers, protocol: "http:", hostname: "127.0.0.1" },
    { signingDate: how.signingDate, signableHeaders: new Set(how.signed) },
  );
  return /Signature=([0-9a-f]{64})$/.exec(again.headers.authorization ?? "")?.[1];
}

function readDate(header: string | string[] | undefined, day: string, now: number): Date {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(header ?? ""));
  if (match === null || !String(header).startsWith(day)) {
    throw new StorageError("AccessDenied", "The header x-amz-date must carry the date of the signature.");
  }
  const [, year, month, date, hour, minute, second] = match;
  const signingDate = new Date(`${year}-${month}-${date}T${hour}:${minute}:${second}Z`);
  if (!(Math.abs(signingDate.getTime() - now) <= MAX_SKEW_MS)) {
    throw new StorageError(
      "RequestTimeTooSkewed",
      "The time of the request and the server's differ too much.",
    );
  }
  return signingDate;
}

/** `host` and every `x-amz-…` header there is must be part of the signature. */
function checkSignedHeaders(headers: IncomingHttpHeaders, signed: ReadonlySet<string>): void {
  const needed = ["host", ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))];
  const unsigned = needed.filter((name) => !signed.has(name));
  if (unsigned.length > 0) {
    throw new StorageError(
      "AccessDenied",
      `There were headers that were not signed: ${unsigned.join(", ")}.`,
    );
  }
}

function equal(given: string | string[] | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(String(given ?? "")), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
