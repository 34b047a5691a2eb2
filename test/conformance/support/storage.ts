import { createHash } from "node:crypto";
import { Sha256 } from "@aws-crypto/sha256-js";
import { S3Client } from "@aws-sdk/client-s3";
import { SignatureV4 } from "@smithy/signature-v4";
import { z } from "zod";
import { type Answer, type Call, call, resourceOf } from "./call.ts";

const Credentials = z.object({
  key_prefix: z.string(),
  bucket: z.string(),
  region: z.string(),
  access_key: z.string(),
  secret_key: z.string(),
  session_token: z.string(),
  expiration: z.iso.datetime(),
  endpoint: z.url(),
});

/** What `POST /api/uploads/credentials` hands out. */
export type Credentials = z.infer<typeof Credentials>;

/** Asks for storage credentials. */
export async function openSession(send: (request: Call) => Promise<Answer>): Promise<Credentials> {
  return Credentials.parse(
    resourceOf(await send({ method: "POST", path: "/api/uploads/credentials" })).attributes,
  );
}

/** The AWS SDK's client for a session. It does not try again. */
export function makeS3(session: Credentials, secret = session.secret_key): S3Client {
  return new S3Client({
    region: session.region,
    endpoint: session.endpoint,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: {
      accessKeyId: session.access_key,
      secretAccessKey: secret,
      sessionToken: session.session_token,
    },
  });
}

/** A storage request in parts, to be changed after it is signed. */
export interface StorageCall {
  method: string;
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  signingDate?: Date;
}

/** SHA-256 in hex, as `x-amz-content-sha256` carries it. */
export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Signs a storage request. `x-amz-content-sha256` is the body's own unless it is given. */
export async function signStorageCall(session: Credentials, request: StorageCall): Promise<Call> {
  const { host } = new URL(session.endpoint);
  const signer = new SignatureV4({
    credentials: {
      accessKeyId: session.access_key,
      secretAccessKey: session.secret_key,
      sessionToken: session.session_token,
    },
    region: session.region,
    service: "s3",
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const { method, path, query = {}, body = "" } = request;
  const headers = { host, "x-amz-content-sha256": sha256(body), ...request.headers };
  const signed = await signer.sign(
    { method, protocol: "http:", hostname: host, path, query, headers },
    request.signingDate === undefined ? {} : { signingDate: request.signingDate },
  );
  const search = new URLSearchParams(query).toString();
  return {
    method,
    path: search === "" ? path : `${path}?${search}`,
    headers: { accept: undefined, "content-type": undefined, ...signed.headers },
    ...(request.body === undefined ? {} : { body }),
  };
}

/** Signs and sends a storage request. */
export async function callStorage(session: Credentials, request: StorageCall): Promise<Answer> {
  return call(session.endpoint, await signStorageCall(session, request));
}

/** The code of S3's XML error, or the whole text when it is none. */
export function codeOf(answer: Answer): string {
  return /<Error><Code>(\w+)<\/Code>/.exec(answer.text)?.[1] ?? answer.text;
}
