import { S3Client } from "@aws-sdk/client-s3";
import { z } from "zod";
import { type ApiResponse, type Call, call, resourceOf } from "./call.ts";

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

/** Storage credentials of `POST /api/uploads/credentials`. */
export type Credentials = z.infer<typeof Credentials>;

/** Requests storage credentials. */
export async function openSession(send: (request: Call) => Promise<ApiResponse>): Promise<Credentials> {
  return Credentials.parse(
    resourceOf(await send({ method: "POST", path: "/api/uploads/credentials" })).attributes,
  );
}

/** An AWS SDK client for a session, without retries. */
export function makeS3(session: Credentials): S3Client {
  return new S3Client({
    region: session.region,
    endpoint: session.endpoint,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: {
      accessKeyId: session.access_key,
      secretAccessKey: session.secret_key,
      sessionToken: session.session_token,
    },
  });
}

/** A storage request. */
export interface StorageCall {
  method: string;
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
}

/** Sends a storage request with the access key of a session. The sandbox does not check the signature. */
export function callStorage(session: Credentials, request: StorageCall): Promise<ApiResponse> {
  const { method, path, query = {}, body } = request;
  const scope = `${session.access_key}/20300101/${session.region}/s3/aws4_request`;
  const headers = {
    accept: undefined,
    "content-type": undefined,
    authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=${"0".repeat(64)}`,
    ...request.headers,
  };
  const search = new URLSearchParams(query).toString();
  const target = search === "" ? path : `${path}?${search}`;
  return call(session.endpoint, { method, path: target, headers, ...(body === undefined ? {} : { body }) });
}

/** The code of an S3 error, or the whole text if it is not an error. */
export function codeOf(response: ApiResponse): string {
  return /<Error><Code>(\w+)<\/Code>/.exec(response.text)?.[1] ?? response.text;
}
